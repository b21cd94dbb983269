// The panel beside the list: a row opens its turn here, and the list stays where it is. Enter or a click
// opens it, j and k go on to the next row's, o opens the page itself, Tab goes into it, Escape closes. On a narrow screen
// and with a modifier key a row leads to its page.

import { fetchFragment, nodes } from "../uikit/fragments.js";
import { morph } from "../uikit/morph.js";
import { isTyping } from "./query-bar.js";

const WIDE = matchMedia("(min-width: 1100px)");
const SOON_MS = 400;
const panel = document.querySelector("[data-peek-panel]");
const body = panel.querySelector("[data-peek-body]");
const list = document.querySelector("[data-rows]");
let url = "";
let wanted = "";
let timer = 0;

const rowLink = (element) => element.closest?.("tr")?.querySelector("a[data-peek]");
const isOpen = () => !panel.hidden;

async function show(link) {
  wanted = link.dataset.peek;
  const asked = wanted;
  const [path, place] = asked.split("#");
  const html = await fetchFragment(path).catch(() => null);
  if (asked !== wanted) return;
  if (html === null) return void location.assign(link.href);
  mark(link);
  if (asked === url) return morph(body, nodes(html), { children: true }); // its reader is in the middle of it
  url = asked;
  body.replaceChildren(nodes(html));
  panel.hidden = false;
  document.body.dataset.peeking = "";
  panel.scrollTop = 0;
  const step = place && body.querySelector(`#${CSS.escape(place)}`);
  step?.setAttribute("aria-current", "true");
  bringIntoView(step || body, Boolean(step));
}

// A step that was chosen goes to the top; the first word that was searched for is seen.
function bringIntoView(part, isStep) {
  const bounds = panel.getBoundingClientRect();
  if (isStep) panel.scrollTop += part.getBoundingClientRect().top - bounds.top;
  const hit = part.querySelector("mark")?.getBoundingClientRect();
  if (hit && (hit.top < bounds.top || hit.bottom > bounds.bottom)) panel.scrollTop += hit.top - bounds.top - bounds.height / 4;
}

function mark(link) {
  for (const row of list.querySelectorAll("[aria-selected]")) row.removeAttribute("aria-selected");
  link.closest("tr").setAttribute("aria-selected", "true");
}

function close() {
  const link = list.querySelector("[aria-selected] a[data-peek]");
  panel.hidden = true;
  wanted = url = "";
  delete document.body.dataset.peeking;
  for (const row of list.querySelectorAll("[aria-selected]")) row.removeAttribute("aria-selected");
  link?.focus({ preventScroll: true });
}

// Tab goes from the row to its panel, which arrows scroll then, and Shift+Tab back to the row.
function changeSides(event) {
  const row = document.activeElement?.closest("[data-rows] tr[aria-selected]");
  const isFirst = document.activeElement === panel || document.activeElement?.matches("[data-peek-close]");
  const goal = event.shiftKey ? isFirst && list.querySelector("[aria-selected] a[data-peek]") : row && panel;
  if (!goal) return;
  event.preventDefault();
  goal.focus({ preventScroll: true });
}

// What is shown changes while it runs: a moment after its row did.
list.addEventListener("rowchange", ({ target: row }) => {
  if (!isOpen() || body.querySelector("[data-peek-of]")?.dataset.peekOf !== row.dataset.id) return;
  clearTimeout(timer);
  timer = setTimeout(() => isOpen() && row.isConnected && show(rowLink(row)), SOON_MS);
});

list.addEventListener("click", (event) => {
  const link = rowLink(event.target);
  const plain = !event.button && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
  if (!link || !plain || !WIDE.matches || event.target.closest("input, label, button")) return;
  event.preventDefault();
  if (isOpen() && link.dataset.peek === url) location.assign(link.href);
  else show(link);
});
list.addEventListener("focusin", (event) => {
  const link = rowLink(event.target);
  if (link && isOpen() && link.dataset.peek !== wanted) show(link);
});
panel.querySelector("[data-peek-close]").addEventListener("click", close);
document.addEventListener("keydown", (event) => {
  if (!isOpen() || isTyping(event)) return;
  if (event.key === "Tab") changeSides(event);
  else if (event.key === "Escape") close();
  else if (event.key === "o") body.querySelector("[data-peek-open]")?.click();
});
