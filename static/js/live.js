// [data-live]: says honestly whether the page hears of its session: live, catching-up, lost; and quiet, in five minutes.
const DEAD_MS = 35_000, QUIET_MS = 5 * 60_000, LONG_MS = 15 * 60_000, RETRY_MS = 2_000;

document.addEventListener("DOMContentLoaded", () => {
  const region = document.querySelector("[data-live]");
  if (!region) return;
  let connection = null, retryAt = 0, heardAt = Date.now(), signAt = lastEvent(), lose = () => show("lost", heardAt);

  region.addEventListener("htmx:sse:after:connection", (event) => { connection = event.detail.connection; });
  region.addEventListener("htmx:sse:before:connection", () => region.dataset.live === "live" && show("catching-up"));
  region.addEventListener("htmx:sse:after:message", (event) => hear(event.detail.message));
  region.addEventListener("htmx:sse:error", lose);
  region.addEventListener("htmx:sse:close", () => { connection = null; });
  // htmx takes up a stream that broke, but never one whose first request failed, nor one that it gave up.
  for (const name of ["htmx:finally:request", "htmx:sse:close"]) region.addEventListener(name, ({ target }) => {
    if (target !== region || connection || retryAt) return;
    lose();
    retryAt = Date.now() + RETRY_MS;
  });
  document.addEventListener("visibilitychange", () => {
    heardAt = Date.now();
    // htmx lets go of the stream of a hidden page, but not where one asked to be told in the background.
    if (region.dataset.live === "live" && htmx.config.sse.pauseOnBackground !== false) show("catching-up");
  });
  setInterval(tick, 1_000);
  tick();

  function hear(message) {
    heardAt = Date.now();
    if (message.id) region.dataset.position = message.id;
    signAt = lastEvent(message.event && Number(message.data.split(" ")[1]));
    if (!document.hidden || htmx.config.sse.pauseOnBackground === false) show("live");
    tick();
  }

  function tick() {
    const now = Date.now(), silence = now - signAt;
    if (silence < QUIET_MS) delete region.dataset.quiet; else region.dataset.quiet = silence < LONG_MS ? "new" : "long";
    if (document.hidden) return;
    if (retryAt && now >= retryAt) {
      retryAt = 0;
      htmx.ajax("GET", region.getAttribute("hx-sse:connect"), { source: region });
    }
    if (now - heardAt >= DEAD_MS) {
      lose();
      heardAt = now;
      connection?.reader?.cancel(); // half open: htmx connects anew
    }
  }

  function show(state, since) {
    if (region.dataset.live === state) return;
    region.dataset.live = state;
    const format = new Intl.DateTimeFormat(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
    const text = region.querySelector("[data-signal]").getAttribute(`data-${state}-text`);
    region.querySelector("[data-field=live]").textContent = text.replace("{time}", since ? format.format(since) : "");
  }

  function lastEvent(told) { // when the agent gave its last sign: a heartbeat tells, or the head
    const at = Math.min(Date.now(), told || Date.parse(region.querySelector(".head-ago")?.dateTime) || Date.now());
    for (const sign of region.querySelectorAll("[data-sign]")) sign.dateTime = `${new Date(at).toISOString().slice(0, 19)}Z`;
    return at;
  }
});
