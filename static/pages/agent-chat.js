// "Try it" in place: what is said is posted, and the answer grows below it, token by token. The
// next message stays in the same session. Without this script the form leads to the turn's page. In the editor of an
// agent the message is a field of the agent's own form, and its button sends the draft along.

import "../uikit/enter-sends.js";
import { nodes } from "../uikit/fragments.js";
import { post } from "../uikit/post.js";
import { subscribe } from "../uikit/socket.js";
import { Steps, endAt } from "./steps.js";
import { root } from "../uikit/root.js";

const place = document.querySelector("[data-try]");
const button = place.querySelector("[data-try-send]");
const form = button.form;
const text = form.elements.text;
const session = form.elements.session;
const thread = place.querySelector("[data-steps]");
const links = place.querySelector("[data-try-place]");
const error = place.querySelector("[data-try-error]");
const answer = place.querySelector("[data-answer-form]");
const cancel = place.querySelector("[data-try-cancel]");
const said = document.querySelector("p[role=status]");
let stop = () => {};

form.addEventListener("submit", async (event) => {
  if (event.submitter && event.submitter !== button) return;
  event.preventDefault();
  if (button.disabled) return;
  const body = new FormData(form, button);
  waiting(true);
  const sent = await send(form.getAttribute("action"), body);
  if (!sent) return waiting(false);
  show(text.value);
  text.value = "";
  session.value = sent.session_id;
  follow(sent);
});

answer.addEventListener("submit", async (event) => {
  event.preventDefault();
  await send(answer.action, new FormData(answer));
});

cancel.addEventListener("click", () => send(cancel.value, new FormData(answer)));

place.querySelector("[data-new-session]").addEventListener("click", () => {
  stop();
  session.value = "";
  thread.replaceChildren();
  thread.hidden = links.hidden = true;
  waiting(false);
});

async function send(action, body) {
  error.hidden = true;
  return post(action, body, form.elements.csrfmiddlewaretoken.value).catch(({ message }) => fail(message));
}

function fail(words) {
  error.textContent = words;
  error.hidden = false;
}

function show(words) {
  for (const old of thread.querySelectorAll(".answer")) old.remove(); // its turn is closed now
  const asked = place.querySelector("template[data-asked]").content.cloneNode(true);
  asked.querySelector(".said").textContent = words;
  thread.append(asked, document.createElement("div"));
  thread.hidden = links.hidden = false;
}

function follow({ turn_id: turn, session_id: id }) {
  stop();
  links.querySelector("[data-turn-link]").href = `${root}/turns/${turn}/`;
  links.querySelector("[data-session-link]").href = `${root}/sessions/${id}/`;
  answer.action = `${root}/turns/${turn}/answer/`;
  cancel.value = `${root}/turns/${turn}/cancel/`;
  cancel.hidden = false;
  const list = thread.lastElementChild;
  list.className = "reader";
  const steps = new Steps(list, endAt(text.closest(".say")));
  stop = subscribe({ topic: `turn:${turn}`, as: "html" }, {
    events(events) {
      steps.take(events);
      for (const event of events) if (event.type.startsWith("turn.")) outcome(event.type, event.html);
    },
    end() { waiting(false); },
    error(words) { fail(words); waiting(false); },
  });
}

// A waiting turn takes a new message too: it then closes without its answer.
function outcome(type, html) {
  const facts = nodes(html).firstElementChild;
  said.textContent = facts.querySelector(".status")?.textContent ?? "";
  const failure = facts.querySelector(".turn-error span");
  if (failure && !thread.lastElementChild.querySelector(".step-error")) fail(failure.textContent);
  if (type === "turn.ended") waiting(false);
  if (type === "turn.awaiting_input") {
    waiting(false);
    thread.querySelector(".answer textarea")?.focus({ preventScroll: true });
  }
}

function waiting(on) {
  button.disabled = on;
  if (!on) cancel.hidden = true;
  place.dataset.state = on ? "waiting" : "idle";
  if (!on) text.focus({ preventScroll: true });
}
