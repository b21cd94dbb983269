// The timeline of a turn: drag over the whole in little, or Ctrl and wheel over the steps, to zoom. Every
// part of the time has a URL; without scripts the slices and the links beside them lead there.

import { fetchFragment, nodes } from "../uikit/fragments.js";
import { put } from "../uikit/parts.js";
import { root } from "../uikit/root.js";

const SETTLED = 180; // milliseconds after the last turn of the wheel
const SHORTEST = 1000; // microseconds
const LEAST = 4; // pixels that count as dragging

const timeline = () => document.querySelector(".timeline[data-wide][data-total]");
const turn = document.querySelector("[data-turn]")?.dataset.turn;
let wanted = null;
let timer = 0;
let drag = null;
let dragged = false;

/** Show another part of the time, microseconds since the turn's start; the page's URL says which. */
function show(start, end) {
  const total = Number(timeline().dataset.total);
  const from = Math.max(Math.round(start), 0);
  const to = Math.min(Math.round(end), total);
  if (to - from < SHORTEST) return;
  open(`?view=timeline${from === 0 && to === total ? "" : `&zoom=${from / 1000}..${to / 1000}`}`);
}

async function open(query) {
  const html = await fetchFragment(`${root}/turns/${turn}/parts/${query}`).catch(() => null);
  if (!html) return location.assign(query);
  const moves = document.activeElement?.closest(".moves a");
  put(nodes(html).querySelector("[data-part=timeline][data-wide]"));
  if (moves && !moves.isConnected) timeline()?.querySelector(".moves a")?.focus(); // there is no further that way
  history.pushState(null, "", query);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest(".timeline[data-wide] :is(.moves, .little) a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (!dragged) open(link.getAttribute("href"));
});

addEventListener("popstate", () => { if (timeline()) location.reload(); });

const share = (event, box) => Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);

document.addEventListener("dragstart", (event) => { if (event.target.closest?.("[data-zoom]")) event.preventDefault(); });

document.addEventListener("pointerdown", (event) => {
  dragged = false;
  drag = null;
  const little = event.target.closest("[data-zoom]");
  if (!little || event.button !== 0) return;
  const box = little.getBoundingClientRect();
  drag = { box, x: event.clientX, from: share(event, box), mark: little.querySelector(".little-drag") };
});

document.addEventListener("pointermove", (event) => {
  if (!drag || Math.abs(event.clientX - drag.x) < LEAST) return;
  const to = share(event, drag.box);
  drag.mark.removeAttribute("hidden");
  drag.mark.setAttribute("x", `${100 * Math.min(drag.from, to)}%`);
  drag.mark.setAttribute("width", `${100 * Math.abs(to - drag.from)}%`);
});

document.addEventListener("pointerup", (event) => {
  if (!drag) return;
  const { box, x, from, mark } = drag;
  drag = null;
  mark.setAttribute("hidden", "");
  dragged = Math.abs(event.clientX - x) >= LEAST;
  if (!dragged) return;
  const total = Number(timeline().dataset.total);
  const to = share(event, box);
  show(Math.min(from, to) * total, Math.max(from, to) * total);
});

// The browser scrolls with that finger instead.
document.addEventListener("pointercancel", () => {
  drag?.mark.setAttribute("hidden", "");
  drag = null;
});

document.addEventListener("wheel", (event) => {
  const bars = event.ctrlKey && timeline() && event.target.closest?.(".timeline[data-wide] .bars");
  if (!bars) return;
  event.preventDefault();
  const { start, end } = wanted ?? { start: Number(timeline().dataset.start), end: Number(timeline().dataset.end) };
  const at = start + (end - start) * share(event, bars.querySelector(".bar").getBoundingClientRect());
  const by = event.deltaY < 0 ? 0.7 : 1 / 0.7;
  wanted = { start: at - (at - start) * by, end: at + (end - at) * by };
  clearTimeout(timer);
  timer = setTimeout(settle, SETTLED);
}, { passive: false });

function settle() {
  const { start, end } = wanted;
  wanted = null;
  show(start, end);
}
