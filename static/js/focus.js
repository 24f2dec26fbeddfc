// Focus is never lost to an update: where the control that has it goes, the one that takes its place takes it.
const controls = () => [...document.querySelectorAll("a[href], button, summary, input, [tabindex]")].filter((one) => one.checkVisibility());
document.addEventListener("htmx:before:swap", () => {
  const order = document.activeElement === document.body ? [] : controls(), at = order.indexOf(document.activeElement);
  if (at >= 0) document.addEventListener("htmx:after:swap", () => {
    if (document.activeElement !== document.body) return;
    const before = order.slice(0, at).findLast((one) => one.isConnected), now = controls();
    now[now.indexOf(before) + 1]?.focus({ preventScroll: true });
  }, { once: true });
});
