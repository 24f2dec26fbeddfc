// [data-mark]: sessions that the reader pinned or muted, kept in this browser.
const marks = ["pinned", "muted"];
const marked = (mark) => JSON.parse(localStorage.getItem(`planstrip:${mark}`) ?? "[]");
function show() {
  for (const mark of marks) for (const row of document.querySelectorAll(".session")) {
    const isMarked = row.toggleAttribute(`data-${mark}`, marked(mark).includes(row.dataset.watch));
    row.querySelector(`[data-mark=${mark}]`).setAttribute("aria-pressed", isMarked);
  }
}
for (const name of ["DOMContentLoaded", "htmx:after:swap"]) document.addEventListener(name, show);
document.addEventListener("click", ({ target }) => {
  const mark = target.closest("[data-mark]")?.dataset.mark;
  if (!mark) return;
  const id = target.closest(".session").dataset.watch, others = marked(mark).filter((one) => one !== id);
  localStorage.setItem(`planstrip:${mark}`, JSON.stringify(marked(mark).includes(id) ? others : [...others, id]));
  show();
});
