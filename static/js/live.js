// [data-live]: says honestly whether the page hears of its session: live, catching-up, lost; and quiet, in five minutes.
const DEAD_MS = 35_000, QUIET_MS = 5 * 60_000, LONG_MS = 15 * 60_000, ASKING_MS = 1_000;
document.addEventListener("DOMContentLoaded", () => {
  const region = document.querySelector("[data-live]");
  if (!region) return;
  const sessions = document.querySelectorAll("[data-session]"), signs = new Map(); // when each agent gave its last sign
  let connection = null, heardAt = Date.now(), shown = "catching-up";
  const lastSign = (session, told) => Math.min(Date.now(), Number(told) || Date.parse(session.querySelector(".head-ago")?.dateTime) || Date.now()); // a heartbeat's, or the head's
  const isRefused = (answer) => [401, 403, 404].includes(answer?.status);
  const lose = (of) => { show("lost"); if (isRefused(of)) fetch(location.href, { method: "HEAD" }).then((page) => isRefused(page) && location.reload(), () => {}); }; // the page says it itself
  const isHeardUnseen = () => htmx.config.sse.pauseOnBackground === false; // else htmx lets go of a hidden page's stream
  region.addEventListener("htmx:sse:after:connection", (event) => { connection = event.detail.connection; });
  region.addEventListener("htmx:sse:before:connection", () => region.dataset.live === "live" && show("catching-up"));
  region.addEventListener("htmx:sse:after:message", ({ detail }) => (detail.message.event === "behind" ? lose() : hear(detail.message)));
  region.addEventListener("htmx:sse:error", ({ detail }) => lose(detail));
  region.addEventListener("htmx:sse:close", () => { connection = null; lose(); });
  region.addEventListener("htmx:finally:request", ({ target, detail }) => target !== region || connection || lose(detail.ctx.response));
  for (const name of ["htmx:error", "htmx:response:error"]) region.addEventListener(name, ({ target }) => target === region || show("lost", "failed"));
  region.addEventListener("planstrip:anew", () => connection?.reader?.cancel()); // htmx connects anew
  document.addEventListener("visibilitychange", () => {
    heardAt = Date.now();
    if (document.hidden && region.dataset.live === "live" && !isHeardUnseen()) show("catching-up");
  });
  setInterval(tick, 1_000);
  function hear({ id, event, data }) {
    heardAt = Date.now();
    if (id) region.dataset.position = id;
    const [, told, key] = event ? data.split(" ") : []; // a heartbeat tells of one session
    for (const one of sessions) if (!key || one.dataset.key === key) signs.set(one, Math.max(signs.get(one) ?? 0, lastSign(one, told)));
    if (connection.config.reconnectDelay > ASKING_MS) show("catching-up", "asking"); // the server wants it so: web/places.py
    else if (!document.hidden || isHeardUnseen()) show("live");
    else document.dispatchEvent(new Event("visibilitychange")); // opened unseen: now htmx lets go of it
    tick();
  }
  function tick() {
    for (const one of sessions) {
      const at = signs.get(one) ?? lastSign(one), silence = Date.now() - at;
      if (silence < QUIET_MS) delete one.dataset.quiet; else one.dataset.quiet = silence < LONG_MS ? "new" : "long";
      for (const sign of one.querySelectorAll("[data-sign]")) sign.dateTime = `${new Date(at).toISOString().slice(0, 19)}Z`;
    }
    if (document.hidden || Date.now() - heardAt < DEAD_MS) return;
    lose();
    heardAt = Date.now();
    region.dispatchEvent(new Event("planstrip:anew")); // half open
  }
  function show(state, text = state) {
    if (region.dataset.live === state && shown === text) return;
    [region.dataset.live, shown] = [state, text];
    for (const act of region.querySelectorAll("form[hx-post] button, [data-copy]")) act.disabled = state === "lost";
    document.title = document.title.replace(/^(⚠ )?/, state === "lost" ? "⚠ " : "");
    const format = new Intl.DateTimeFormat(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
    const said = region.querySelector("[data-signal]").getAttribute(`data-${text}-text`);
    region.querySelector("[data-field=live]").textContent = said.replace("{time}", format.format(heardAt));
  }
});
