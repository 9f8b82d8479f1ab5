// The theme's switch has three positions; our widgets ask the page for one of two.

function tellWidgets() {
  const { theme } = document.body.dataset;
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.setAttribute("theme", theme === "light" || theme === "dark" ? theme : system);
}

// Code and output that is wider than the page can be scrolled with the keys.
function reachable() {
  for (const text of document.querySelectorAll("pre")) {
    if (text.scrollWidth > text.clientWidth) text.tabIndex = 0;
  }
}

addEventListener("DOMContentLoaded", () => {
  tellWidgets();
  reachable();
  addEventListener("resize", reachable);
  document.addEventListener("toggle", reachable, true); // a fold has opened
  new MutationObserver(tellWidgets).observe(document.body, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tellWidgets);
});
