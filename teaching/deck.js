// Shows the cells of the notebook around a button as slides. Nothing is copied: cells that aren't
// on the slide are hidden, so all widgets stay alive and every cell can be run.

const ROOM = 0.92; // of the screen's height: below it stand the buttons
const [FEW_LINES, SMALLER] = [0.4, 0.75];
const SMALLEST = 0.5; // what is higher even at half its size scrolls, and so does the warm-up
const FIRST = "First choose Run, Run All Cells: most cells need those above";
const CALL = /^\w[\w.]*\([^\n]*\)$/;
const TYPING = "input:not([type=range]):not([type=checkbox]):not([type=radio]), textarea, select, .cm-editor";

// What can stand on a slide: the paragraphs of a text, or a whole code cell with its outputs.
function unitsOf(cell, notes) {
  const text = cell.querySelector(".jp-RenderedMarkdown");
  if (!cell.classList.contains("jp-CodeCell")) {
    if (!text || text.querySelector("summary")?.textContent.startsWith(notes)) return [];
    return [...text.children].filter((part) => part.tagName !== "DETAILS").map((part) => ({ cell, part }));
  }
  if (cell.querySelector(".course-deck-start")) return [];
  // What is folded stays away, but for a function: that's an answer to write, a click opens it.
  // A call that only shows a widget needn't be read either.
  const folded = cell.querySelector(".jp-InputPlaceholder")?.textContent.trim();
  const answer = /^(def|class) /.test(folded ?? "");
  const shown = cell.querySelector(".jp-OutputArea-output");
  if (folded && !answer && !shown) return [];
  const code = cell.querySelector(".cm-content")?.innerText.trim() ?? "";
  const call = CALL.test(code) && shown && !shown.matches(".jp-RenderedText");
  return [{ cell, part: null, hidesCode: call || (folded && !answer) }];
}

const isAfterTheCore = (unit) => isHeading(unit) && /^(Practice|Going deeper)\b/.test(unit.part.textContent);
const isHeading = (unit) => /^H[1-3]$/.test(unit.part?.tagName ?? "");
// A question ends its slide, so that nothing after it tells the answer.
const isQuestion = (unit) => !unit.part && unit.cell.querySelector(".pr, .course-quiz");

function heightOf(unit) {
  const box = unit.part ?? unit.cell;
  const { marginTop, marginBottom } = getComputedStyle(box);
  return box.getBoundingClientRect().height + Math.max(parseFloat(marginTop), parseFloat(marginBottom));
}

// Fill slides from top to bottom. A heading begins one, and never stands alone at its end. What
// comes after a few lines may be a little too high: it's shown smaller, and not without its words.
function paginate(units, room) {
  const slides = [];
  let used = room;
  let answered = false;
  for (const unit of units) {
    const high = heightOf(unit);
    const last = slides.at(-1);
    const onlyHeadings = last?.every(isHeading);
    const most = !unit.part && used < FEW_LINES * room ? room / SMALLER : room;
    const begins = isHeading(unit) || answered || used + high > most;
    if (!last || (begins && !onlyHeadings)) {
      slides.push([unit]);
      used = high;
    } else {
      last.push(unit);
      used += high;
    }
    answered = isQuestion(unit);
  }
  return slides;
}

class Show {
  constructor(notebook, notes) {
    this.notebook = notebook;
    this.cells = [...notebook.querySelectorAll(".jp-Cell")];
    this.notes = notes;
    this.at = 0;
    this.bar = document.createElement("div");
    this.bar.className = "course-deck-bar";
    for (const [label, what, act] of [
      ["‹", "Slide before", () => this.go(this.at - 1)],
      ["›", "Next slide", () => this.go(this.at + 1)],
      ["End", "End the show", () => document.exitFullscreen()],
    ]) {
      const button = document.createElement("button");
      button.textContent = label;
      button.setAttribute("aria-label", what);
      button.onclick = act;
      this.bar.append(button);
    }
    this.number = document.createElement("output");
    this.bar.prepend(this.number);
    this.onKey = this.onKey.bind(this);
    this.fit = this.fit.bind(this);
    this.onScreen = () => document.fullscreenElement || this.end();
    this.onSize = () => this.layOut();
    this.grown = new ResizeObserver(this.fit);
  }

  async start() {
    await this.notebook.requestFullscreen();
    this.notebook.classList.add("course-deck");
    this.notebook.append(this.bar);
    document.addEventListener("keydown", this.onKey, true);
    document.addEventListener("fullscreenchange", this.onScreen);
    addEventListener("resize", this.onSize);
    for (const cell of this.cells) this.grown.observe(cell);
    this.layOut();
  }

