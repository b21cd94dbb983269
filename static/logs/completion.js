// Completion in the query bar: the server rendered the fields as options of a list box; the values of
// one come when its colon is written, the paths into one with its dot. An empty bar offers the queries
// that were asked last in this browser, and the saved views. ArrowDown and ArrowUp choose, Enter or Tab
// takes, Escape closes.

import { fetchFragment, nodes } from "../uikit/fragments.js";

const input = document.querySelector("[data-query-bar] input[name=q]");
const list = document.querySelector("[data-suggestions]");
const fields = [...list.querySelectorAll("[role=option]")];
const MOST = 8;
const PAUSE_MS = 120;
let options = fields;
let asked = 0;
let round = 0; // of values that are asked for; those of an earlier one come too late
const WORD = /(?:^|[\s(])-?([^\s()"]*)$/;
let chosen = null;

/** What is being written: the word that ends at the caret. Empty where there is none. */
function word() {
  if (input.selectionStart !== input.selectionEnd) return "";
  return WORD.exec(input.value.slice(0, input.selectionStart))?.[1] ?? "";
}

const hasPaths = (begun) => fields.some(({ dataset: { insert } }) => insert.endsWith(".") && begun.toLowerCase().startsWith(insert));

function suggest() {
  const begun = word();
  forget();
  if (begun.includes(":") || hasPaths(begun)) asked = setTimeout(fetchValues, PAUSE_MS, begun);
  else if (!input.value.trim()) offer(earlier(), "");
  else offer(fields, begun.toLowerCase());
}

// ------------------------------------------------------------------------- queries to begin with

const RECENT = 5;
const STORE = `queries-${new URL(list.dataset.suggestions, location.href).searchParams.get("level")}`;

function recent() {
  try {
    const texts = JSON.parse(localStorage.getItem(STORE) ?? "[]");
    return Array.isArray(texts) ? texts.filter((text) => typeof text === "string") : [];
  } catch {
    return [];
  }
}

function remember(text) {
  const texts = [text, ...recent().filter((each) => each !== text)].slice(0, RECENT);
  try {
    localStorage.setItem(STORE, JSON.stringify(texts));
  } catch {
    // a browser that stores nothing offers the saved views alone
  }
}

function earlier() {
  const views = [...document.querySelectorAll(".views-list a")].map((link) => [link.querySelector("code").textContent, link.querySelector(".cut").textContent, link.href]);
  const last = recent().map((text) => [text, list.dataset.recent, ""]);
  return [...last, ...views].map(([text, help, url]) => option(text, help, url));
}

function option(text, help, url) {
  const item = document.createElement("li");
  item.setAttribute("role", "option");
  item.setAttribute("aria-selected", "false");
  Object.assign(item.dataset, { insert: text, whole: url });
  item.append(Object.assign(document.createElement("code"), { textContent: text }));
  item.append(Object.assign(document.createElement("span"), { className: "faint cut", textContent: help }));
  return item;
}

if (input.value.trim() && !input.hasAttribute("aria-invalid")) remember(input.value.trim());

async function fetchValues(begun) {
  const url = `${list.dataset.suggestions}&word=${encodeURIComponent(begun)}`;
  const own = round;
  const html = await fetchFragment(url).catch(() => null);
  if (html === null || own !== round || word() !== begun) return;
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

/** Ask for no values any more, and take none that are on their way. */
function forget() {
  clearTimeout(asked);
  round += 1;
}

function close() {
  forget();
  open(false);
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
  if (option.dataset.whole) return location.assign(option.dataset.whole);
  if (option.dataset.whole === "") {
    input.value = option.dataset.insert;
    return input.form.requestSubmit();
  }
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
  Escape: close,
};

input.setAttribute("role", "combobox");
input.setAttribute("aria-autocomplete", "list");
input.setAttribute("aria-controls", list.id);
open(false);
input.addEventListener("input", suggest);
input.addEventListener("click", suggest);
input.addEventListener("blur", close);
input.addEventListener("keydown", (event) => {
  if (list.hidden || event.isComposing || event.shiftKey || !(event.key in KEYS)) return;
  // whole queries are taken by choice alone: Tab goes on from an empty bar
  if (!chosen && (event.key === "Enter" || (event.key === "Tab" && !input.value.trim()))) return close();
  event.preventDefault();
  event.stopPropagation();
  KEYS[event.key]();
});
list.addEventListener("mousedown", (event) => {
  event.preventDefault(); // the bar keeps the focus
  const option = event.target.closest("[role=option]");
  if (option) take(option);
});
