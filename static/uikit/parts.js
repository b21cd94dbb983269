// Parts of a page that are rendered again while things happen: <… data-part="name">. One request
// at a time, and not more often than every so many milliseconds.

import { fetchFragment, nodes } from "./fragments.js";
import { morph } from "./morph.js";

/** Returns a function that asks ``url`` (or what it gives) for the page's parts soon, and puts them in place.
    With ``patience`` it waits at least so many times as long as the last answer took; ``then`` is called
    when they are in place. A part that says data-again is of a while ago, and is asked for once more after so
    many seconds, unless nobody is looking. */
export function refresher(url, every = 500, patience = 0, then = null) {
  let timer = 0;
  let busy = false;
  let again = false;
  let took = 0;
  let old = 0;

  async function refresh() {
    timer = 0;
    busy = true;
    const begun = performance.now();
    const html = await fetchFragment(typeof url === "function" ? url() : url).catch(() => null);
    busy = false;
    took = performance.now() - begun;
    const parts = html ? [...nodes(html).querySelectorAll("[data-part]")] : [];
    parts.forEach(put);
    if (html) then?.();
    clearTimeout(old);
    const seconds = Math.max(0, ...parts.map((part) => Number(part.dataset.again ?? 0)));
    if (seconds) old = setTimeout(() => document.hidden || soon(), seconds * 1000);
    if (again) soon();
  }

  function soon() {
    again = busy;
    if (!busy && !timer) timer = setTimeout(refresh, Math.max(every, took * patience));
  }
  return soon;
}

/** Put a part in the place of the one of its name. */
export function put(fresh) {
  const old = document.querySelector(`[data-part="${CSS.escape(fresh.dataset.part)}"]`);
  if (old) morph(old, fresh);
}
