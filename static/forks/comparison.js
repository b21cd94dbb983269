// From one difference to the next with a key: n and p.

const hint = document.querySelector("[data-keys]");
const pairs = () => [...document.querySelectorAll(".pair:not([data-kind=same])")];

if (hint) hint.hidden = pairs().length === 0;

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable]")) return;
  const step = { n: 1, p: -1 }[event.key];
  if (!step) return;
  const all = pairs();
  const here = all.indexOf(document.activeElement.closest(".pair"));
  const next = all[here < 0 ? (step > 0 ? 0 : all.length - 1) : here + step];
  if (!next) return;
  event.preventDefault();
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
});
