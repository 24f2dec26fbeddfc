// [data-embed]: tells the page around a frame how high the frame's own page is, and nothing of what it shows (README, "Embed").
document.addEventListener("DOMContentLoaded", () => {
  if (window.parent === window || !document.querySelector("[data-embed]")) return;
  let told = 0;
  const tell = () => { // with what a list hides because the frame is too low for it
    let height = document.body.getBoundingClientRect().height;
    for (const list of document.querySelectorAll("[open] > .todos")) height += list.scrollHeight - list.clientHeight;
    if (told !== (told = Math.ceil(height))) window.parent.postMessage({ type: "planstrip:height", height: told }, "*");
  };
  new ResizeObserver(tell).observe(document.body); // which is not heard in a frame out of sight
  for (const name of ["readystatechange", "toggle", "htmx:after:swap"]) document.addEventListener(name, tell, true);
});
