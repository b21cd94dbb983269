// Numbers that come behind their page: asked for once it stands, and again a while after one of the turns
// they are of has changed; nothing while nobody is looking or a reader is in the middle of them.

import { refresher } from "./parts.js";
import { subscribe } from "./socket.js";

const COUNTED_MS = 10_000;
const place = document.querySelector("[data-late]");
const { late, lateNow, topic, cursor } = place?.dataset ?? {}; // a list may be empty
const counted = refresher(late, COUNTED_MS);

const isRead = () => {
  const part = place.querySelector("[data-part]") ?? place;
  return part.contains(document.activeElement) || part.querySelector("details[open]") !== null;
};

function changed() {
  if (!document.hidden && !isRead()) counted();
}

if (lateNow !== undefined) refresher(late, 0)();
if (topic) subscribe({ topic, level: "turns", q: "", after: cursor, as: "json" }, { events: changed, gap: changed });
