// [hx-sse:connect]: names the browser, whose pages and frames share six connections of HTTP/1.1 (web/places.py).
const page = String(Math.random()), key = "planstrip:browser";
const isShared = !/^h[23]/.test(performance.getEntriesByType("navigation")[0]?.nextHopProtocol);
document.addEventListener("htmx:config:request", ({ target, detail }) => {
  if (!isShared || !target.matches("[data-live]")) return;
  let browser = "";
  try { localStorage.setItem(key, browser = localStorage.getItem(key) ?? page); } catch {}
  detail.ctx.request.headers["Planstrip-Browser"] = `${page} ${browser}`;
});
