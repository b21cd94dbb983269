// Thumbs, tags and comments: said without leaving the page, and seen when others say something. Where an
// agent is tried there are only the thumbs of steps.

import { nodes } from "../uikit/fragments.js";
import { put, refresher } from "../uikit/parts.js";
import { post } from "../uikit/post.js";
import { subscribe } from "../uikit/socket.js";
import { root } from "../uikit/root.js";

const form = document.querySelector("[data-judge]");
const section = document.querySelector("[data-judged]");
const problem = document.querySelector("[data-judge-error]");
const url = form?.getAttribute("action");

async function say(button) {
  const data = new FormData(form);
  data.append(button.name, button.value);
  const told = await post(button.getAttribute("formaction") ?? url, data, data.get("csrfmiddlewaretoken"));
  if (button.name === "act" && !button.closest(".step")) clear(button.value);
  for (const part of nodes(told.parts.join("")).querySelectorAll("[data-part]")) put(part);
}

// What was sent is no longer being written.
function clear(act) {
  const kind = ["tag", "enter"].includes(act) ? "tag" : "comment";
  for (const field of section.querySelectorAll(`[name^="${kind}:"]`)) field.value = "";
}

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  problem.hidden = true;
  try {
    await say(event.submitter ?? form.querySelector("button"));
  } catch (error) {
    problem.textContent = error.message;
    problem.hidden = false;
  }
});

if (section) {
  const path = url.slice(root.length);
  const [level, name] = path.startsWith("/sessions/") ? ["sessions", "session"] : ["turns", "turn"];
  const id = path.split("/")[2];
  const refresh = refresher(() => `${url}?parts=1`, 1000);
  subscribe({ topic: "logs", level, q: `${name}:${id}`, after: section.dataset.cursor, as: "json" }, { events: refresh, gap: refresh });
}
