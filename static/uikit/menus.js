// Menus (<details data-menu>) close on a click elsewhere and on Escape, which gives the focus back; one is open at a time.

const opened = () => [...document.querySelectorAll("details[data-menu][open]")];

document.addEventListener("pointerdown", (event) => {
  for (const menu of opened()) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && opened().at(-1);
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
  event.stopPropagation();
}, true);
document.addEventListener("toggle", (event) => {
  if (!event.target.matches("details[data-menu][open]")) return;
  for (const menu of opened()) if (menu !== event.target && !menu.contains(event.target)) menu.open = false;
}, true);
