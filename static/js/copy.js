// [data-copy]: puts what its address answers on the clipboard, and says so.
document.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-copy]");
  if (!button) return;
  const text = fetch(button.dataset.copy).then(async (answer) => new Blob([await answer.text()], { type: "text/plain" }));
  await navigator.clipboard.write([new ClipboardItem({ "text/plain": text })]); // asked within the click, or Safari refuses
  setTimeout((label) => { button.textContent = label; }, 1_500, button.textContent);
  button.textContent = button.dataset.copiedText;
});
