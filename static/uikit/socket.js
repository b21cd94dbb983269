// One WebSocket per tab, many subscriptions: each remembers its cursor, so that nothing is missed
// or doubled over a reconnect. Knows the protocol of /ws/live and nothing about pages.
//
//   const stop = subscribe({ topic: "logs", level: "turns", q: "status:failed", after: cursor, as: "html" },
//                          { events(list) {}, live() {}, gap() {}, end() {}, error(message) {}, shown() {} });
//
// ``shown`` gives the ids of the turns that a list's page has: it is told which of them are gone.
//
//   onState((state) => …)      "connecting", "live", "reconnecting", "idle"; called at once, then at each change

import { root } from "./root.js";

const FIRST_DELAY = 500;
const LONGEST_DELAY = 30_000;
const TOO_MANY = 4429; // more are open than this reader's share: somebody has to close one first
const STEADY_AFTER = 10_000; // a connection that lived this long starts the delays over

const subscriptions = new Map();
const watchers = new Set();
let socket = null;
let state = "idle";
let nextId = 1;
let failures = 0;
let timer = 0;
let openedAt = 0;

/** Follow a topic; returns the function that ends it. Handlers are optional. */
export function subscribe(request, handlers) {
  const id = nextId++;
  subscriptions.set(id, { request: { after: null, ...request }, handlers });
  if (socket?.readyState === WebSocket.OPEN) ask(id);
  else if (!socket && !timer) connect();
  return () => unsubscribe(id);
}

/** Be told how the connection is. */
export function onState(watcher) {
  watchers.add(watcher);
  watcher(state);
  return () => watchers.delete(watcher);
}

function unsubscribe(id) {
  if (!subscriptions.delete(id)) return;
  send({ op: "unsubscribe", id });
  if (!subscriptions.size) socket?.close();
}

function ask(id) {
  const { request, handlers } = subscriptions.get(id);
  send({ op: "subscribe", id, ...request, shown: handlers.shown?.() });
}

function send(message) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

function connect() {
  timer = 0;
  setState(failures ? "reconnecting" : "connecting");
  const url = new URL(`${root}/ws/live`, location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  socket = new WebSocket(url);
  socket.addEventListener("open", opened);
  socket.addEventListener("message", (event) => receive(JSON.parse(event.data)));
  socket.addEventListener("close", closed);
}

function opened() {
  openedAt = performance.now();
  setState("live");
  for (const id of subscriptions.keys()) ask(id);
}

function closed({ code }) {
  socket = null;
  if (openedAt && performance.now() - openedAt > STEADY_AFTER) failures = 0;
  openedAt = 0;
  if (!subscriptions.size) return setState("idle");
  failures += 1;
  setState("reconnecting");
  const longest = code === TOO_MANY ? LONGEST_DELAY : Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** (failures - 1));
  timer = setTimeout(connect, longest * (0.5 + Math.random() / 2));
}

function receive({ id, op, events, cursor, error }) {
  const entry = subscriptions.get(id);
  if (!entry) return;
  if (cursor != null) entry.request.after = cursor;
  const { handlers } = entry;
  if (events?.length) handlers.events?.(events, op);
  if (op === "live") handlers.live?.();
  if (op === "gap") regain(id, handlers);
  if (op === "error" && error?.retry_after_s) return later(id, error.retry_after_s);
  if (op === "end" || op === "error") subscriptions.delete(id);
  if (op === "end") handlers.end?.();
  if (op === "error") handlers.error?.(error?.message ?? "");
}

// The server's own trouble: it says when to come again. A socket that is opened meanwhile asks by itself.
function later(id, seconds) {
  setTimeout(() => state === "live" && subscriptions.has(id) && ask(id), seconds * 1000);
}

// The server dropped what we could not take in time: ask again from what we have seen.
function regain(id, handlers) {
  handlers.gap?.();
  send({ op: "unsubscribe", id });
  ask(id);
}

function setState(next) {
  state = next;
  for (const watcher of watchers) watcher(next);
}

// A laptop that wakes, a page that comes back: do not wait for the timer.
function hurry() {
  if (!timer) return;
  clearTimeout(timer);
  connect();
}
addEventListener("online", hurry);
document.addEventListener("visibilitychange", () => document.hidden || hurry());
addEventListener("pagehide", () => socket?.close());
addEventListener("pageshow", (event) => event.persisted && hurry());
