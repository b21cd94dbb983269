// The page of a turn that runs elsewhere, while it goes on: it has no events, so the page follows the turn's
// row in the logs and asks for itself again when that changes. What did not change stays as it is.

import { refresher } from "../uikit/parts.js";
import { subscribe } from "../uikit/socket.js";

const FINAL = ["completed", "failed", "cancelled", "interrupted"];
const EVERY = 500; // milliseconds between two looks, at least
const PATIENCE = 3; // and so many times as long as a look takes

/** Follow the turn of a page until it is over; calls ``ended`` then. */
export function follow(page, ended) {
  const { turn, cursor } = page.dataset;
  const status = () => page.querySelector("[data-turn-status]")?.dataset.turnStatus;
  const refresh = refresher(() => location.pathname + location.search, EVERY, PATIENCE, () => {
    if (!FINAL.includes(status())) return;
    stop();
    ended();
  });
  const changed = (events) => {
    if (events.some(({ type, id }) => type === "gone" && id === turn)) location.reload(); // it became part of another
    else if (events.some(({ type }) => type === "row")) refresh();
  };
  const stop = subscribe({ topic: "logs", level: "turns", q: `turn:${turn}`, after: cursor, as: "json" }, { events: changed, gap: refresh });
}
