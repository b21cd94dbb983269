// Completion in the query bar: the server rendered every suggestion as an option of a list box; here
// they are only shown and hidden. ArrowDown and ArrowUp choose, Enter or Tab takes, Escape closes.

const input = document.querySelector("[data-query-bar] input[name=q]");
const list = document.querySelector("[data-suggestions]");
const options = [...list.querySelectorAll("[role=option]")];
const MOST = 8;
const WORD = /(?:^|[\s(])-?([^\s()"]*)$/;
let chosen = null;

/** What is being written: the word that ends at the caret. Empty where there is none. */
function word() {
  if (input.selectionStart !== input.selectionEnd) return "";
  return WORD.exec(input.value.slice(0, input.selectionStart))?.[1] ?? "";
}

function suggest() {
  const begun = word().toLowerCase();
  let shown = 0;
  for (const option of options) {
    const fits = begun && shown < MOST && continues(option.dataset.insert.toLowerCase(), begun);
    option.hidden = !fits;
    shown += fits ? 1 : 0;
  }
  choose(null);
  open(shown > 0);
}

// A field's values are offered once its colon is written, not before.
function continues(text, begun) {
  if (text === begun || !text.startsWith(begun)) return false;
  return text.endsWith(":") || begun.includes(":");
}

function open(isOpen) {
  list.hidden = !isOpen;
  input.setAttribute("aria-expanded", String(isOpen));
  if (!isOpen) choose(null);
}

function choose(option) {
  chosen?.setAttribute("aria-selected", "false");
  chosen = option;
  chosen?.setAttribute("aria-selected", "true");
  chosen?.scrollIntoView({ block: "nearest" });
  if (option) input.setAttribute("aria-activedescendant", option.id);
  else input.removeAttribute("aria-activedescendant");
}

function move(by) {
  const shown = options.filter((option) => !option.hidden);
  const at = shown.indexOf(chosen);
  choose(shown[at < 0 ? (by > 0 ? 0 : shown.length - 1) : (at + by + shown.length) % shown.length]);
}

function take(option) {
  const end = input.selectionStart;
  const text = option.dataset.insert;
  input.setRangeText(text.endsWith(":") ? text : `${text} `, end - word().length, end, "end");
  input.focus();
  suggest();
}

const KEYS = {
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  Enter: () => chosen && take(chosen),
  Tab: () => take(chosen ?? options.find((option) => !option.hidden)),
  Escape: () => open(false),
};

input.setAttribute("role", "combobox");
input.setAttribute("aria-autocomplete", "list");
input.setAttribute("aria-controls", list.id);
open(false);
input.addEventListener("input", suggest);
input.addEventListener("click", suggest);
input.addEventListener("blur", () => open(false));
input.addEventListener("keydown", (event) => {
  if (list.hidden || event.isComposing || event.shiftKey || !(event.key in KEYS)) return;
  if (event.key === "Enter" && !chosen) return open(false);
  event.preventDefault();
  event.stopPropagation();
  KEYS[event.key]();
});
list.addEventListener("mousedown", (event) => {
  event.preventDefault(); // the bar keeps the focus
  const option = event.target.closest("[role=option]");
  if (option) take(option);
});
