// An invisible part of a box made of ipywidgets: keeps the box's keys from JupyterLab, and names
// its groups of radio buttons for those who hear the page.

import { shieldKeys } from "./page.js";

export default {
  render({ model, el }) {
    el.style.display = "none";
    // Looked up when it is needed: a box is put into the page only after its parts are made.
    const box = () => el.closest(model.get("box")) || el;
    const nameGroups = () => {
      for (const group of box().querySelectorAll(".widget-radio-box")) {
        const label = group.closest(".widget-radio")?.querySelector(".widget-label")?.textContent;
        group.setAttribute("role", "radiogroup");
        group.setAttribute("aria-label", label || model.get("label"));
      }
    };
    const waiting = setTimeout(nameGroups, 0);
    const end = shieldKeys({ contains: (node) => box().contains(node) });
    return () => {
      clearTimeout(waiting);
      end();
    };
  },
};
