// A film among the pictures: it has a button that stops it, and where no motion is wanted it stands
// still until the button starts it. Where scripts don't run, the picture plays a few times and ends.

export function stoppable(place) {
  const image = place.querySelector("img");
  const bytes = Uint8Array.from(atob(image.src.split(",")[1]), (letter) => letter.charCodeAt(0));
  const text = new TextDecoder().decode(bytes);
  const film = document.adoptNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement);
  film.setAttribute("aria-label", image.alt);
  film.style.cssText = "display: block; max-width: 100%; height: auto";
  if (image.getAttribute("width")) film.setAttribute("width", image.getAttribute("width"));
  for (const one of film.querySelectorAll("animate")) one.setAttribute("repeatCount", "indefinite");
  const button = document.createElement("button");
  button.type = "button";
  button.style.cssText = "font: inherit; margin: 6px 0; padding: 2px 14px; cursor: pointer";
  button.setAttribute("data-lm-suppress-shortcuts", ""); // JupyterLab leaves its keys alone
  const show = () => (button.textContent = film.animationsPaused() ? "Play" : "Pause");
  button.onclick = () => {
    if (film.animationsPaused()) film.unpauseAnimations();
    else film.pauseAnimations();
    show();
  };
  place.replaceChildren(film, button);
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
    film.setCurrentTime(parseFloat(film.querySelector("animate").getAttribute("dur")) - 0.1); // its last frame
    film.pauseAnimations();
  }
  show();
}
