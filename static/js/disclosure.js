// [data-sticky-open]: a panel's open state is the reader's, kept per session, also when the panel goes and comes back.
const key = () => `planstrip:open:${document.querySelector("[data-session]")?.dataset.session}`;
let choice = null;

function apply() {
  try { choice = localStorage.getItem(key()) ?? choice; } catch {} // a frame may have no storage: then the choice lasts as long as the page
  if (choice !== null) for (const panel of document.querySelectorAll("[data-sticky-open]")) panel.open = choice === "1";
}

for (const name of ["DOMContentLoaded", "htmx:after:swap"]) document.addEventListener(name, apply);
document.addEventListener("click", ({ target }) => {
  const panel = target.closest("[data-sticky-open] > summary")?.parentElement;
  if (!panel) return;
  choice = panel.open ? "0" : "1"; // asked before the browser toggles
  try { localStorage.setItem(key(), choice); } catch {}
});
