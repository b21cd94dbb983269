// Parts of a page that are rendered again while things happen: <… data-part="name">. One request
// at a time, and not more often than every so many milliseconds.

import { fetchFragment, nodes } from "./fragments.js";
import { reconcile } from "./reconcile.js";

/** Returns a function that asks ``url`` (or what it gives) for the page's parts soon, and puts them in place.
    With ``patience`` it waits at least so many times as long as the last answer took; ``then`` is called
    when they are in place. */
export function refresher(url, every = 500, patience = 0, then = null) {
  let timer = 0;
  let busy = false;
  let again = false;
  let took = 0;

  async function refresh() {
    timer = 0;
    busy = true;
    const begun = performance.now();
    const html = await fetchFragment(typeof url === "function" ? url() : url).catch(() => null);
    busy = false;
    took = performance.now() - begun;
    if (html) for (const part of nodes(html).querySelectorAll("[data-part]")) put(part);
    if (html) then?.();
    if (again) soon();
  }

  function soon() {
    again = busy;
    if (!busy && !timer) timer = setTimeout(refresh, Math.max(every, took * patience));
  }
  return soon;
}

/** Put a part in the place of the one of its name. What did not change is left alone. */
export function put(fresh) {
  const old = document.querySelector(`[data-part="${CSS.escape(fresh.dataset.part)}"]`);
  if (!old || old.isEqualNode(fresh)) return;
  if ("kept" in fresh.dataset) return reconcile(old, fresh);
  if (old.querySelector(":scope > [data-id]") || fresh.querySelector(":scope > [data-id]")) merge(old, fresh);
  else if (old.id && old.id === fresh.id) renew(old, fresh);
  else old.replaceWith(fresh);
}

// A part with an id stays the element it is, which a URL may point at; what was unfolded in it stays so,
// what was written in its fields, and the focus on the link it was on. While something is being written
// it waits for the next time.
function renew(old, fresh) {
  if (old.contains(document.activeElement?.closest("input, select, textarea"))) return;
  const written = new Map([...old.querySelectorAll("input:not([type=hidden])")].map((each) => [each.name, each.value]));
  for (const field of fresh.querySelectorAll("input:not([type=hidden])")) field.value = written.get(field.name) ?? field.value;
  const unfolded = new Set([...old.querySelectorAll("details[open] > summary")].map((each) => each.textContent));
  for (const summary of fresh.querySelectorAll("details > summary")) {
    if (unfolded.has(summary.textContent)) summary.parentElement.open = true;
  }
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of [...fresh.attributes]) old.setAttribute(name, value);
  old.replaceChildren(...fresh.childNodes);
  if (focused && focused !== old) same(old, focused)?.focus({ preventScroll: true });
}

function same(part, focused) {
  return [...part.querySelectorAll(focused.localName)].find((each) => each.className === focused.className
    && each.getAttribute("href") === focused.getAttribute("href") && (each.href || each.textContent === focused.textContent));
}

// A list whose children have ids: only those that changed or came are touched.
function merge(old, fresh) {
  for (const child of [...fresh.children]) {
    const same = old.querySelector(`:scope > [data-id="${CSS.escape(child.dataset.id)}"]`);
    if (!same) old.append(child);
    else if (!same.isEqualNode(child)) same.replaceWith(child);
  }
}
