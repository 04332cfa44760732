import { around } from "./dom.js";
// The panels: one of them is shown. Without this script all of them are.

/** Makes the strip of tabs work; `shown` is called with the name of the panel that has come to light. */
export function tabs(shown) {
  const list = document.querySelector('[role="tablist"]');
  if (!list) return null;
  const all = Array.from(list.querySelectorAll('[role="tab"]'));
  const panel = (tab) => document.getElementById(tab.getAttribute("aria-controls"));
  const name = (tab) => tab.id.replace("tab-", "");

  function select(tab, focus) {
    for (const one of all) {
      const isIt = one === tab;
      one.setAttribute("aria-selected", String(isIt));
      one.tabIndex = isIt ? 0 : -1;
      panel(one).classList.toggle("hidden-panel", !isIt);
    }
    if (focus) tab.focus();
    shown(name(tab));
  }

  list.onclick = (event) => {
    const tab = around(event, '[role="tab"]');
    if (tab) select(tab, false);
  };
  list.onkeydown = (event) => {
    const at = all.indexOf(document.activeElement);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    select(all[(next + all.length) % all.length], true);
  };
  select(all[0], false);
  return {
    current: () => name(all.find((one) => one.getAttribute("aria-selected") === "true")),
    open(which) {
      const tab = all.find((one) => name(one) === which);
      if (tab) select(tab, false);
    },
    // The panel that holds a part of the page.
    openFor(node) {
      const holder = node.closest("[data-panel]");
      const tab = holder && all.find((one) => panel(one) === holder);
      if (tab) select(tab, false);
    },
  };
}
