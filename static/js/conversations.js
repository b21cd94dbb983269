// The list of conversations while its turns run: the newest page is rendered again, a moment after
// something changed. Nothing moves while a row has the focus or the pointer is on the rows.

import { refresher } from "./parts.js";
import { onState, subscribe } from "./socket.js";

const EVERY_MS = 2000;
const table = document.querySelector("[data-conversations]");
const button = document.querySelector("[data-live]");
const empty = document.querySelector("[data-empty]");
const { q, cursor } = table.dataset;
let paused = !("atTop" in table.dataset);
let late = false;
let connection = "connecting";

const isRead = () => table.matches(":hover") || table.contains(document.activeElement);
const refresh = refresher(`/conversations/rows/?${new URLSearchParams({ q })}`, EVERY_MS);

function look() {
  late = paused || isRead();
  if (!late) refresh();
}

function showState() {
  button.dataset.state = paused ? "paused" : connection;
}

document.querySelector("[data-refresh]").hidden = true;
button.hidden = false;
button.addEventListener("click", () => {
  paused = !paused;
  if (!paused) look();
  showState();
});
setInterval(() => { if (late) look(); }, EVERY_MS);
new MutationObserver(() => {
  table.hidden = !table.querySelector("[data-rows] tr");
  empty.hidden = !table.hidden;
}).observe(table, { childList: true });

onState((state) => {
  connection = state === "idle" ? "connecting" : state;
  showState();
});
subscribe({ topic: "logs", level: "turns", q, after: cursor, as: "json" }, { events: look, gap: look });
