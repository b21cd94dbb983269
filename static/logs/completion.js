// Completion in the query bar: the server rendered the fields as options of a list box; the values of
// one come when its colon is written. ArrowDown and ArrowUp choose, Enter or Tab takes, Escape closes.

import { fetchFragment, nodes } from "../uikit/fragments.js";

const input = document.querySelector("[data-query-bar] input[name=q]");
const list = document.querySelector("[data-suggestions]");
const fields = [...list.querySelectorAll("[role=option]")];
const MOST = 8;
const PAUSE_MS = 120;
let options = fields;
let asked = 0;
const WORD = /(?:^|[\s(])-?([^\s()"]*)$/;
let chosen = null;

/** What is being written: the word that ends at the caret. Empty where there is none. */
function word() {
  if (input.selectionStart !== input.selectionEnd) return "";
  return WORD.exec(input.value.slice(0, input.selectionStart))?.[1] ?? "";
}

function suggest() {
  const begun = word();
  clearTimeout(asked);
  if (begun.includes(":")) asked = setTimeout(fetchValues, PAUSE_MS, begun);
  else offer(fields, begun.toLowerCase());
}

async function fetchValues(begun) {
  const url = `${list.dataset.suggestions}&word=${encodeURIComponent(begun)}`;
  const html = await fetchFragment(url).catch(() => null);
  if (html === null || word() !== begun || document.activeElement !== input) return;
  offer([...nodes(html).querySelectorAll("[role=option]")], "");
}

// A list that is open stays as it is while the next one comes.
function offer(found, begun) {
  options = found;
  list.replaceChildren(...found);
  let shown = 0;
  for (const [place, option] of found.entries()) {
    option.id = `suggestion-${place}`;
    const text = option.dataset.insert.toLowerCase();
    option.hidden = shown >= MOST || (found === fields && (!begun || text === begun || !text.startsWith(begun)));
    shown += option.hidden ? 0 : 1;
  }
  choose(null);
  open(shown > 0);
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
  input.setRangeText(/[:.(>]$/.test(text) ? text : `${text} `, end - word().length, end, "end");
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
