// Turns HTML that our own server rendered into nodes. The only door to the HTML parser on the
// pages: its Trusted Types policy is one of the two that the Content-Security-Policy names.
// Must not be given anything but a fragment from our server; text goes through textContent.

import { localise } from "./time.js";

const policy = window.trustedTypes?.createPolicy("fragments", { createHTML: (html) => html })
  ?? { createHTML: (html) => html };

/** The nodes of a server-rendered fragment, times already in the reader's zone. */
export function nodes(html) {
  const template = document.createElement("template");
  template.innerHTML = policy.createHTML(html);
  localise(template.content);
  return template.content;
}

/** The one element of a fragment, or null. */
export function element(html) {
  return nodes(html).firstElementChild;
}

/** Fetch a fragment by its URL. Resolves to its text, or null when the answer was not a success. */
export async function fetchFragment(url, options = {}) {
  const answer = await fetch(url, { headers: { Accept: "text/html" }, ...options });
  return answer.ok ? answer.text() : null;
}
