// A turn's page by keyboard: links say their key (data-key="r 1"); j and k go along the steps, o and x
// open and close what is folded. Never while something is being typed.

const help = document.querySelector("[data-help]");
const opener = document.querySelector("[data-help-open]");
const steps = () => [...document.querySelectorAll("[data-steps] .step")].filter((step) => step.checkVisibility());

if (opener) opener.hidden = false;

// Only the newest browsers open a dialog by the button's own attributes.
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[commandfor=help]");
  if (!button || "command" in button) return;
  if (button.getAttribute("command") === "close") help.close();
  else help.showModal();
});

function here() {
  const all = steps();
  const focused = all.findIndex((step) => step.contains(document.activeElement));
  if (focused >= 0) return focused;
  const target = all.findIndex((step) => step.matches(":target"));
  return target >= 0 ? target : all.findIndex((step) => step.getBoundingClientRect().bottom > 0) - 1;
}

function move(by) {
  const all = steps();
  const step = all[Math.min(Math.max(here() + by, 0), all.length - 1)];
  if (!step) return;
  step.tabIndex = -1;
  step.focus({ preventScroll: true });
  step.scrollIntoView({ block: "start" });
}

function fold(root) {
  const all = [...root.querySelectorAll("details:not(.menu)")];
  const open = all.every((each) => each.open);
  for (const each of all) each.open = !open;
}

function search() {
  const field = document.querySelector("#find");
  field.focus();
  field.select();
}

const KEYS = {
  "/": search,
  "?": () => help.showModal(),
  j: () => move(1),
  k: () => move(-1),
  o: () => fold(steps()[Math.max(here(), 0)] ?? document),
  x: () => fold(document.querySelector(".turn-main")),
};

const linkOf = (key) => [...document.querySelectorAll("[data-key]")].find((each) => each.dataset.key.split(" ").includes(key));

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  const link = document.querySelector(`.find [data-key="${CSS.escape(event.key)}"]`) ?? linkOf(event.key) ?? linkOf(event.key.toLowerCase());
  const act = link ? () => link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true })) : KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
