// [data-follow]: the newest turn is in view on arrival, and stays so while the reader is at the end, never otherwise.
const page = document.documentElement;
const isAtEnd = () => window.innerHeight + window.scrollY >= page.scrollHeight - 48;
const toEnd = () => window.scrollTo({ top: page.scrollHeight, behavior: "instant" });
const older = () => document.querySelector("#older [hx-get]")?.getAttribute("hx-get");
async function find(row) { // a link's row may be older than those shown
  for (let pages = 0; !document.querySelector(row) && older() && pages < 20; pages++)
    await htmx.ajax("GET", older(), { swap: "none" });
  if (document.querySelector(row)) document.querySelector(row).scrollIntoView({ block: "center" });
  else location.assign(`?${new URLSearchParams({ ...Object.fromEntries(new URLSearchParams(location.search)), at: row.slice(5) })}${row}`); // so old that the page of then is the nearest
}

document.addEventListener("DOMContentLoaded", () => {
  if (!document.querySelector("[data-follow]")) return;
  let follows = false, reads = false, seen = "";
  const size = () => `${page.scrollHeight} ${window.innerHeight}`;
  const set = (is) => { follows = is; page.style.overflowAnchor = is ? "none" : ""; seen = size(); };
  const keep = () => { if (!reads && follows) toEnd(); set(reads ? isAtEnd() : follows); reads = false; };
  // Only the reader ends it, who scrolls away or opens a row: of a page that has changed its size the scroll is the browser's.
  window.addEventListener("scroll", () => { if (seen === size()) set(isAtEnd()); seen = size(); });
  document.addEventListener("click", ({ target }) => { reads = !!target.closest(".tool-row > summary"); });
  window.addEventListener("resize", keep);
  new ResizeObserver(keep).observe(document.body);
  // After a reload the browser puts the reader back where they were; a hash says where to go.
  const isBack = performance.getEntriesByType("navigation")[0]?.type !== "navigate";
  if (/^#(row-)?\d+$/.test(location.hash)) find(`#row-${location.hash.match(/\d+/)}`);
  else if (!location.hash && !isBack && window.scrollY === 0) toEnd();
  set(isAtEnd());
  document.addEventListener("htmx:before:swap", ({ detail }) => { // what comes above must not push the reader away
    const from = page.scrollHeight;
    if (detail.ctx.sourceElement?.closest("#older")) requestAnimationFrame(() => scrollBy(0, page.scrollHeight - from));
  });
});
