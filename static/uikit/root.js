// The path before all of ours, where a proxy has one: "" without.

export const root = document.documentElement.dataset.root ?? "";
