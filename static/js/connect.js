// Waits for the first turn that an agent elsewhere reports, and says so where it came.

import { refresher } from "./parts.js";
import { onState, subscribe } from "./socket.js";

const page = document.querySelector("[data-connect]");
const { cursor, query } = page.dataset;
const arrival = () => page.querySelector("[data-part=arrival]");

const url = new URL(location.href);
url.searchParams.set("since", cursor);
const refresh = refresher(url.href, 300, 0, () => "arrived" in arrival().dataset && end());
const changed = (events) => (events ?? [{ type: "row" }]).some(({ type }) => type === "row") && refresh();
const stop = subscribe({ topic: "logs", level: "turns", q: query, after: cursor, as: "json" }, { events: changed, gap: refresh });
// what no turn is made of changes no row: it is asked for now and then
const looking = setInterval(() => document.hidden || refresh(), 5000);
const end = () => (clearInterval(looking), stop());

onState((state) => {
  const link = arrival().querySelector("[data-refresh]");
  if (link) link.hidden = state === "live";
  arrival().dataset.state = state;
});
