// What is counted over all that a list matches: sums, facets, the histogram. They come once the rows
// stand, and again a moment after something changed. Dragging over the histogram zooms into a time.

import { refresher } from "../uikit/parts.js";

const SOON_MS = 3000;
const PATIENCE = 30; // counting millions takes a server's time: then less often
const body = document.querySelector("[data-numbers]");
const url = body?.dataset.numbers;
const later = url ? refresher(url, SOON_MS, PATIENCE) : () => {};
const atOnce = url ? refresher(url, 0) : () => {};

/** Ask for the numbers again soon, once for all changes until then; not while nobody is looking. */
export function refreshNumbers() {
  if (!document.hidden) later();
}

if (body && "numbersLater" in body.dataset) atOnce();

// ------------------------------------------------------------------------------ drag to zoom

const DRAG_PX = 4;
let drag = null;

const drawing = (event) => event.target.closest?.("[data-histogram]");
const column = (svg, x) => {
  const bars = [...svg.querySelectorAll("g[data-low]")];
  const box = svg.getBoundingClientRect();
  const at = Math.floor(((x - box.left) / box.width) * bars.length);
  return bars[Math.min(Math.max(at, 0), bars.length - 1)];
};

function begin(event) {
  const svg = drawing(event);
  if (!svg || event.button) return;
  drag = { svg, from: event.clientX, moved: false };
}

// The caption says what the bar under the pointer stands for.
let said = null;
function tell(event) {
  const bar = event.target.closest?.("[data-histogram] g[data-low]");
  if (bar === said) return;
  said = bar;
  const caption = document.querySelector("[data-bar-said]");
  if (!caption) return;
  caption.dataset.usual ??= caption.textContent;
  caption.textContent = bar?.querySelector("title")?.textContent ?? caption.dataset.usual;
}

function move(event) {
  if (!drag) return tell(event);
  drag.moved ||= Math.abs(event.clientX - drag.from) > DRAG_PX;
  if (drag.moved) mark(drag.svg, drag.from, event.clientX);
}

function mark(svg, from, to) {
  const box = svg.getBoundingClientRect();
  const scale = svg.viewBox.baseVal.width / box.width;
  const [low, high] = [Math.min(from, to), Math.max(from, to)].map((x) => Math.min(Math.max(x - box.left, 0), box.width) * scale);
  const range = svg.querySelector("[data-range]");
  range.setAttribute("x", low);
  range.setAttribute("width", high - low);
  range.setAttribute("visibility", "visible");
}

function end(event) {
  const done = drag;
  drag = null;
  if (!done?.moved) return;
  const [first, last] = [done.from, event.clientX].sort((a, b) => a - b).map((x) => column(done.svg, x));
  const form = new URL(done.svg.dataset.path, location.href);
  form.searchParams.set("q", done.svg.dataset.q);
  form.searchParams.set("from", first.dataset.low);
  form.searchParams.set("to", last.dataset.high);
  location.assign(form.href);
}

document.addEventListener("pointerdown", begin);
document.addEventListener("pointermove", move);
document.addEventListener("pointerup", end);
document.addEventListener("pointercancel", () => { drag = null; });
// A drag over links would carry them away, and its end would open one.
document.addEventListener("dragstart", (event) => { if (drawing(event)) event.preventDefault(); });
document.addEventListener("click", (event) => { if (drawing(event) && event.detail && document.querySelector("[data-range][visibility=visible]")) event.preventDefault(); }, true);
