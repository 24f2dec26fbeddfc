// [hx-sse:connect]: over HTTP/1.1 a browser has six connections to a server, which its pages and frames share: by this name the
// server counts their streams (web/places.py). Where a frame may keep none, the server goes by who asks.
const page = String(Math.random()), key = "planstrip:browser";
const isShared = !/^h[23]/.test(performance.getEntriesByType("navigation")[0]?.nextHopProtocol);
document.addEventListener("htmx:config:request", ({ target, detail }) => {
  if (!isShared || !target.matches("[data-live]")) return;
  let browser = "";
  try { localStorage.setItem(key, browser = localStorage.getItem(key) ?? page); } catch {}
  detail.ctx.request.headers["Planstrip-Browser"] = `${page} ${browser}`;
});
