// Parts of a page that are rendered again while things happen: <… data-part="name">. One request
// at a time, and not more often than every so many milliseconds.

import { fetchFragment, nodes } from "./fragments.js";

/** Returns a function that asks ``url`` for the page's parts soon, and puts them in place. */
export function refresher(url, every = 500) {
  let timer = 0;
  let busy = false;
  let again = false;

  async function refresh() {
    timer = 0;
    busy = true;
    const html = await fetchFragment(url).catch(() => null);
    busy = false;
    if (html) for (const part of nodes(html).querySelectorAll("[data-part]")) put(part);
    if (again) soon();
  }

  function soon() {
    again = busy;
    if (!busy && !timer) timer = setTimeout(refresh, every);
  }
  return soon;
}

/** Put a part in the place of the one of its name. What did not change is left alone. */
export function put(fresh) {
  const old = document.querySelector(`[data-part="${CSS.escape(fresh.dataset.part)}"]`);
  if (!old || old.isEqualNode(fresh)) return;
  if (old.querySelector(":scope > [data-id]") || fresh.querySelector(":scope > [data-id]")) merge(old, fresh);
  else old.replaceWith(fresh);
}

// A list whose children have ids: only those that changed or came are touched.
function merge(old, fresh) {
  for (const child of [...fresh.children]) {
    const same = old.querySelector(`:scope > [data-id="${CSS.escape(child.dataset.id)}"]`);
    if (!same) old.append(child);
    else if (!same.isEqualNode(child)) same.replaceWith(child);
  }
}
