// [data-mark]: sessions that the reader pinned or muted, kept in this browser; cookies tell the board (web/pins.py).
const marks = ["pinned", "muted"], MAX_CHARS = 3_500; // of the 4,096 that a cookie may have
const marked = (mark) => JSON.parse(localStorage.getItem(`planstrip:${mark}`) ?? "[]");
const told = (ids, text = encodeURIComponent(JSON.stringify(ids))) => (text.length > MAX_CHARS ? told(ids.slice(1)) : text);
function show() {
  for (const mark of document.querySelector("[data-board]") ? marks : []) {
    document.cookie = `planstrip-${mark}=${told(marked(mark))}; path=${location.pathname.replace(/(.)\/$/, "$1")}; max-age=31536000; samesite=strict`;
    for (const row of document.querySelectorAll(".session")) row.querySelector(`[data-mark=${mark}]`).setAttribute("aria-pressed",
      row.toggleAttribute(`data-${mark}`, marked(mark).includes(row.dataset.watch)));
  }
}
for (const name of ["DOMContentLoaded", "htmx:after:swap"]) document.addEventListener(name, show);
document.addEventListener("click", ({ target }) => {
  const mark = target.closest("[data-mark]")?.dataset.mark;
  if (!mark) return;
  const id = target.closest(".session").dataset.watch, others = marked(mark).filter((one) => one !== id);
  localStorage.setItem(`planstrip:${mark}`, JSON.stringify(marked(mark).includes(id) ? others : [...others, id]));
  show();
  document.querySelector("[data-live]").dispatchEvent(new Event("planstrip:anew")); // the stream is asked with the cookies of then
});
