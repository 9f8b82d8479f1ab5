// The map on a phone, where a model's parts stand below each other and only some are in view: above
// them a small picture of the whole, as a wide page has it, on which what is in view is framed.

import { glideTo, make } from "./page.js";
import { sceneOf } from "./map_depths.js";
import { lightOf } from "./map_light.js";
import { NARROW } from "./map_scene.js";
import { Stage } from "./map_stage.js";
import { HEAD } from "./map_whole.js";

// The page that the small picture is drawn for, in pixels: for one stack and for two.
const [WIDE, HIGH] = [NARROW, [200, 274]];

// All that it says of its parts, in letters that can be read once it's about half as large.
const titles = ({ title, blocks, layers, answers }) =>
  [title, ...layers.map((_, i) => `L${i + 1}`), answers ? "next token" : "memory"].map((words, i) => (p) => {
    const [x, align] = i > layers.length ? [WIDE, "right"] : [blocks[i].x + (i ? 8 : 0), "left"];
    p.text(words, x, blocks[0].top - 14, { size: 22, align });
  });

export function smallOf(view) {
  const stage = new Stage({});
  stage.root.className = "mm-whole";
  stage.root.replaceChildren(stage.base, stage.over); // nothing to press, and nothing told
  const { kind, stacks = [] } = view.trace;
  const whole = kind === "GPT" || stacks.length === 2; // a picture's patches have one already
  const frames = (whole ? stacks : []).map(() => make("div", { class: "mm-seen" }));
  // A press goes to a part. By keys one gets there in the picture itself, so readers skip this one.
  const small = make("div", { class: "mm-small", "aria-hidden": "true", hidden: "" }, stage.root, ...frames);
  let [places, scale] = [[], 1];

  // How high it is on a page so wide; 0 where the picture itself shows the whole.
  const show = (width) => {
    const { trace, current, query, rows } = view;
    // Where losses are, the picture takes the room.
    small.hidden = width >= NARROW || !whole || Boolean(view.place) || trace.scored;
    if (small.hidden) return 0;
    const height = HIGH[trace.stacks.length - 1];
    const scene = sceneOf(trace, "", WIDE, rows, { current, query, height, small: true });
    // Both pictures are made of the same parts, which the one that is drawn later puts in their places.
    places = trace.stacks.map((stack) => {
      const { blocks, bottom } = stack;
      return { stack, blocks, bottom, xs: [...blocks.map(({ x }) => x), WIDE] };
    });
    scene.targets = [];
    scene.labels = trace.stacks.flatMap(titles);
    const own = Object.getOwnPropertyDescriptors({ scene, scrolls: false, progress: 1, fresh: false });
    stage.show(scene, view.theme, { ...lightOf(Object.create(view, own)), named: null });
    scale = width / WIDE;
    stage.root.style.transform = `scale(${scale})`;
    small.style.height = `${scale * (scene.height - scene.measures.key.height)}px`;
    requestAnimationFrame(mark); // once the picture itself is drawn
    return small.offsetHeight + 8; // and what lies below it
  };

  const mark = () => {
    const { scrollTop: from, clientHeight } = view.frame;
    if (small.hidden) return;
    places.forEach(({ xs, stack, blocks: [{ top }], bottom }, i) => {
      const { blocks } = stack; // as drawn: what was just answered has none yet
      // A part lies across here and downwards there, so it's framed as a whole once much of it is in view.
      const seen = blocks.map(({ top: y }, k) => {
        const end = (blocks[k + 1]?.top ?? 2 * y - blocks[k - 1].top) - HEAD;
        return Math.min(from + clientHeight, end) - Math.max(from, y - HEAD);
      });
      const much = (one) => one >= 0.4 * clientHeight;
      const [left, right] = [xs[Math.max(0, seen.findIndex(much))], xs[seen.findLastIndex(much) + 1]];
      const sides = { left, top: top - 30, width: right - left, height: bottom - top + 36 };
      for (const [side, value] of Object.entries(sides)) frames[i].style[side] = `${scale * value}px`;
      frames[i].hidden = right - left < 2;
    });
  };
  view.frame.addEventListener("scroll", mark);

  small.addEventListener("click", ({ offsetX, offsetY }) => {
    const [x, y] = [offsetX / scale, offsetY / scale];
    const i = places.findLastIndex(({ blocks }) => y > blocks[0].top - HEAD || blocks === places[0].blocks);
    const { blocks } = places[i].stack;
    const at = places[i].xs.findLastIndex((left) => left <= x);
    glideTo(view.frame, blocks[Math.min(at, blocks.length - 1)].top - HEAD);
  });
  return { small, show };
}
