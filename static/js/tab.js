// [data-tab]: the tab is named as the session is by now.
document.addEventListener("htmx:sse:after:message", () => {
  const name = document.querySelector("[data-tab]")?.dataset.tab;
  if (name && document.title !== name) document.title = name;
});