  end() {
    document.removeEventListener("keydown", this.onKey, true);
    document.removeEventListener("fullscreenchange", this.onScreen);
    removeEventListener("resize", this.onSize);
    this.grown.disconnect();
    this.bar.remove();
    this.notebook.classList.remove("course-deck");
    this.show(null);
  }

  get room() {
    return this.notebook.clientHeight * ROOM;
  }

  // Measure everything at full size, then stay with what was being shown.
  layOut() {
    const shown = this.slides?.[this.at]?.[0];
    this.show(null);
    for (const cell of this.cells) cell.classList.add("on");
    const all = this.cells.flatMap((cell) => unitsOf(cell, this.notes));
    const core = all.findIndex(isAfterTheCore);
    const units = core < 0 ? all : all.slice(0, core);
    this.slides = paginate(units, this.room);
    const same = (unit) => unit.cell === shown?.cell && unit.part === shown?.part;
    this.go(
      Math.max(
        this.slides.findIndex((slide) => slide.some(same)),
        0,
      ),
    );
  }

  show(slide) {
    for (const hidden of this.notebook.querySelectorAll("[data-off]")) hidden.removeAttribute("data-off");
    for (const cell of this.cells) {
      cell.style.zoom = "";
      const units = slide?.filter((unit) => unit.cell === cell) ?? [];
      cell.classList.toggle("on", units.length > 0);
      if (!units.length) continue;
      const parts = new Set(units.map((unit) => unit.part));
      if (!parts.has(null)) {
        for (const part of cell.querySelector(".jp-RenderedMarkdown").children) {
          if (!parts.has(part)) part.dataset.off = "";
        }
      } else if (units[0].hidesCode) cell.querySelector(".jp-Cell-inputWrapper").dataset.off = "";
    }
  }

  go(to) {
    this.at = Math.min(Math.max(to, 0), this.slides.length - 1);
    const slide = this.slides[this.at];
    this.show(slide);
    this.number.textContent = `${this.at + 1} / ${this.slides.length}`;
    // JupyterLab runs the cell that is selected, so Shift-Enter has to find the slide's own.
    const code = slide.find((unit) => !unit.part)?.cell ?? slide[0].cell;
    code.dispatchEvent(new MouseEvent("mousedown", { bubbles: true, button: 0 }));
    document.activeElement?.closest(".cm-editor") && document.activeElement.blur();
    this.fit();
    this.notebook.scrollTop = 0;
  }

  fit() {
    if (!this.slides) return;
    const on = this.cells.filter((cell) => cell.classList.contains("on"));
    for (const cell of on) cell.style.zoom = "";
    for (const formula of this.notebook.querySelectorAll(".jp-Cell.on mjx-container[display]")) {
      formula.style.zoom = "";
      const { clientWidth, scrollWidth } = formula; // a slide can't be scrolled sideways
      if (scrollWidth > clientWidth) formula.style.zoom = clientWidth / scrollWidth;
    }
    const smallest = on.some((cell) => cell.querySelector(".course-warm-up")) ? 1 : SMALLEST;
    let zoom = 1; // step by step, because a widget's columns come side by side when it's smaller
    const fits = () => {
      for (const cell of on) cell.style.zoom = zoom < 1 ? zoom : "";
      const high = on.reduce((sum, cell) => sum + cell.getBoundingClientRect().height, 0);
      return high <= this.room && on.every((cell) => cell.scrollWidth <= cell.clientWidth + 1);
    };
    while (!fits() && zoom > smallest) zoom = Math.max(smallest, zoom - 0.03);
  }

  onKey(event) {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest?.(TYPING)) return;
    const own = target.closest?.("input, button, summary, [role=slider], [tabindex='0'] *") && key !== "PageDown";
    const step = { " ": event.shiftKey ? -1 : 1, ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }[key];
    if (step && !(own && !key.startsWith("Page"))) this.go(this.at + step);
    else if (key === "Home" && !own) this.go(0);
    else if (key === "End" && !own) this.go(this.slides.length - 1);
    // One letter is a command in JupyterLab (dd deletes a cell): none of them on a slide.
    else if (own || key.length > 1) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}

export default {
  render({ model, el }) {
    const button = document.createElement("button");
    button.className = "course-deck-start";
    button.textContent = "Show as slides";
    button.onclick = () => {
      const notebook = el.closest(".jp-Notebook");
      const waiting = [...notebook.querySelectorAll(".jp-CodeCell .jp-InputPrompt")].filter(({ innerText }) =>
        /^\[ ?\]/.test(innerText),
      );
      const asked = button.textContent === FIRST; // a second press starts it even so
      if (waiting.length > 1 && !asked) button.textContent = FIRST;
      else new Show(notebook, model.get("notes")).start();
    };
    el.append(button);
  },
};
