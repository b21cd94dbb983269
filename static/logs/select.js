// Rows of the list are chosen by checkboxes (which this puts in), with Shift from the last one on, or
// with x for the row that has the focus. A row that is rendered again stays chosen.

import { isTyping } from "./query-bar.js";

const form = document.querySelector("[data-acts]");
const pattern = document.querySelector("template[data-pick]");
const body = document.querySelector("[data-rows]");
const count = form?.querySelector("[data-acts-count]");
const everything = form?.querySelector("[data-acts-all]");
const clear = form?.querySelector("[data-acts-clear]");
const page = document.querySelector("template[data-pick-all]")?.content.querySelector("input");
const chosen = new Set();
const kept = "select" in Object.fromEntries(new URLSearchParams(location.search));
let last = null;

const boxes = () => [...body.querySelectorAll(".pick input")];

// What left the page is not sent, so it is not chosen.
function forget() {
  const here = new Set(Array.from(body.rows, (row) => row.dataset.id));
  for (const id of chosen) if (!here.has(id)) chosen.delete(id);
  show();
}

function equip() {
  for (const row of body.rows) {
    if (!row.dataset.id) continue;
    const box = row.querySelector(".pick input") ?? put(row);
    box.checked = chosen.has(row.dataset.id);
  }
}

function put(row) {
  const label = pattern.content.firstElementChild.cloneNode(true);
  const box = label.querySelector("input");
  box.value = row.dataset.id;
  row.cells[0].prepend(label);
  return box;
}

function choose(box, on) {
  box.checked = on;
  if (on) chosen.add(box.value);
  else chosen.delete(box.value);
}

// From the last one that was clicked to this one, all as this one is.
function reach(box) {
  const all = boxes();
  const [from, to] = [all.indexOf(last), all.indexOf(box)].sort((a, b) => a - b);
  if (from >= 0) for (const each of all.slice(from, to + 1)) choose(each, box.checked);
}

function show() {
  const number = chosen.size;
  form.hidden = !number && !everything.checked && !kept;
  body.classList.toggle("picking", !form.hidden);
  clear.hidden = !number && !everything.checked;
  page.checked = number > 0 && number === boxes().length;
  page.indeterminate = number > 0 && !page.checked;
  count.textContent = everything.checked ? "" : (number === 1 ? count.dataset.one : count.dataset.many).replace("%s", number);
  for (const button of form.querySelectorAll("[data-acts-two]")) button.disabled = number !== 2 || everything.checked;
}

function toggle(box, event) {
  choose(box, box.checked);
  if (event?.shiftKey) reach(box);
  last = box;
  show();
}

function start() {
  body.closest("table").tHead.rows[0].cells[0].prepend(page.closest("label"));
  page.addEventListener("change", () => {
    for (const box of boxes()) choose(box, page.checked);
    show();
  });
  document.querySelector(".select-mode")?.classList.add("on-phones");
  equip();
  new MutationObserver(() => {
    equip();
    forget();
  }).observe(body, { childList: true });
  body.addEventListener("click", (event) => {
    if (event.target.matches(".pick input")) toggle(event.target, event);
  });
  everything.addEventListener("change", show);
  clear.addEventListener("click", () => {
    for (const box of boxes()) choose(box, false);
    chosen.clear();
    everything.checked = false;
    show();
  });
  document.addEventListener("keydown", (event) => {
    const box = document.activeElement?.closest("[data-rows] tr")?.querySelector(".pick input");
    if (event.key !== "x" || !box || isTyping(event)) return;
    event.preventDefault();
    box.checked = !box.checked;
    toggle(box);
  });
  show();
}

if (form && body) start();
