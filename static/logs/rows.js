// The rows of the list and where they go: a row's place follows from its id, ids being in the order
// of time. Rows come as the server renders them.

import { element } from "../uikit/fragments.js";
import { morph } from "../uikit/morph.js";

const MOST = 200; // rows kept on the page

export const table = document.querySelector("[data-log]");
export const body = table.querySelector("[data-rows]");
/** Whether this is the newest page: only there new rows have a place. */
export const atTop = "atTop" in table.dataset;
const older = document.querySelector("[data-older]");
const empty = document.querySelector("[data-empty]");

export const rowOf = (id) => body.querySelector(`[data-id="${CSS.escape(id)}"]`);
/** The turns on the page, as many as may be named. */
export const shownIds = () => Array.from(body.rows, (row) => row.dataset.id).filter(Boolean).slice(0, 500);
const last = () => body.rows[body.rows.length - 1];
const belongs = (id) => older.hidden || !body.rows.length || id > last().dataset.id;

/** Whether an event brings a row that this list, or the newest page of it, does not show yet. */
export function isNew({ type, id }) {
  return type === "row" && !rowOf(id) && (atTop ? belongs(id) : id > table.dataset.newest);
}

/** Do what an event says. ``gently``: nothing may move, so a row that has left only fades. */
export function apply({ type, id, html }, gently) {
  const row = rowOf(id);
  if (type === "gone") leave(row, gently);
  else if (row) morph(row, element(html));
  else if (atTop && belongs(id)) insert(id, html);
  rowOf(id)?.dispatchEvent(new Event("rowchange", { bubbles: true }));
  showEmpty();
}

function insert(id, html) {
  const row = element(html);
  row.classList.add("fresh");
  body.insertBefore(row, [...body.rows].find((each) => each.dataset.id < id) ?? null);
  while (body.rows.length > MOST) last().remove();
  if (body.rows.length === MOST) pointOlder();
}

function leave(row, gently) {
  if (gently) row?.classList.add("gone");
  else row?.remove();
}

// What was taken off the end of the page is on the next one.
function pointOlder() {
  const url = new URL(table.dataset.firstPage, location.href);
  url.searchParams.set("after", last().dataset.id);
  older.href = url.href;
  older.hidden = false;
}

function showEmpty() {
  table.hidden = !body.rows.length;
  empty.hidden = !table.hidden;
}
