// Finding an operation: hides those whose words, method or path do not hold what is typed.

const box = document.querySelector("[data-docs-find]");
const input = box?.querySelector("input");

function holds(element, wanted) {
  return wanted.every((word) => element.dataset.words.includes(word));
}

function show() {
  const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const each of document.querySelectorAll("[data-operation]")) {
    each.hidden = !holds(each, wanted);
    const link = document.querySelector(`[data-docs-side] a[href="#${each.id}"]`);
    if (link) link.parentElement.hidden = each.hidden;
  }
  for (const list of document.querySelectorAll("[data-docs-side] ul")) {
    list.hidden = list.previousElementSibling.hidden = !list.querySelector("li:not([hidden])");
  }
  for (const group of document.querySelectorAll(".docs-group:has([data-operation])")) {
    group.hidden = !group.querySelector("[data-operation]:not([hidden])");
  }
}

if (box) {
  for (const each of document.querySelectorAll("[data-operation]")) {
    each.dataset.words = `${each.querySelector("h3").textContent} ${each.querySelector(".route").textContent}`.toLowerCase();
  }
  box.hidden = false;
  input.addEventListener("input", show);
}
