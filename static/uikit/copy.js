// Buttons that copy: <button data-copy="#id-of-what" hidden>Copy</button>, or without a target the
// <pre> of the same figure; with data-copy-from what that address gives. Shown only where they work.

for (const button of document.querySelectorAll("[data-copy]")) button.hidden = !navigator.clipboard;

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const { copyFrom } = button.dataset;
  if (copyFrom) await navigator.clipboard.write([new ClipboardItem({ "text/plain": plainText(copyFrom) })]);
  else if (!(await copyPlace(button))) return;
  button.dataset.before ??= button.textContent; // pressed again it says already that it copied
  button.textContent = document.body.dataset.copied;
  setTimeout(() => { button.textContent = button.dataset.before; }, 1500);
});

async function copyPlace(button) {
  const source = button.dataset.copy ? document.querySelector(button.dataset.copy) : button.closest("figure")?.querySelector("pre");
  if (source) await navigator.clipboard.writeText(source.textContent.trim());
  return source;
}

// A promise: some browsers let only what a click has begun at once write to the clipboard.
async function plainText(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  return new Blob([await answer.text()], { type: "text/plain" });
}
