// [data-saying]: tells assistive technology what has become of a plan, or that the stream is lost, once in three seconds.
const SAID = "[data-live=lost] [data-signal], [data-live]:not([data-live=lost]) [data-said]";
const news = () => [...document.querySelectorAll(SAID)]
  .map((one) => (one.closest("[data-quiet]") && one.dataset.saidUnsure) || (one.dataset.said ?? one.textContent));
document.addEventListener("DOMContentLoaded", () => {
  let told = news();
  setInterval(() => {
    const fresh = news().filter((line) => !told.includes(line));
    told = news();
    if (fresh.length) document.querySelector("[data-saying]")?.replaceChildren(fresh.join("; "));
  }, 3_000);
});
