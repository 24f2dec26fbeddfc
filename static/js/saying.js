// [data-saying]: tells assistive technology what has become of a plan, or that the stream is lost, once in three seconds.
const SAID = "[data-live=lost] [data-signal], [data-live]:not([data-live=lost]) [data-said]";
const news = () => [...document.querySelectorAll(SAID)].map((one) => (one.closest("[data-quiet]") && one.dataset.saidUnsure) || (one.dataset.said ?? one.textContent));
document.addEventListener("DOMContentLoaded", () => {
  let told = news();
  setInterval(() => {
    const before = told, now = (told = news());
    if (now.join() === before.join()) return; // else what is new; nothing, where a plan has gone
    document.querySelector("[data-saying]")?.replaceChildren(now.filter((line) => !before.includes(line)).join("; "));
  }, 3_000);
});
