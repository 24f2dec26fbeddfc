// [data-sticky-open]: a panel's open state is the reader's, kept per session, also when the panel goes and comes back.
const key = () => `planstrip:open:${document.querySelector("[data-session]")?.dataset.session}`;

function remember(isOpen) {
  try {
    localStorage.setItem(key(), isOpen ? "1" : "0");
  } catch {} // a frame may have no storage: then the choice lasts as long as the panel
}

function recall() {
  try {
    return localStorage.getItem(key());
  } catch {
    return null;
  }
}

function apply(panel) {
  const choice = recall();
  if (choice !== null) panel.open = choice === "1";
}

document.addEventListener("click", (event) => {
  const panel = event.target.closest("[data-sticky-open] > summary")?.parentElement;
  if (panel) remember(!panel.open); // asked before the browser toggles
});

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("[data-sticky-open]").forEach(apply);
  const region = document.querySelector("[data-session]");
  if (!region) return;
  new MutationObserver((records) => {
    for (const node of records.flatMap((record) => [...record.addedNodes])) {
      if (node.nodeType !== Node.ELEMENT_NODE) continue;
      if (node.matches("[data-sticky-open]")) apply(node);
      else node.querySelectorAll("[data-sticky-open]").forEach(apply);
    }
  }).observe(region, { subtree: true, childList: true });
});
