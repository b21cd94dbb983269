// Rows of turns that run: what the model types stands in their second line, letter by letter, and their button cancels
// them in place. The list itself is told of a step when it begins and when it ends.

import { body } from "./rows.js";
import { post } from "../uikit/post.js";
import { subscribe } from "../uikit/socket.js";

const MOST_TURNS = 8; // followed at once, the topmost: a tab has one socket, and that a bounded number of topics
const MOST_LETTERS = 400;
const followed = new Map(); // id of a turn → what ends its subscription, and what was typed so far
const form = document.querySelector("[data-cancel-turn]");

const runningRows = () => [...body.rows].filter((row) => row.dataset.status === "in_progress");

function followRunning() {
  const rows = runningRows().slice(0, MOST_TURNS);
  const ids = new Set(rows.map((row) => row.dataset.id));
  for (const id of followed.keys()) if (!ids.has(id)) stop(id);
  for (const row of rows) {
    if (!followed.has(row.dataset.id)) follow(row.dataset.id);
    show(row, followed.get(row.dataset.id).text);
  }
}

function follow(id) {
  const turn = { text: "", end() {} };
  followed.set(id, turn);
  turn.end = subscribe({ topic: `turn:${id}` }, {
    events(events) {
      for (const event of events) take(turn, event);
      const row = body.querySelector(`[data-id="${CSS.escape(id)}"]`);
      if (row?.dataset.status === "in_progress") show(row, turn.text);
    },
  });
}

function stop(id) {
  followed.get(id).end();
  followed.delete(id);
}

function take(turn, event) {
  if (event.type !== "delta") turn.text = "";
  else if (event.channel === "text") turn.text = (turn.text + event.text).slice(-MOST_LETTERS);
}

// As text, never as markup. The end is what is new: the line is scrolled to it.
function show(row, text) {
  const line = row.querySelector("[data-typed]");
  if (!line || !text.trim()) return;
  line.textContent = text.replace(/\s+/g, " ");
  line.classList.add("typing");
  line.scrollLeft = line.scrollWidth;
}

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = event.submitter;
  button.disabled = true;
  const token = form.elements.csrfmiddlewaretoken.value;
  await post(button.formAction, new FormData(form), token).catch(({ message }) => {
    document.querySelector("[data-announce]").textContent = message;
    button.disabled = false;
    button.title = message;
  });
});

body.addEventListener("rowchange", followRunning);
new MutationObserver(followRunning).observe(body, { childList: true });
followRunning();
