// The steps of a turn as they happen, in an open list of cards: cards arrive rendered by the
// server, what is being typed arrives as deltas and is put in as plain text.
//
// A delta says at which character of its channel it begins; characters are code points, as the
// server counts them, not UTF-16 units. What is there already is dropped or trimmed.

import { element } from "../uikit/fragments.js";
import { morph } from "../uikit/morph.js";

const NEAR = 80; // pixels from the end that count as being there
const DOCUMENT_END = {
  isNear: () => innerHeight + scrollY >= document.documentElement.scrollHeight - NEAR,
  show: () => scrollTo({ top: document.documentElement.scrollHeight }),
};

/** What stands behind a list that is not the last thing of its page. */
export function endAt(element) {
  return {
    isNear: () => element.getBoundingClientRect().top < innerHeight,
    show: () => element.scrollIntoView({ block: "nearest" }),
  };
}

/** Takes the events of topic turn:… (as html) and keeps ``list`` up to date. */
export class Steps {
  constructor(list, end = DOCUMENT_END) {
    this.list = list;
    this.end = end;
  }

  /** Apply events in order; a reader who was at the end stays there. Says whether they were. */
  take(events) {
    const following = this.end.isNear();
    for (const event of events) {
      if (event.type === "delta") this.type(event);
      else if (event.type.startsWith("step.")) this.place(event);
    }
    if (following) this.end.show();
    return following;
  }

  card(id) {
    return this.list.querySelector(`[data-step="${CSS.escape(id)}"]`);
  }

  place({ step, number, html }) {
    const old = this.card(step);
    const fresh = element(html);
    if (old) return morph(old, fresh);
    const next = [...this.list.querySelectorAll("[data-step]")].find((each) => Number(each.dataset.number) > number);
    const row = next?.closest(".quiet-row"); // several steps that are one line
    this.list.insertBefore(fresh, row ?? next ?? null);
  }

  // Appended, not morphed: a token costs the same however long the text has become.
  type({ step, channel, index, offset, text }) {
    const card = this.card(step);
    if (!card || !("open" in card.dataset)) return; // it is whole already
    const slot = slotOf(card, channel, index);
    const have = Number(slot.dataset.length);
    const letters = Array.from(text);
    if (offset > have || offset + letters.length <= have) return;
    slot.append(letters.slice(have - offset).join(""));
    slot.dataset.length = offset + letters.length;
    const hidden = slot.closest("[data-slot][hidden]");
    if (hidden) hidden.hidden = false;
  }
}

// Parallel calls are told apart by their index; the first one's place is in the card, others are
// copies of it.
function slotOf(card, channel, index) {
  const found = card.querySelector(`[data-channel="${channel}"][data-index="${Number(index)}"]`);
  if (found) return found;
  const first = card.querySelector(`[data-channel="${channel}"]`);
  const copy = first.cloneNode(false);
  copy.dataset.index = index;
  copy.dataset.length = "0";
  first.parentElement.append(" ", copy);
  return copy;
}
