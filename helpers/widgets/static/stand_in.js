// Where no kernel is: the part of a widget's model that our views ask for. State changes are kept
// in the page; nobody else hears of them.

export class StandIn {
  constructor(state) {
    Object.assign(this, { state, heard: {} });
  }
  get(name) {
    return this.state[name];
  }
  set(name, value) {
    if (this.state[name] === value) return;
    this.state[name] = value;
    for (const listener of this.heard[`change:${name}`] || []) listener();
  }
  save_changes() {}
  on(names, listener) {
    for (const name of names.split(" ")) (this.heard[name] ||= []).push(listener);
  }
  off(names, listener) {
    for (const name of names.split(" ")) this.heard[name] = (this.heard[name] || []).filter((one) => one !== listener);
  }
}

// Five letters of base 85 are four bytes.
const LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#,%.()*+-;/=:?@^_[{|}~";
function bytesOf(text) {
  const bytes = new DataView(new ArrayBuffer(4 * Math.ceil(text.length / 5)));
  for (let i = 0; i < text.length; i += 5) {
    const five = [...text.slice(i, i + 5).padEnd(5, "~")];
    bytes.setUint32(
      (4 * i) / 5,
      five.reduce((sum, letter) => 85 * sum + LETTERS.indexOf(letter), 0),
    );
  }
  return bytes.buffer.slice(0, Math.floor((4 * text.length) / 5));
}

async function unzipped(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream);
}

// In JupyterLab a picture that stays in sight is one whose live view has no model any more.
function stays(place) {
  if (!place.closest(".jp-NotebookPanel")) return null;
  return new Promise((done) => {
    const watcher = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      setTimeout(() => {
        if (!place.offsetParent) return;
        watcher.disconnect();
        done();
      }, 2000);
    });
    watcher.observe(place);
  });
}

// Draw a widget in place of its still picture, which stays if anything goes wrong.
export async function comeAlive(place, { module, style, state: zipped, bytes }) {
  await stays(place);
  const address = URL.createObjectURL(new Blob([await (await unzipped(module)).text()], { type: "text/javascript" }));
  const widget = (await import(address)).default;
  URL.revokeObjectURL(address);
  const state = await (await unzipped(zipped)).json();
  for (const [name, text] of Object.entries(bytes))
    state[name] = new DataView(await (await unzipped(text)).arrayBuffer());
  const sheet = document.createElement("style");
  sheet.textContent = await (await unzipped(style)).text();
  const stage = document.createElement("div");
  const picture = [...place.childNodes];
  place.append(sheet, stage);
  await widget.render({ model: new StandIn(state), el: stage });
  for (const node of picture) node.remove();
  place.closest(".course-still")?.querySelector(":scope > p")?.remove(); // what to run, to play
}
