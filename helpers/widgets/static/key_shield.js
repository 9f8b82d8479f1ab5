// An invisible part of a box made of ipywidgets: keeps the box's keys from JupyterLab, and names
// its controls after what is asked, for those who hear the page.

import { shieldKeys } from "./page.js";
import { shorten } from "./text.js";

export default {
  render({ model, el }) {
    el.style.display = "none";
    // Looked up when it is needed: a box is put into the page only after its parts are made.
    const box = () => el.closest(model.get("box")) || el;
    const nameControls = () => {
      box().tabIndex = -1; // a press beside all controls keeps the keys, too
      const asked = model.get("label");
      for (const group of box().querySelectorAll(".widget-radio-box"))
        Object.assign(group, { role: "radiogroup", ariaLabel: asked });
      for (const one of box().querySelectorAll("button, input[type=text], textarea")) {
        const words = one.textContent || one.closest(".widget-text")?.innerText.trim() || one.placeholder;
        one.ariaLabel = `${words}: ${shorten(asked, 50)}`;
      }
    };
    const waiting = setTimeout(nameControls, 0);
    const end = shieldKeys({ contains: (node) => box().contains(node) });
    return () => {
      clearTimeout(waiting);
      end();
    };
  },
};
