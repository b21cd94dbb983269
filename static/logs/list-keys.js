// The list by keyboard: j and k move along the rows, Enter opens (a row's link has the focus), o opens the page,
// [ and ] turn pages, p pauses, n shows what is new. Never while something is being typed.

import { isTyping } from "./query-bar.js";

const rows = () => [...document.querySelectorAll("[data-rows] tr")].filter((row) => linkOf(row));
const linkOf = (row) => row?.querySelector(".col-text a");
const top = () => Math.max(document.querySelector("[data-log] th").getBoundingClientRect().bottom, 0);

/** The row with the focus, or the one in the panel. */
const current = () => document.activeElement?.closest("[data-rows] tr") ?? document.querySelector("[data-rows] tr[aria-selected]");

function isSeen(row) {
  const box = row.getBoundingClientRect();
  return box.top >= top() - box.height / 2 && box.top < innerHeight;
}

// From a row that was scrolled away it goes to the first that is seen.
function move(by) {
  const all = rows();
  const row = current();
  const next = row && isSeen(row) ? all[Math.min(Math.max(all.indexOf(row) + by, 0), all.length - 1)] : all.find(isSeen) ?? all[0];
  linkOf(next)?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
}

// With the panel open its own link is followed.
function openPage() {
  if (document.querySelector("[data-peek-panel]").hidden) linkOf(current()) && location.assign(linkOf(current()).href);
}

const follow = (selector) => document.querySelector(`${selector}:not([hidden])`)?.click();

const KEYS = {
  j: () => move(1),
  k: () => move(-1),
  o: openPage,
  p: () => follow("[data-live]"),
  n: () => follow("[data-arrivals]"),
  "[": () => follow("[data-newer]"),
  "]": () => follow("[data-older]"),
};

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.activeElement?.closest("[data-rows]")) document.activeElement.blur();
  const act = isTyping(event) ? null : KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
