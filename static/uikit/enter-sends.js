// In a box to say something Enter sends, as in any chat; Shift and Enter begins a new line.

document.addEventListener("keydown", (event) => {
  const form = event.target.closest("form.say");
  if (!form || event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  if (event.target.localName !== "textarea") return;
  event.preventDefault();
  form.requestSubmit();
});
