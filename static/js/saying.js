// [data-saying]: tells assistive technology what has become of the plan, or that the stream is lost, once in three seconds.
const news = () => document.querySelector("[data-live=lost] [data-signal]")?.textContent
  ?? document.querySelector("[data-quiet] [data-said-unsure]")?.dataset.saidUnsure ?? document.querySelector("[data-said]")?.dataset.said;

document.addEventListener("DOMContentLoaded", () => {
  let told = news();
  setInterval(() => { if (news() !== told) document.querySelector("[data-saying]")?.replaceChildren((told = news()) ?? ""); }, 3_000);
});
