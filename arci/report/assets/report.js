"use strict";
// Convenience alone: the page says everything without it.
const details = () => document.querySelectorAll("details");
for (const command of document.querySelectorAll("pre.command")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command.textContent);
      button.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(command);
      button.textContent = "selected";
    }
  });
  command.before(button);
}
const reveal = hash => {
  const at = hash.length > 1 ? document.getElementById(hash.slice(1)) : null;
  if (at instanceof HTMLDetailsElement) at.open = true;
};
for (const link of document.querySelectorAll("a[href^='#']")) {
  link.addEventListener("click", () => reveal(link.hash));
}
addEventListener("hashchange", () => reveal(location.hash));
reveal(location.hash);
const before = new Map();
addEventListener("beforeprint", () => {
  for (const each of details()) {
    before.set(each, each.open);
    each.open = true;
  }
});
addEventListener("afterprint", () => {
  for (const [each, open] of before) each.open = open;
});
