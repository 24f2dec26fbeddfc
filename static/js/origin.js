// [data-origin]: a command to copy names the server under which the reader sees it.
document.addEventListener("DOMContentLoaded", () => {
  for (const element of document.querySelectorAll("[data-origin]")) element.textContent = location.origin;
});
