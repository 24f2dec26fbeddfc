// [data-board]: the order holds still while the reader points at the list or is within it, and is made good after.
document.addEventListener("DOMContentLoaded", () => {
  const board = () => document.querySelector("[data-board]");
  if (!board()) return;
  const isHeld = () => board().matches(":has(:focus-visible)") || (matchMedia("(hover: hover)").matches && board().matches(":hover"));
  let isBehind = false;
  document.addEventListener("htmx:before:swap", ({ detail: { tasks } }) => {
    const list = tasks.findIndex(({ target }) => target === board());
    if (list >= 0 && isHeld()) isBehind = tasks.splice(list, 1).length > 0;
  });
  const settle = () => {
    if (isBehind && !isHeld()) htmx.ajax("GET", location.href, { target: "#board", select: "#board", swap: "outerMorph" });
    isBehind &&= isHeld();
  };
  for (const name of ["pointerover", "pointerleave", "focusout"]) document.documentElement.addEventListener(name, () => setTimeout(settle)); // the focus has moved by then
});
