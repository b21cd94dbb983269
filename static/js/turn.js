// A turn's page while the turn runs: steps and text as they come, facts and time scale after them.
// Keys R, T, W choose the way to read.

import "./enter-sends.js";
import { element } from "./fragments.js";
import { put, refresher } from "./parts.js";
import { onState, subscribe } from "./socket.js";
import { Steps } from "./steps.js";

const AGAIN = 2000; // milliseconds between two looks at the time scale while a step is open

const page = document.querySelector("[data-turn]");
const list = page.querySelector("[data-steps]");
const toEnd = page.querySelector("[data-to-end]");
const state = page.querySelector("[data-live-state]");
const steps = list && new Steps(list);
const said = document.querySelector("p[role=status]");

if ("live" in page.dataset) follow();

function follow() {
  const { turn, cursor, view } = page.dataset;
  const refresh = refresher(`/turns/${turn}/parts/?view=${view}`);
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

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  page.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`)?.click();
});
