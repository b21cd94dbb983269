// Which columns a list shows: chosen at once, and kept in a cookie for this browser.

const YEAR_S = 31_536_000;
const form = document.querySelector("[data-columns]");
const table = document.querySelector("[data-log]");
const boxes = [...form.querySelectorAll("input[name=col]")];

for (const each of document.querySelectorAll("[data-without-script]")) each.hidden = true;
form.addEventListener("change", () => {
  table.dataset.hidden = boxes.flatMap((box, index) => (box.checked ? [] : [index + 1])).join(" ");
  const shown = boxes.filter((box) => box.checked).map((box) => box.value);
  document.cookie = `columns-${form.dataset.columns}=${shown.join(".")}; path=${document.documentElement.dataset.root ?? ""}/; max-age=${YEAR_S}; samesite=lax`;
});
