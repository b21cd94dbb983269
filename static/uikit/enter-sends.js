// In a box to say something Enter sends, as in any chat; Shift and Enter begins a new line.

document.addEventListener("keydown", (event) => {
  const box = event.target.closest(".say");
  if (!box || event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  if (event.target.localName !== "textarea") return;
  event.preventDefault();
  event.target.form.requestSubmit(box.querySelector("button:not([type=button])"));
});
