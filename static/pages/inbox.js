// The inbox follows the turns that wait: one that comes appears, one that somebody has answered goes. What is
// being typed into the others stays.

import { refresher } from "../uikit/parts.js";
import { subscribe } from "../uikit/socket.js";

const page = document.querySelector("[data-inbox]");
const refresh = refresher(page.dataset.inbox, 100);
const rowOf = (id) => page.querySelector(`[data-waits="${CSS.escape(id)}"]`);

subscribe({ topic: "logs", level: "turns", q: page.dataset.q, after: page.dataset.cursor, as: "json" }, {
  events(events) { if (events.some(({ type, id }) => type === "row" || rowOf(id))) refresh(); },
  shown: () => [...page.querySelectorAll("[data-waits]")].map((each) => each.dataset.waits),
  gap: refresh,
});
