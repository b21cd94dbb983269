// Buttons that copy: <button data-copy="#id-of-what" hidden>Copy</button>, or without a target the
// <pre> of the same figure. Shown only where they work.

for (const button of document.querySelectorAll("[data-copy]")) button.hidden = !navigator.clipboard;

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = button.dataset.copy ? document.querySelector(button.dataset.copy) : button.closest("figure")?.querySelector("pre");
  if (!source) return;
  await navigator.clipboard.writeText(source.textContent.trim());
  button.dataset.before ??= button.textContent; // pressed again it says already that it copied
  button.textContent = document.body.dataset.copied;
  setTimeout(() => { button.textContent = button.dataset.before; }, 1500);
});
