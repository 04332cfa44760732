import { number } from "./numbers.js";
import { axisStyle, plainTicks } from "./axes.js";
import { byId } from "./dom.js";
import { fill } from "./numbers.js";
// The lanes below the stops: loss, throughput, GPU. Each gives what the tooltip says of a place, too.

const quiet = { points: { show: false }, spanGaps: true };

/** @param {PageData} data @param {Color} color @returns {{chart: any, told: (step: number) => any[]}[]} */
export function seriesLanes(data, color, shared) {
  return [lossLane(data, color, shared), rateLane(data, color, shared), ...gpuLanes(data, color, shared)].filter(Boolean);
}

/** @param {PageData} data @param {Color} color */
function lossLane(data, color, shared) {
  const node = byId("loss");
  const found = data.loss;
  if (!node || !found) return null;
  const { axis, named, none } = axisStyle(color, data.words);
  const evaluated = found.validation.filter((value) => value != null).length;
  const series = [{}, { ...quiet, stroke: color("accent"), width: 1.5 }];
  const columns = [found.step, found.train];
  if (evaluated) {
    series.push({ ...quiet, stroke: color("warmup"), width: 2, points: { show: evaluated < 60, size: 6, fill: color("panel") } });
    columns.push(found.validation);
  }
  const chart = shared.chart(node, 170, {
    axes: [byId("throughput") || byId("card-load") ? none : named, { ...axis, values: (u, values) => plainTicks(values) }],
    series,
    hooks: { draw: [(u) => best(u, found.best, data, color)] },
  }, columns);
  return { chart, told: (step) => [
    ["line-accent", data.words.loss, shared.near(found.step, found.train, step, 4)],
    ["line-warmup", data.words.validation, evaluated ? shared.near(found.step, found.validation, step, 4) : null],
  ] };
}

// The best validation loss: a ring, and what it is.
function best(u, found, data, color) {
  if (!found) return;
  const x = u.valToPos(found[0], "x", true);
  const y = u.valToPos(found[1], "y", true);
  const { left, top, width, height } = u.bbox;
  if (x < left || x > left + width || y < top || y > top + height) return;
  const ratio = devicePixelRatio;
  const context = u.ctx;
  context.save();
  context.strokeStyle = context.fillStyle = color("ink");
  context.lineWidth = 2 * ratio;
  context.beginPath();
  context.arc(x, y, 5 * ratio, 0, 7);
  context.stroke();
  context.font = "600 " + 12 * ratio + "px system-ui, sans-serif";
  const text = fill(data.words.best, { loss: number(found[1], 4), step: number(found[0]) });
  const isRight = x + context.measureText(text).width + 14 * ratio > left + width;
  context.textAlign = isRight ? "right" : "left";
  // Of a falling curve what is to the left of the best is above it: there the words go to the top, which is free.
  const isFar = isRight && y > top + 48 * ratio;
  const isHigh = y < top + 22 * ratio;
  context.lineWidth = 4 * ratio;
  context.strokeStyle = color("panel");
  context.lineJoin = "round";
  const at = isFar ? [Math.min(x + 24 * ratio, left + width), top + 14 * ratio] : [x + (isRight ? -9 : 9) * ratio, y + (isHigh ? 18 : -10) * ratio];
  if (isFar) {
    context.save();
    context.strokeStyle = color("edge");
    context.lineWidth = ratio;
    context.beginPath();
    context.moveTo(x, y - 7 * ratio);
    context.lineTo(x, top + 20 * ratio);
    context.stroke();
    context.restore();
  }
  context.strokeText(text, ...at);
  context.fillText(text, ...at);
  context.restore();
}

/** @param {PageData} data @param {Color} color */
function rateLane(data, color, shared) {
  const node = byId("throughput");
  const found = data.throughput;
  if (!node || !found) return null;
  const { axis, named, none } = axisStyle(color, data.words);
  const most = Math.max(...found.rate);
  const digits = most >= 1000 ? 0 : most >= 10 ? 1 : 3;
  const chart = shared.chart(node, 110, {
    scales: { y: { range: (u, low, high) => [0, high * 1.08] } },
    axes: [byId("card-load") && data.cards.step.length ? none : named, { ...axis, values: (u, values) => plainTicks(values) }],
    series: [{}, { ...quiet, stroke: color("step"), fill: color("shade"), width: 1.5 }],
  }, [found.step, found.rate]);
  return { chart, told: (step) => [["line-step", data.words.throughput, shared.near(found.step, found.rate, step, digits)]] };
}

/** @param {PageData} data @param {Color} color */
function gpuLanes(data, color, shared) {
  const found = data.cards;
  if (!found) return [];
  const one = (id, lines) => {
    const node = byId(id);
    const known = node ? lines.filter((line) => found[line.name].some((value) => value != null)) : [];
    if (!known.length) return null;
    const { axis, named, time } = axisStyle(color, data.words);
    // Without clock times in the log nobody knows which step was done when: then the lane has its own axis of time.
    const isPlaced = found.step.length > 0;
    const scales = { "%": { range: () => [0, 104] } };
    const axes = known.map((line, index) => ({ ...axis, scale: line.scale, side: index ? 1 : 3, show: index === 0 || line.scale !== known[0].scale, grid: { ...axis.grid, show: index === 0 }, values: (u, values) => values.map((v) => number(v) + "\u00a0" + line.unit) }));
    const chart = (isPlaced ? shared.chart : shared.alone)(node, 130, {
      scales,
      axes: [isPlaced ? named : time, ...axes],
      series: [{}, ...known.map((line) => ({ ...quiet, scale: line.scale, stroke: color(line.color), width: 1.5 }))],
    }, [isPlaced ? found.step : found.seconds, ...known.map((line) => found[line.name])]);
    const told = (step) => (isPlaced ? known.map((line) => ["line-" + line.color, data.words[line.name], shared.near(found.step, found[line.name], step, 0, " " + line.unit)]) : []);
    return { chart, told };
  };
  return [
    one("card-load", [{ name: "load", scale: "%", unit: "%", color: "step" }, { name: "memory", scale: "%", unit: "%", color: "evaluation" }]),
    one("card-power", [{ name: "power", scale: "W", unit: "W", color: "warmup" }, { name: "temperature", scale: "C", unit: "°C", color: "stall" }]),
  ];
}
