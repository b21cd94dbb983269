// Fresh HTML in the place of what stands there: idiomorph changes what differs and leaves the rest alone, and
// what its reader did to the old one stays.
//
//   id                what is the same in both; children without one are matched by their order
//   data-keep         stays though the fresh HTML lacks it
//   data-length       how much of a text is there; what is ahead of the fresh text stays

import { Idiomorph } from "./vendor/idiomorph.esm.js"; // 0.8.0, as npm has it

const OF_SCRIPTS = ["tabindex", "aria-selected", "aria-expanded", "data-out"]; // the server sends none where a script sets them
const KNOWN_BY = ["data-key", "data-thumb", "href", "value"];
const MARK = "known-by-";

/** Make an element, or only its ``children``, what the fresh one is. */
export function morph(old, fresh, { children = false } = {}) {
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  identify(old);
  identify(fresh);
  for (const node of Idiomorph.morph(old, fresh, { morphStyle: children ? "innerHTML" : "outerHTML", callbacks })) {
    for (const each of node.querySelectorAll?.(`[id^="${MARK}"]`) ?? []) each.removeAttribute("id");
  }
  if (focused?.isConnected && focused !== document.activeElement) focused.focus({ preventScroll: true });
}

// A link or button is known by what it does: pressed while its list changes, it must not have become another.
function identify(root) {
  const known = new Set();
  for (const each of root.querySelectorAll("a:not([id]), button:not([id])")) {
    const name = KNOWN_BY.find((attribute) => each.hasAttribute(attribute));
    const id = `${MARK}${name} ${each.getAttribute(name)}`;
    if (!name || known.has(id)) continue;
    known.add(id);
    each.id = id;
  }
}

const callbacks = {
  beforeNodeMorphed: (old, fresh) => !old.isEqualNode(fresh) && !isAhead(old, fresh),
  beforeNodeRemoved: (node) => node.dataset?.keep === undefined,
  beforeAttributeUpdated(name, element, change) {
    return !(isReaders[name]?.(element) ?? (change === "remove" && OF_SCRIPTS.includes(name)));
  },
};

const isAhead = (old, fresh) => Number(old.dataset?.length ?? 0) > Number(fresh.dataset?.length ?? Infinity);

// What its reader did, by attribute: unfolded, wrote, ticked, chose.
const isReaders = {
  open: (element) => element.localName === "details",
  value: (element) => "defaultValue" in element && element.value !== element.defaultValue,
  checked: (element) => element.checked !== element.defaultChecked,
  selected: (element) => element.selected !== element.defaultSelected,
};
