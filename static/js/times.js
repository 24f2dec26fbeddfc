// <time data-time>: puts event times into the reader's zone and language, also those that a push brings; ages tick.
const lang = document.documentElement.lang, clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const formats = {
  clock: new Intl.DateTimeFormat(lang, clock),
  moment: new Intl.DateTimeFormat(lang, { month: "short", day: "numeric", ...clock }),
  day: new Intl.DateTimeFormat(lang, { dateStyle: "medium" }),
  second: new Intl.DateTimeFormat(lang, { ...clock, second: "2-digit" }),
  ago: new Intl.RelativeTimeFormat(lang, { numeric: "auto", style: "short" }),
};
const told = new WeakMap(), OLD_MS = 10 * 60_000, HOUR_MS = 60 * 60_000; // of a running turn's plan
const steps = [["second", 1_000, 60], ["minute", 60_000, 60], ["hour", 3_600_000, 24], ["day", 86_400_000, 30]];
function age(time) {
  const passed = Math.max(0, Date.now() - time), step = steps.find(([, size, count]) => passed < size * count);
  return !step ? formats.day.format(time) : formats.ago.format(step[0] === "second" ? 0 : -Math.floor(passed / step[1]), step[0]);
}
function text(element) {
  const time = new Date(element.dateTime);
  if (Number.isNaN(time.getTime())) return element.textContent;
  if (element.dataset.time === "ago") return age(time);
  const isShort = element.dataset.time === "moment" && time.toDateString() === new Date().toDateString();
  return formats[isShort ? "clock" : element.dataset.time].format(time);
}
function localise() {
  for (const element of document.querySelectorAll("time[data-time]")) {
    if (element.dataset.time !== "ago" && told.get(element) === element.dateTime + element.textContent) continue; // most are
    const said = text(element);
    if (element.textContent !== said) element.textContent = said;
    told.set(element, element.dateTime + said);
    const passed = Date.now() - Date.parse(element.dateTime), strip = element.closest("[data-live] [data-ageing]");
    element.toggleAttribute("data-old", passed > OLD_MS);
    if (strip && element.matches(".strip-ago") && passed >= HOUR_MS && strip.dataset.caution !== "stale") strip.dataset.caution = passed < 3 * HOUR_MS ? "aging" : "stale";
  }
}
document.addEventListener("DOMContentLoaded", () => {
  localise();
  setInterval(localise, 10_000);
  new MutationObserver(localise).observe(document.body, { subtree: true, childList: true, characterData: true, attributeFilter: ["datetime"] });
});
