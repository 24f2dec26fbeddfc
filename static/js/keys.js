// [data-keys]: j and k go from row to row, o opens, / searches, ? tells them. Not in a frame, nor while one types.
const STOPS = ".session-link, .tool-row > summary";
const here = () => document.activeElement.closest(".session, .tool-row")?.querySelector(STOPS);
function step(by) {
  const stops = [...document.querySelectorAll(STOPS)].filter((stop) => stop.checkVisibility()), place = stops.indexOf(here());
  stops[place < 0 && by < 0 ? stops.length - 1 : Math.min(place + by, stops.length - 1)]?.focus();
}
const acts = {
  j: () => step(1),
  k: () => step(-1),
  o: () => (here() ?? document.querySelector("[data-sticky-open] > summary"))?.click(),
  "/": () => document.querySelector("[type=search]")?.focus(),
  "?": () => document.querySelector("[data-keys]").togglePopover(),
};
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input:not([type=range]), textarea, select") || event.ctrlKey || event.metaKey || event.altKey;
  if (isTyping || !acts[event.key] || !document.querySelector("[data-keys]") || window.top !== window) return;
  event.preventDefault();
  acts[event.key]();
});
