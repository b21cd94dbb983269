// A turn's page while the turn runs: steps and text as they come, facts and time scale after them.

import "../uikit/enter-sends.js";
import "../uikit/more.js";
import "./step-tree.js";
import "./turn-keys.js";
import "./zoom.js";
import { follow as followElsewhere } from "./external-turn.js";
import { element } from "../uikit/fragments.js";
import { put, refresher } from "../uikit/parts.js";
import { onState, subscribe } from "../uikit/socket.js";
import { Steps } from "./steps.js";
import { root } from "../uikit/root.js";

const AGAIN = 2000; // milliseconds between two looks at the time scale while a step is open

const page = document.querySelector("[data-turn]");
const list = page.querySelector("[data-steps]");
const toEnd = page.querySelector("[data-to-end]");
const state = page.querySelector("[data-live-state]");
const steps = list && new Steps(list);
const said = document.querySelector("p[role=status]");

if ("live" in page.dataset && "foreign" in page.dataset) followRow();
else if ("live" in page.dataset) follow();
if (page.dataset.hit && !location.hash) location.replace(`#step-${page.dataset.hit}`);
showHit();
showTarget();
addEventListener("hashchange", showTarget);

// A link to a step that is folded to a line came for what is in it.
function showTarget() {
  const target = document.querySelector(".step:target");
  for (let each = target?.querySelector(".quiet") ?? target?.closest(".quiet"); each; each = each.parentElement.closest(".quiet")) each.open = true;
}

// What was searched for is seen, wherever in its step it is.
function showHit() {
  if (!new URLSearchParams(location.search).get("find")) return;
  const hit = (document.querySelector(":target") ?? page).querySelector(".step mark");
  const box = hit?.getBoundingClientRect();
  if (box && (box.top < 0 || box.bottom > innerHeight)) hit.scrollIntoView({ block: "center" });
}

function follow() {
  const { turn, cursor } = page.dataset;
  const refresh = refresher(() => `${root}/turns/${turn}/parts/${location.search}`);
  subscribe({ topic: `turn:${turn}`, after: cursor, as: "html" }, {
    events(events) {
      const following = steps?.take(events) ?? true;
      if (toEnd && !following) toEnd.hidden = false;
      if (events.some((event) => event.type !== "delta")) refresh();
      for (const event of events) if (event.type.startsWith("turn.")) tell(event);
    },
    end() {
      clearInterval(timer);
      ended();
      refresh();
    },
    gap() { location.reload(); },
  });
  onState(showState);
  const timer = setInterval(() => document.hidden || !page.querySelector("[data-turn-status=in_progress]") || refresh(), AGAIN);
}

function followRow() {
  onState(showState);
  followElsewhere(page, () => {
    said.textContent = page.querySelector("[data-turn-status] .status")?.textContent ?? "";
    ended();
  });
}

function tell({ html }) {
  const facts = element(html);
  said.textContent = facts.querySelector(".status")?.textContent ?? "";
  put(facts);
}

// The turn is over: it has one more thing to offer, and nothing more to wait for.
function ended() {
  delete page.dataset.live;
  if (state) state.hidden = true;
  const form = page.querySelector("[data-say]");
  if (form) form.hidden = false;
}

function showState(name) {
  if (!state) return;
  state.hidden = !("live" in page.dataset) || !["live", "reconnecting"].includes(name);
  state.dataset.state = name;
  for (const each of ["live", "reconnecting"]) state.querySelector(`[data-words-${each}]`).hidden = each !== name;
}

toEnd?.addEventListener("click", () => steps.end.show());
addEventListener("scroll", () => { if (toEnd && steps.end.isNear()) toEnd.hidden = true; }, { passive: true });
