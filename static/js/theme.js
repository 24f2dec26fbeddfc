// [data-theme-switch]: system, light, dark, in turn; `?theme=` wins. Runs before the first paint, so nothing flashes.
const THEMES = ["auto", "light", "dark"];
const root = document.documentElement;

try {
  const isAsked = THEMES.includes(new URLSearchParams(location.search).get("theme")), stored = localStorage.getItem("planstrip:theme");
  if (!isAsked && THEMES.includes(stored)) root.dataset.theme = stored;
} catch {} // no storage: the server's choice stands

document.addEventListener("DOMContentLoaded", () => {
  const button = document.querySelector("[data-theme-switch]");
  if (!button) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = THEMES[(THEMES.indexOf(root.dataset.theme) + 1) % THEMES.length];
    localStorage.setItem("planstrip:theme", root.dataset.theme);
  });
});
