// [data-sticky-open]: a panel's open state is the reader's, kept per session, also when the panel goes and comes back.
const kept = {}; // as long as the page lasts, where a frame may have no storage
const key = (panel) => `planstrip:open:${panel.closest("[data-session]")?.dataset.session}`;
function apply() {
  for (const panel of document.querySelectorAll("[data-sticky-open]")) {
    try { kept[key(panel)] = localStorage.getItem(key(panel)) ?? kept[key(panel)]; } catch {}
    if (kept[key(panel)]) panel.open = kept[key(panel)] === "1";
  }
}
for (const name of ["DOMContentLoaded", "htmx:after:swap"]) document.addEventListener(name, apply);
document.addEventListener("click", ({ target }) => {
  const panel = target.closest("[data-sticky-open] > summary")?.parentElement;
  if (!panel) return;
  kept[key(panel)] = panel.open ? "0" : "1"; // asked before the browser toggles
  try { localStorage.setItem(key(panel), kept[key(panel)]); } catch {}
});
