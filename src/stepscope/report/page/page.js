import { number, duration, span, clock, writeAs } from "./numbers.js";
import { strip as makeStrip } from "./strip.js";
import { ahead, loss, throughput, cards } from "./curves.js";
import { whatIf, sliders } from "./whatif.js";
// Draws everything there is data for, and again when the window, the colours or the data change.
let charts = [];
let strip = null;

function draw() {
  const holder = document.getElementById("data");
  charts.forEach((chart) => chart.destroy());
  charts = [];
  strip = null;
  if (!holder) return;
  const data = JSON.parse(holder.textContent);
  const style = getComputedStyle(document.documentElement);
  const colors = new Map();
  const color = (name) => {
    if (!colors.has(name)) colors.set(name, style.getPropertyValue("--" + name).trim());
    return colors.get(name);
  };
  writeAs(data.words);
  strip = makeStrip(data, color);
  const others = [ahead, loss, throughput].map((one) => one(data, color));
  charts = [strip && strip.chart, ...others, ...cards(data, color)].filter(Boolean);
  sliders(data);
}

// What the reader has set: zoom, sliders, where the keyboard is. An update in place must not take it away.
function keep() {
  const sliders = Array.from(document.querySelectorAll("#sliders input"), (input) => [input.id, input.value, input.defaultValue]);
  const x = strip && strip.chart.scales.x;
  const isZoomed = x && (x.min > strip.full[0] || x.max < strip.full[1]);
  return { sliders, focus: document.activeElement && document.activeElement.id, range: isZoomed ? [x.min, x.max] : null };
}

function restore(state) {
  for (const [id, value, before] of state.sliders) {
    const input = document.getElementById(id);
    if (!input || value === before) continue;
    input.value = value;
    input.dispatchEvent(new Event("input"));
  }
  if (state.range && strip) strip.show(...state.range);
  const node = state.focus && document.getElementById(state.focus);
  if (node) node.focus({ preventScroll: true });
}

let waiting = 0;
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return; // a phone's address bar comes and goes
  width = window.innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(() => redraw(), 150);
});
function redraw() {
  const state = keep();
  draw();
  restore(state);
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
window.addEventListener("beforeprint", redraw);
window.addEventListener("afterprint", redraw);
// What the app and the tests ask of the page.
window.stepscope = { draw, keep, restore, number, duration, span, clock, whatIf, view: () => [strip.chart.scales.x.min, strip.chart.scales.x.max] };
draw();
