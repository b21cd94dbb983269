// What is going on: the page follows the turns that run or wait. What is shown of them comes again as soon
// as one changes, what is counted over the period a while after; nothing while nobody is looking.

import { refresher } from "../uikit/parts.js";
import { subscribe } from "../uikit/socket.js";

const SOON_MS = 700;
const COUNTED_MS = 10_000;
const page = document.querySelector("[data-dashboard]");
const url = page.dataset.dashboard;
const now = refresher(`${url}&only=now`, SOON_MS);
const counted = refresher(url, COUNTED_MS);
const atOnce = refresher(url, 0);

/** Whether a reader is in the middle of what would be replaced: a link in focus, a table open. */
const isRead = (name) => {
  const part = page.querySelector(`[data-part=${name}]`);
  return part.contains(document.activeElement) || part.querySelector("details[open]") !== null;
};

let missed = false;

function changed() {
  missed = document.hidden || isRead("now");
  if (missed) return;
  now();
  if (!isRead("numbers")) counted();
}

if ("later" in page.dataset) atOnce();
const catchUp = () => missed && changed();
document.addEventListener("visibilitychange", catchUp);
page.addEventListener("focusout", () => setTimeout(catchUp));
subscribe({ topic: "logs", level: "turns", q: "is:live", after: page.dataset.cursor, as: "json" }, { events: changed, gap: changed });
