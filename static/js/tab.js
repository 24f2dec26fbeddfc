// [data-tab] names the tab; [data-watch]: with the reader's leave, a session that waits, is done or was cut tells so.
const TOLD = ["waiting", "interrupted", "done"];
const leave = () => document.querySelector("[data-notify]") && localStorage.getItem("planstrip:notify") === "1" && window.Notification?.permission === "granted";
const isMuted = (session) => (localStorage.getItem("planstrip:muted") ?? "").includes(JSON.stringify(session.dataset.watch));
const known = new Map(), NEW_MS = 60_000; // in which state each session was last seen here
const news = () => [...document.querySelectorAll("[data-watch]")].filter((one) => {
  const { watch, sessionState: now } = one.dataset, before = known.get(watch);
  known.set(watch, now); // one never seen came from beyond the page, or into being: it is news if it gave a sign just now
  return TOLD.includes(now) && (before ? before !== now : Date.now() - Date.parse(one.querySelector("time")?.dateTime) < NEW_MS);
});
function tell(session) { // under a tag that is the same in every tab: once
  const [name, state] = ["[data-field=session]", ".chip.state"].map((part) => session.querySelector(part).textContent.trim());
  new Notification(name, { body: session.dataset.told || state, tag: `${name} ${session.querySelector("time").dateTime}` });
}
document.addEventListener("DOMContentLoaded", () => {
  news();
  const button = document.querySelector("[data-notify]");
  if (!button || !window.Notification) return;
  if (leave()) htmx.config.sse.pauseOnBackground = false; // who is to be told must hear
  button.hidden = false;
  button.setAttribute("aria-pressed", leave());
  button.addEventListener("click", async () => {
    const isWanted = !leave() && (await Notification.requestPermission()) === "granted";
    localStorage.setItem("planstrip:notify", isWanted ? "1" : "0");
    location.reload();
  });
});
document.addEventListener("htmx:sse:after:message", () => {
  const mark = document.querySelector("[data-quiet] :is([data-session-state=working], [data-session-state=quiet])") ? "… " : "";
  document.title = document.querySelector("[data-tab]")?.dataset.tab.replace(/^(… )?/, mark) || document.title;
  for (const session of news()) if (leave() && !isMuted(session)) tell(session);
});
