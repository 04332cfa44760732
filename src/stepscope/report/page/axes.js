import { dayUnit, number } from "./numbers.js";
// Axes that all charts share: one width on the left, so that lanes lie exactly above one another.
export const LEFT = 64; // pixels
export const RIGHT = 18;
const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];
/** @type {[number, string][]} */
const UNITS = [[86400, ""], [3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"], [1e-6, "µs"]];
// Steps of an axis of durations: round in the unit that people read.
const SHORT = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1].flatMap((size) => [1, 2, 5].map((k) => k * size));

export function axisStyle(color, words) {
  const axis = { stroke: color("dim"), font: "11px system-ui, sans-serif", grid: { stroke: color("line"), width: 1 }, ticks: { show: false }, gap: 6 };
  const count = { ...axis, size: 26, grid: { show: false }, values: (u, values) => values.map((v) => (Number.isInteger(v) && v >= 0 ? number(v) : "")) };
  const named = { ...count, label: words ? words.iteration : "", labelSize: 16, labelFont: axis.font, labelGap: 0 };
  const none = { ...count, show: false };
  const time = { ...axis, size: 26, incrs: TIMES, space: 70, values: (u, values) => durationTicks(values) };
  return { axis: { ...axis, size: LEFT }, count, named, none, time };
}

// Durations of an axis all in one unit, with as many digits as tell them apart.
export function durationTicks(values) {
  const most = Math.max(...values.map(Math.abs));
  const step = values.length > 1 ? values[1] - values[0] : most;
  // Half minutes are seconds.
  const isIt = (/** @type {[number, string]} */ [least]) => most >= least * 0.9999 && (least <= 1 || Math.abs(step / least - Math.round(step / least)) < 0.01);
  const [size, unit] = UNITS.find(isIt) || UNITS[UNITS.length - 1];
  return withDigits(values, size).map((text) => text && text + "\u00a0" + (unit || dayUnit()));
}

export const durationSteps = [...SHORT, ...TIMES];

// Rates and other plain numbers: 150 k, 2.5 M.
export function plainTicks(values) {
  const most = Math.max(...values.map(Math.abs));
  const [size, sign] = /** @type {[number, string][]} */ ([[1e9, "\u00a0G"], [1e6, "\u00a0M"],  [1e4, "\u00a0k"]]).find(([least]) => most >= least) || [1, ""];
  const scale = sign === "\u00a0k" ? 1000 : size;
  return withDigits(values, scale).map((text) => text && text + sign);
}

function withDigits(values, size) {
  const step = values.length > 1 ? Math.abs(values[1] - values[0]) / size : Math.abs(values[0]) / size || 1;
  const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step) - 1e-9 + (rest(step) ? 1 : 0))));
  return values.map((value) => number(value / size, digits));
}

// Whether a step such as 2.5 or 0.25 needs one digit more than its size says.
function rest(step) {
  const first = step / 10 ** Math.floor(Math.log10(step) + 1e-9);
  return Math.abs(first - Math.round(first)) > 0.01;
}
