// [data-theme-switch]: system, light, dark, in turn; `?theme=` wins. Runs before the first paint, so nothing flashes.
const THEMES = ["auto", "light", "dark"], root = document.documentElement;
try { // a frame's address says what it shows, and it may have no storage
  const stored = localStorage.getItem("planstrip:theme"), asked = new URLSearchParams(location.search).get("theme");
  if (!THEMES.includes(asked) && THEMES.includes(stored) && !root.matches("[data-embed]")) root.dataset.theme = stored;
} catch {}
document.addEventListener("click", ({ target }) => {
  if (!target.closest("[data-theme-switch]")) return;
  root.dataset.theme = THEMES[(THEMES.indexOf(root.dataset.theme) + 1) % THEMES.length];
  localStorage.setItem("planstrip:theme", root.dataset.theme);
});
