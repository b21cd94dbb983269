// Waits for the first turn that an agent elsewhere reports, and says so where it came.

import { refresher } from "../uikit/parts.js";
import { onState, subscribe } from "../uikit/socket.js";

let connection = "idle";

const page = document.querySelector("[data-connect]");
const { cursor, query } = page.dataset;
const arrival = () => page.querySelector("[data-part=arrival]");

const url = new URL(location.href);
url.searchParams.set("since", cursor);
const refresh = refresher(url.href, 300, 0, () => {
  showState(); // what came is rendered without it
  if ("arrived" in arrival().dataset) end();
});
const changed = (events) => (events ?? [{ type: "row" }]).some(({ type }) => type === "row") && refresh();
const stop = subscribe({ topic: "logs", level: "turns", q: query, after: cursor, as: "json" }, { events: changed, gap: refresh });
// what no turn is made of changes no row: it is asked for now and then
const looking = setInterval(() => document.hidden || refresh(), 5000);
const end = () => (clearInterval(looking), stop());

function showState() {
  const link = arrival().querySelector("[data-refresh]");
  if (link) link.hidden = connection === "live";
  arrival().dataset.state = connection;
}

onState((state) => {
  connection = state;
  showState();
});
