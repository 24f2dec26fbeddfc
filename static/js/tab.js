// [data-tab] names the tab; [data-watch]: with the reader's leave, a session that waits, is done or was cut tells so.
const TOLD = ["waiting", "interrupted", "done"];
const leave = () => document.querySelector("[data-notify]") && localStorage.getItem("planstrip:notify") === "1" && Notification.permission === "granted";
const states = () => new Map([...document.querySelectorAll("[data-watch]")].map((one) => [one, one.dataset.sessionState]));
const isMuted = (session) => (localStorage.getItem("planstrip:muted") ?? "").includes(`"${session.dataset.watch}"`);
let known = new Map();
function tell(session) { // under a tag that is the same in every tab: once
  const [name, state] = ["[data-field=session]", ".chip.state"].map((part) => session.querySelector(part).textContent.trim());
  new Notification(name, { body: session.dataset.told || state, tag: `${name} ${session.querySelector("time").dateTime}` });
}
document.addEventListener("DOMContentLoaded", () => {
  known = states();
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
  const before = known, now = (known = states());
  if (!window.Notification || !leave()) return;
  for (const [session, state] of now)
    if ((before.get(session) ?? state) !== state && TOLD.includes(state) && !isMuted(session)) tell(session);
});
