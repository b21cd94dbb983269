// The live list: the open page is a subscription to its own query.
//
// Nothing moves under a reader: scrolled down, with a row in focus, or with the pointer just
// moving over the rows, new ones wait behind the pill, and what changed is replaced in its place.
// Paused, everything waits.

import { apply, atTop, body, isNew, rowOf, shownIds, table } from "./rows.js";
import { refreshNumbers } from "./numbers.js";
import { onState, subscribe } from "../uikit/socket.js";

const SETTLE_MS = 1000;
const { level, q, cursor, firstPage, said } = table.dataset;
const button = document.querySelector("[data-live]");
const pill = document.querySelector("[data-arrivals]");
const announcer = document.querySelector("[data-announce]");
const waiting = new Map(); // id → its latest event
let paused = false;
let connection = "connecting";
let touchedAt = -Infinity;

const isTouched = () => performance.now() - touchedAt < SETTLE_MS;
const isScrolled = () => table.getBoundingClientRect().top < 0;
const isRead = () => isScrolled() || isTouched() || body.contains(document.activeElement);

function receive(events) {
  for (const event of events) {
    const arrives = event.type === "row" && !rowOf(event.id);
    if (paused || (arrives && (!atTop || isRead()))) waiting.set(event.id, event);
    else show(event);
  }
  showWaiting();
  if (!paused) refreshNumbers();
}

function show(event) {
  waiting.delete(event.id);
  apply(event, isRead());
}

function showWaiting() {
  const count = [...waiting.values()].filter(isNew).length;
  if (count && pill.hidden) announcer.textContent = said.replace("%s", count);
  pill.hidden = !count;
  pill.querySelector("[data-arrivals-count]").textContent = count;
}

// All that waits goes to its place, oldest first.
function catchUp() {
  for (const event of [...waiting.values()].sort((a, b) => (a.id < b.id ? -1 : 1))) show(event);
  showWaiting();
}

// What the pill does: the newest rows, at the top of the page.
function showArrivals() {
  if (!atTop) return void location.assign(firstPage);
  catchUp();
  document.activeElement?.blur();
  scrollTo({ top: 0 });
}

// Pause the list, or go on with all that came meanwhile.
function togglePause() {
  paused = !paused;
  if (!paused) catchUp();
  if (!paused) refreshNumbers();
  showState();
}

function showState() {
  button.dataset.state = paused ? "paused" : connection;
}

document.querySelector("[data-refresh]").hidden = true;
button.hidden = false;
button.addEventListener("click", togglePause);
pill.addEventListener("click", showArrivals);
body.addEventListener("pointermove", () => { touchedAt = performance.now(); });
document.addEventListener("visibilitychange", () => document.hidden || paused || refreshNumbers());
setInterval(() => { if (waiting.size && atTop && !paused && !isRead()) catchUp(); }, SETTLE_MS);

onState((state) => {
  connection = state === "idle" ? "connecting" : state;
  showState();
});
subscribe({ topic: "logs", level, q, after: cursor, as: "html" }, {
  events: receive,
  shown: shownIds,
  gap() { location.reload(); },
  error(message) {
    connection = "stopped";
    announcer.textContent = message;
    showState();
  },
});
