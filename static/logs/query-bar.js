// The query bar: / goes to it, ? opens the help, a wrong query has the caret where it is wrong.

const input = document.querySelector("[data-query-bar] input[name=q]");
const help = document.querySelector("[data-help]");

/** Whether a key press is meant for a field, a dialog or the browser rather than for the page. */
export function isTyping(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return true;
  return Boolean(event.target.closest?.("input, textarea, select, [contenteditable], dialog"));
}

document.addEventListener("keydown", (event) => {
  if (event.target === input && event.key === "Escape") input.blur();
  if (event.key === "Escape" && location.hash === "#filters") location.hash = "main";
  if (isTyping(event)) return;
  if (event.key === "/") {
    event.preventDefault();
    input.focus();
    input.select();
  } else if (event.key === "?") {
    help.showModal();
  }
});

if ("wrongAt" in input.dataset) {
  // the server counts characters, a selection counts UTF-16 units
  const at = [...input.value].slice(0, Number(input.dataset.wrongAt)).join("").length;
  input.setSelectionRange(at, at);
}

// Buttons say by themselves what they open; older browsers need telling.
if (!("commandForElement" in HTMLButtonElement.prototype)) {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[commandfor=help]");
    if (button) button.getAttribute("command") === "close" ? help.close() : help.showModal();
  });
}
help.addEventListener("click", (event) => event.target === help && help.close());
