// The sum line of a list that changes: it comes from the server, whole, a moment after a change.
// Adding up here would count a changed row twice.

import { fetchFragment, replace } from "./fragments.js";

const SOON_MS = 3000;
let timer = 0;

/** Fetch the sums soon, once for all changes until then; not while nobody is looking. */
export function refreshSums(url) {
  timer ||= setTimeout(async () => {
    timer = 0;
    if (document.hidden) return;
    const html = await fetchFragment(url).catch(() => null);
    const sums = document.querySelector("[data-sums]");
    if (html && sums) replace(sums, html);
  }, SOON_MS);
}
