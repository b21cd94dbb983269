// The theme switch: system, light, dark, high contrast. The choice is a cookie, so that the server writes it into
// <html data-theme> and no page flashes. Without this script the system's choice holds.

const root = document.documentElement;
const button = document.querySelector("[data-theme-switch]");
const ORDER = ["", "light", "dark", "contrast"];

function show() {
  const chosen = root.dataset.theme ?? "";
  for (const each of button.querySelectorAll("[data-for-theme]")) each.hidden = each.dataset.forTheme !== chosen;
}

function choose(theme) {
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  document.cookie = `theme=${theme}; path=${document.documentElement.dataset.root ?? ""}/; max-age=${theme ? 31_536_000 : 0}; samesite=lax`;
  show();
}

if (button) {
  button.hidden = false;
  show();
  button.addEventListener("click", () => {
    choose(ORDER[(ORDER.indexOf(root.dataset.theme ?? "") + 1) % ORDER.length]);
  });
}
