// Which columns a list shows: chosen at once, and kept in a cookie for this browser.

const YEAR_S = 31_536_000;
const form = document.querySelector("[data-columns]");
const table = document.querySelector("[data-log]");
const shown = () => [...form.querySelectorAll("input[name=col]:checked")].map((box) => box.value);

for (const each of document.querySelectorAll("[data-without-script]")) each.hidden = true;
form.addEventListener("change", ({ target }) => {
  table.classList.toggle(`no-${target.value}`, !target.checked);
  document.cookie = `columns-${form.dataset.columns}=${shown().join(".")}; path=/; max-age=${YEAR_S}; samesite=lax`;
});
