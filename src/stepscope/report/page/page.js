import { number, duration, span, clock, writeAs } from "./numbers.js";
import { around, byId } from "./dom.js";
import { timeline } from "./timeline.js";
import { ahead } from "./ahead.js";
import { whatIf, sliders } from "./whatif.js";
import { tabs as makeTabs } from "./tabs.js";
import { search, sortable } from "./tables.js";
import { ranks } from "./ranks.js";
import { menu } from "./menu.js";
// Draws everything there is data for, and again when the window, the colours or the data change.
let drawn = [];
let line = null;
let tabs = null;
let isPrinting = false;

function draw() {
  const holder = byId("data");
  drawn.forEach((chart) => chart.destroy());
  drawn = [];
  line = tabs = null;
  if (!holder) return;
  /** @type {PageData} */
  const data = JSON.parse(holder.textContent);
  const style = getComputedStyle(document.documentElement);
  const colors = new Map();
  const color = (name) => {
    if (!colors.has(name)) colors.set(name, style.getPropertyValue("--" + name).trim());
    return colors.get(name);
  };
  writeAs(data.words);
  line = timeline(data, color);
  if (line) drawn.push(...line.charts, ...line.others);
  // What is in a panel has no width until the panel is shown.
  let changed = null;
  let fan = null;
  const waiting = {
    forecast: () => ahead(byId("ahead"), data.ahead, color, null),
    whatif: () => (fan = ahead(byId("ahead-changed"), data.ahead && data.ahead.forecast ? data.ahead : null, color, () => changed)),
    ranks: () => ranks(byId("ranks"), data.ranks, color),
  };
  const bring = (name) => {
    const made = waiting[name] && waiting[name]();
    delete waiting[name];
    if (made) drawn.push(made);
  };
  tabs = makeTabs(bring);
  if (isPrinting || !tabs) Object.keys(waiting).forEach(bring);
  sliders(data, (forecast) => {
    changed = forecast;
    if (fan) fan.setData(fan.data);
  });
  sortable();
  search();
  menu(() => (line ? "#view-" + line.view().map((value) => Math.max(0, Math.round(value))).join("-") : ""));
}

// What the address asks for: #at-500 (a step), #view-100-900 (a stretch), #line-46 (a line of the log).
function follow() {
  const [, kind, ...numbers] = /^#(at|view|line)-(-?\d+)(?:-(\d+))?$/.exec(location.hash) || [];
  const [first, last] = numbers.map(Number);
  if (kind === "at" && line) {
    line.go(first);
    byId("strip").scrollIntoView({ block: "nearest" });
  } else if (kind === "view" && line && last > first) {
    line.show(first, last);
    byId("strip").scrollIntoView({ block: "nearest" });
  }
  else if (kind === "line") {
    const node = byId("line-" + first);
    if (!node || !tabs) return;
    const find = byId("log-find");
    if (node.hidden && find) {
      find.value = "";
      find.dispatchEvent(new Event("input"));
    }
    tabs.openFor(node);
    node.scrollIntoView({ block: "center" });
  }
}
window.addEventListener("hashchange", follow);
// A link to where the address is already changes nothing, and is meant all the same.
document.addEventListener("click", (event) => {
  const link = around(event, 'a[href^="#"]');
  if (link && link.getAttribute("href") === location.hash) follow();
});

// What the reader has set: zoom, panel, sliders, where the keyboard is. An update in place must not take it away.
function keep() {
  const fields = Array.from(document.querySelectorAll('#sliders input[type="number"]'), (field) => [field.id, field.value, field.defaultValue]);
  const [min, max] = line ? line.view() : [0, 0];
  const isZoomed = line && (min > line.full[0] || max < line.full[1]);
  const found = byId("log-find");
  return { fields, tab: tabs && tabs.current(), find: found ? found.value : "", focus: document.activeElement?.id, range: isZoomed ? [min, max] : null };
}

function restore(state) {
  for (const [id, value, before] of state.fields) {
    const field = byId(id);
    if (!field || value === before) continue;
    field.value = value;
    field.dispatchEvent(new Event("input"));
  }
  if (state.tab && tabs) tabs.open(state.tab);
  const find = byId("log-find");
  if (find && state.find) {
    find.value = state.find;
    find.dispatchEvent(new Event("input"));
  }
  if (state.range && line) line.show(...state.range);
  const node = state.focus && byId(state.focus);
  if (node) node.focus({ preventScroll: true });
}

let pause = 0;
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return; // a phone's address bar comes and goes
  width = window.innerWidth;
  clearTimeout(pause);
  pause = setTimeout(() => redraw(), 150);
});
function redraw() {
  const state = keep();
  draw();
  restore(state);
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
// In print all panels are shown, and drawn.
function print(isIt) {
  isPrinting = isIt;
  document.documentElement.classList.toggle("printing", isIt);
  redraw();
}
window.addEventListener("beforeprint", () => print(true));
window.addEventListener("afterprint", () => print(false));
// What the app and the tests ask of the page.
window.stepscope = { draw, keep, restore, number, duration, span, clock, whatIf, view: () => line.view() };
draw();
follow();
