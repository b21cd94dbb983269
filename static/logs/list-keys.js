// The list by keyboard: j and k move along the rows, Enter opens (a row's link has the focus),
// [ and ] turn pages, p pauses, n shows what is new. Never while something is being typed.

import { isTyping } from "./query-bar.js";

const links = () => [...document.querySelectorAll("[data-rows] .col-text a")];

function move(by) {
  const all = links();
  const here = all.findIndex((link) => link.closest("tr").contains(document.activeElement));
  const next = here < 0 ? 0 : Math.min(Math.max(here + by, 0), all.length - 1);
  all[next]?.focus({ preventScroll: true });
  all[next]?.closest("tr").scrollIntoView({ block: "nearest" });
}

const follow = (selector) => document.querySelector(`${selector}:not([hidden])`)?.click();

const KEYS = {
  j: () => move(1),
  k: () => move(-1),
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
