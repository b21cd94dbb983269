// The page of one value: branches of a tree are fetched when they are opened; what can be copied.
// Keys: / to the search, n to the next hit; in a tree the arrows move along it, open and close.

import { fetchFragment, nodes } from "../uikit/fragments.js";
import "../uikit/more.js";

const tree = document.querySelector(".tree");

function offer(root) {
  for (const button of root.querySelectorAll("[data-copy-text], [data-copy-from]")) button.hidden = !navigator.clipboard;
}
offer(document);

document.addEventListener("toggle", async (event) => {
  const branch = event.target;
  if (!branch.open || !branch.dataset?.branch) return;
  const url = branch.dataset.branch;
  delete branch.dataset.branch; // closed and opened again it is still asked for once
  const html = await fetchFragment(url).catch(() => null);
  if (html) add(branch, html);
  else branch.dataset.branch = url;
}, true);

function add(place, html) {
  const fresh = nodes(html);
  offer(fresh);
  place.append(fresh);
}

document.addEventListener("click", async (event) => {
  const further = event.target.closest("[data-further]");
  const copy = event.target.closest("[data-copy-text], [data-copy-from]");
  if (further?.closest("details")) {
    event.preventDefault();
    const place = further.closest("details");
    const html = await fetchFragment(further.dataset.further).catch(() => null);
    if (html && further.isConnected) { // pressed twice it is put in once
      further.closest("p").remove();
      add(place, html);
    }
  }
  if (copy) {
    const text = copy.dataset.copyText ?? await (await fetch(copy.dataset.copyFrom)).text();
    await navigator.clipboard.writeText(text);
    document.querySelector("p[role=status]").textContent = copy.textContent;
  }
});

const KEYS = {
  ArrowDown: (here, all) => all[all.indexOf(here) + 1]?.focus(),
  ArrowUp: (here, all) => all[all.indexOf(here) - 1]?.focus(),
  ArrowRight: (here) => { here.parentElement.open = true; },
  ArrowLeft: (here) => {
    if (here.parentElement.open) here.parentElement.open = false;
    else here.parentElement.parentElement.closest("details")?.querySelector("summary").focus();
  },
};

tree?.addEventListener("keydown", (event) => {
  const act = event.target.matches("summary") ? KEYS[event.key] : null;
  if (!act) return;
  event.preventDefault();
  act(event.target, [...tree.querySelectorAll("summary")].filter((each) => each.offsetParent));
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  if (event.key === "/") {
    event.preventDefault();
    document.querySelector("#find").select();
  }
  if (event.key === "n") document.querySelector(".find a")?.click();
});
