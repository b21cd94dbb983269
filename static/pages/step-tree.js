// The steps of a turn as a tree with the chosen one beside it. Without scripts each row is a link to the page with its
// step chosen; with them the row is chosen in place, the tree is one stop for the keyboard, folds, and is filtered.

import { fetchFragment, nodes } from "../uikit/fragments.js";
import { put } from "../uikit/parts.js";
import { root } from "../uikit/root.js";

const main = document.querySelector(".turn[data-view=timeline] .turn-main");
const turn = document.querySelector("[data-turn]")?.dataset.turn;
const folded = new Set(); // ids of rows
let asked = 0;

const rows = () => [...main.querySelectorAll("[role=treeitem]")];
const shown = () => rows().filter((row) => !("out" in row.parentElement.dataset));
const level = (row) => Number(row.ariaLevel);
const words = () => (main.querySelector("#tree-find")?.value ?? "").trim().toLowerCase().split(/\s+/).filter(Boolean);

if (main) begin();

function begin() {
  main.dataset.treeReady = "";
  main.addEventListener("keydown", press);
  main.addEventListener("input", (event) => { if (event.target.id === "tree-find") apply(); });
  main.addEventListener("focusin", (event) => { if (event.target.matches("[role=treeitem]")) stopAt(event.target); });
  document.addEventListener("click", click);
  addEventListener("hashchange", followHash);
  // rows that came while the turn runs, or with another part of its time
  new MutationObserver(apply).observe(main, { childList: true, subtree: true });
  apply();
  followHash();
}

// ------------------------------------------------------------------------------ what is shown

/** Each row with the rows it lies in, the nearest last. */
function* withAbove() {
  const above = [];
  for (const row of rows()) {
    while (above.length && level(above.at(-1)) >= level(row)) above.pop();
    yield [row, [...above]];
    above.push(row);
  }
}

function apply() {
  const wanted = words();
  const kept = new Set();
  if (wanted.length) {
    for (const [row, above] of withAbove()) {
      const name = row.querySelector(".bar-label").textContent.toLowerCase();
      if (wanted.every((word) => name.includes(word))) for (const each of [row, ...above]) kept.add(each);
    }
  }
  for (const [row, above] of withAbove()) {
    const isOut = wanted.length ? !kept.has(row) : above.some((each) => folded.has(each.id));
    row.parentElement.toggleAttribute("data-out", isOut);
    if ("holds" in row.dataset) row.ariaExpanded = String(wanted.length > 0 || !folded.has(row.id));
  }
  main.toggleAttribute("data-tree-none", wanted.length > 0 && kept.size === 0);
  const visible = shown();
  stopAt(visible.find((row) => row === document.activeElement) ?? visible.find((row) => row.tabIndex === 0 && row.hasAttribute("tabindex"))
    ?? visible.find((row) => row.ariaCurrent === "true") ?? visible[0]);
}

/** The one row where Tab stops. */
function stopAt(row) {
  for (const each of rows()) each.tabIndex = each === row ? 0 : -1;
}

function fold(row, isFolded) {
  if (isFolded) folded.add(row.id);
  else folded.delete(row.id);
  apply();
}

const isFolded = (row) => "holds" in row.dataset && row.ariaExpanded === "false";

// -------------------------------------------------------------------------------- the keyboard

function press(event) {
  const row = event.target.closest("[role=treeitem]");
  const act = row && !event.ctrlKey && !event.metaKey && !event.altKey && KEYS[event.key];
  if (event.target.id === "tree-find" && event.key === "Escape" && event.target.value) {
    event.target.value = "";
    apply();
  } else if (event.target.id === "tree-find" && event.key === "ArrowDown") {
    shown()[0]?.focus();
  } else if (act) {
    act(row);
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation(); // the same keys move along the time elsewhere
}

function step(row, by) {
  const visible = shown();
  visible[Math.min(Math.max(visible.indexOf(row) + by, 0), visible.length - 1)]?.focus();
}

const holder = (row) => [...withAbove()].find(([each]) => each === row)[1].at(-1);

const KEYS = {
  ArrowDown: (row) => step(row, 1),
  ArrowUp: (row) => step(row, -1),
  Home: () => shown()[0].focus(),
  End: () => shown().at(-1).focus(),
  ArrowRight: (row) => { if (isFolded(row)) fold(row, false); else if ("holds" in row.dataset) step(row, 1); },
  ArrowLeft: (row) => { if ("holds" in row.dataset && !isFolded(row) && !words().length) fold(row, true); else holder(row)?.focus(); },
  Enter: (row) => row.click(),
  " ": (row) => row.click(),
};

// ------------------------------------------------------------------------------------ choosing

function click(event) {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const button = event.target.closest("[data-fold], [data-fold-all], [data-unfold-all]");
  if (button) return foldBy(button);
  const link = event.target.closest(".turn-body a[href^='?']");
  if (!link || !(link.href.includes("step=") || "unchoose" in link.dataset)) return;
  event.preventDefault();
  choose(link.getAttribute("href"));
}

function foldBy(button) {
  const row = button.nextElementSibling;
  if ("fold" in button.dataset) return fold(row, !isFolded(row));
  folded.clear();
  if ("foldAll" in button.dataset) for (const each of rows()) if ("holds" in each.dataset) folded.add(each.id);
  apply();
}

/** Show the step of a link beside the tree; the page's URL says which. */
async function choose(href) {
  const url = new URL(href, location.href);
  const mine = ++asked;
  mark(url.hash);
  const search = new URLSearchParams(url.search);
  search.set("only", "step");
  const html = await fetchFragment(`${root}/turns/${turn}/parts/?${search}`).catch(() => null);
  if (mine !== asked) return; // another was chosen since
  const fresh = html && nodes(html).querySelector("[data-part=chosen]");
  if (!fresh) return location.assign(url);
  put(fresh);
  history.replaceState(null, "", url);
  document.querySelector(".side-inner").scrollTop = 0;
  for (const view of document.querySelectorAll(".views a")) keepStep(view, url);
}

function mark(hash) {
  const row = hash && document.getElementById(hash.slice(1));
  for (const each of rows()) {
    if (each === row) each.ariaCurrent = "true";
    else each.removeAttribute("aria-current");
  }
  if (!row) return;
  for (const [each, above] of withAbove()) if (each === row) for (const one of above) folded.delete(one.id);
  apply();
  if (document.activeElement?.closest("[role=treeitem]")) stopAt(row);
  row.scrollIntoView({ block: "nearest" });
}

// The other views open at the same step.
function keepStep(view, { search, hash }) {
  const url = new URL(view.href);
  const number = new URLSearchParams(search).get("step");
  if (number) url.searchParams.set("step", number);
  else url.searchParams.delete("step");
  url.hash = url.searchParams.get("view") === "raw" ? "" : hash;
  view.setAttribute("href", url.search + url.hash);
}

// A link that names a step only by its fragment chooses it as well.
function followHash() {
  const number = /^#step-(\d+)$/.exec(location.hash)?.[1];
  const search = new URLSearchParams(location.search);
  if (number === undefined || search.get("step") === number) return;
  search.set("view", "timeline");
  search.set("step", number);
  const href = `?${search}${location.hash}`;
  if (main.querySelector(`#step-${number}`)) choose(href);
  else location.replace(href.replace(/([?&])from=\d+&?/, "$1"));
}
