// Long texts by ranges: <a data-more="url of the next range">. Where scripts run the range is put in
// behind what is there; else the link leads to a page of its own.

import { fetchFragment, nodes } from "./fragments.js";

document.addEventListener("click", async (event) => {
  const link = event.target.closest("[data-more]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  link.setAttribute("aria-busy", "true");
  const html = await fetchFragment(link.dataset.more).catch(() => null);
  if (!html) return location.assign(link.href);
  const fresh = nodes(html);
  const range = fresh.querySelector("[data-range]");
  const place = link.closest("p");
  const text = range.querySelector("pre");
  place.replaceWith(fresh);
  text.focus({ preventScroll: true });
});
