// A list that is rendered again: what did not change stays the element it is, with its focus and what was
// unfolded in it, so that nothing moves under its reader.

const nameOf = (child, place) => child.dataset.step || child.id || `${child.localName} ${place}`;

/** Make ``old`` say what ``fresh`` says, child by child. */
export function reconcile(old, fresh) {
  const known = new Map([...old.children].map((child, place) => [nameOf(child, place), child]));
  let behind = null;
  for (const [place, child] of [...fresh.children].entries()) {
    const name = nameOf(child, place);
    const now = renewed(known.get(name), child);
    known.delete(name);
    const next = behind ? behind.nextElementSibling : old.firstElementChild;
    if (next !== now) old.insertBefore(now, next);
    behind = now;
  }
  for (const gone of known.values()) gone.remove();
}

// What stands there already if it says the same; else the fresh one, unfolded where that was.
function renewed(old, fresh) {
  if (!old) return fresh;
  const unfolded = [...fresh.querySelectorAll("details")];
  for (const [place, each] of [...old.querySelectorAll("details")].entries()) {
    if (unfolded[place]) unfolded[place].open = each.open;
  }
  if (old.isEqualNode(fresh)) return old;
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const place = focused ? [...old.querySelectorAll(focused.localName)].indexOf(focused) : -1;
  old.replaceWith(fresh);
  if (focused) fresh.querySelectorAll(focused.localName)[place]?.focus({ preventScroll: true });
  return fresh;
}
