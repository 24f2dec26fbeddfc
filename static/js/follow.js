// [data-follow]: the newest turn is in view on arrival, and stays so while the reader is at the end, never otherwise.
const page = document.documentElement;
const isAtEnd = () => window.innerHeight + window.scrollY >= page.scrollHeight - 48;
const toEnd = () => window.scrollTo({ top: page.scrollHeight, behavior: "instant" });
const older = () => document.querySelector("#older [hx-get]")?.getAttribute("hx-get");
const positions = () => [...document.querySelectorAll(".tool-row")].map(({ id }) => Number(id.slice(4)));
async function find(at) { // the newest row at or before it, which may be older than those shown
  for (let pages = 0; !(Math.min(...positions()) <= at) && older() && pages < 20; pages++) await htmx.ajax("GET", older(), { swap: "none" });
  await new Promise(requestAnimationFrame); // which keeps the reader's place under what came above, first
  const row = Math.max(0, ...positions().filter((one) => one <= at)), query = new URLSearchParams(location.search);
  query.set("at", at);
  location.replace(row ? `#row-${row}` : `?${query}#${at}`); // so old that the page of then is the nearest
  document.querySelector(`#row-${row}`)?.scrollIntoView({ block: "center" });
}
document.addEventListener("DOMContentLoaded", () => {
  if (!document.querySelector("[data-follow]")) return;
  let follows = false, reads = false, seen = "", due = 0;
  const size = () => `${page.scrollHeight} ${window.innerHeight}`;
  const set = (is) => { follows = is; seen = size(); }, end = () => { due = 0; if (follows) toEnd(); set(follows); };
  // A frame later: in this one the browser holds the rows where they are under what came above.
  const keep = () => { if (!reads && follows) due ||= requestAnimationFrame(end); set(reads ? isAtEnd() : follows); reads = false; };
  // Only the reader ends it, who scrolls away or opens a row: of a page that has changed its size the scroll is the browser's.
  window.addEventListener("scroll", () => { if (!due && seen === size()) set(isAtEnd()); seen = size(); });
  document.addEventListener("click", ({ target }) => { reads = !!target.closest(".tool-row > summary"); });
  window.addEventListener("resize", keep);
  new ResizeObserver(keep).observe(document.body);
  // After a reload the browser puts the reader back where they were; a link says where to go.
  const isBack = performance.getEntriesByType("navigation")[0]?.type !== "navigate";
  const linked = Number(location.hash.match(/^#(?:row-)?(\d+)$/)?.[1] ?? Infinity);
  const isLink = linked < Number(document.querySelector("#live").dataset.position); // what is beyond is not there yet
  if (isLink) history.scrollRestoration = "manual";
  else if ((Number.isFinite(linked) || !location.hash) && !isBack && window.scrollY === 0) toEnd();
  Promise.resolve(isLink && find(linked)).then(() => set(isAtEnd()));
  document.addEventListener("htmx:before:swap", ({ detail }) => { // what comes above must not push the reader away
    const from = page.scrollHeight;
    if (detail.ctx.sourceElement?.closest("#older")) requestAnimationFrame(() => scrollBy(0, page.scrollHeight - from));
  });
});
