import { number, duration, tick } from "./numbers.js";
// The other charts: what is ahead, loss, throughput, the card.
const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];

function axes(color) {
  const axis = { stroke: color("dim"), grid: { stroke: color("line"), width: 1 }, ticks: { show: false } };
  const count = { ...axis, size: 30, values: (u, values) => values.map((v) => (Number.isInteger(v) ? number(v) : "")) };
  const time = { ...axis, size: 30, incrs: TIMES, space: 70, values: (u, values) => values.map(tick) };
  return { axis, count, time };
}

function size(node, height) {
  return { width: Math.max(280, node.clientWidth), height };
}

const shown = (write) => (u, value) => (value == null ? "–" : write(value));

// Steps over time: so far, the forecast as a fan, and earlier forecasts, thin.
export function ahead(data, color) {
  const node = document.getElementById("ahead");
  const found = data.ahead;
  if (!node || !found) return null;
  const { count, time } = axes(color);
  const now = [found.seconds[found.seconds.length - 1], found.step[found.step.length - 1]];
  const top = Math.max(now[1], found.forecast ? found.forecast[0] : 0);
  let last = now[0];
  if (found.forecast) last += found.forecast[3];
  for (const one of found.backtests) last = Math.max(last, one[0] + one[5]);
  // A wedge from where one stood to when the target would be reached, earliest and latest; a tick at the best guess.
  function wedge(u, from, target, [middle, low, high], shade, alpha) {
    const at = (x, y) => [u.valToPos(x, "x", true), u.valToPos(y, "y", true)];
    const [x0, y0] = at(from[0], from[1]);
    const context = u.ctx;
    context.fillStyle = context.strokeStyle = color(shade);
    context.globalAlpha = alpha;
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(...at(from[0] + low, target));
    context.lineTo(...at(from[0] + high, target));
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = devicePixelRatio * (alpha > 0.2 ? 2 : 1);
    context.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(...at(from[0] + middle, target));
    context.stroke();
    context.setLineDash([]);
  }
  return new uPlot(
    {
      ...size(node, 240),
      padding: [10, 26, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false, range: () => [0, last * 1.02] }, y: { range: () => [Math.min(0, found.step[0]), top * 1.03] } },
      axes: [time, { ...count, size: 74 }],
      series: [{}, { stroke: color("step"), width: 2, points: { show: false } }],
      hooks: {
        drawAxes: [
          (u) => {
            for (const one of found.backtests) wedge(u, one, one[2], one.slice(3), "accent", 0.13);
            if (found.forecast) wedge(u, now, found.forecast[0], found.forecast.slice(1), "step", 0.3);
          },
        ],
      },
    },
    [found.seconds, found.step],
    node
  );
}

export function loss(data, color) {
  const node = document.getElementById("loss");
  if (!node || !data.loss) return null;
  const { axis, count } = axes(color);
  const has = data.loss.validation.some((value) => value != null);
  const series = [
    { label: data.words.iteration, value: shown(number) },
    { label: data.words.loss, stroke: color("accent"), width: 1.5, spanGaps: true, points: { show: false }, value: shown((v) => number(v, 4)) },
  ];
  if (has) series.push({ label: data.words.validation, stroke: color("warmup"), width: 2, spanGaps: true, points: { show: data.loss.validation.filter((v) => v != null).length < 60, size: 6, fill: color("paper") }, value: shown((v) => number(v, 4)) });
  const columns = [data.loss.step, data.loss.train];
  if (has) columns.push(data.loss.validation);
  return new uPlot(
    { ...size(node, 220), padding: [10, 26, 0, 0], scales: { x: { time: false } }, axes: [count, { ...axis, size: 74 }], series },
    columns,
    node
  );
}

export function throughput(data, color) {
  const node = document.getElementById("throughput");
  const found = data.throughput;
  if (!node || !found) return null;
  const { axis, count } = axes(color);
  const most = Math.max(...found.rate);
  const digits = most >= 1000 ? 0 : most >= 10 ? 1 : 3;
  return new uPlot(
    {
      ...size(node, 180),
      padding: [10, 26, 0, 0],
      scales: { x: { time: false }, y: { range: (u, low, high) => [0, high * 1.08] } },
      axes: [count, { ...axis, size: 74, values: (u, values) => values.map((v) => number(v, Number.isInteger(v) ? 0 : 2)) }],
      series: [
        { label: data.words.iteration, value: shown(number) },
        { label: data.words.throughput, stroke: color("step"), fill: color("shade"), width: 1.5, points: { show: false }, value: shown((v) => number(v, digits)) },
      ],
    },
    [found.step, found.rate],
    node
  );
}

function card(id, data, color, lines) {
  const node = document.getElementById(id);
  const found = data.cards;
  const known = node && found ? lines.filter((line) => found[line.name].some((value) => value != null)) : [];
  if (!known.length) return null;
  const { axis, time } = axes(color);
  return new uPlot(
    {
      ...size(node, 170),
      padding: [10, 26, 0, 0],
      scales: { x: { time: false }, "%": { range: () => [0, 104] } },
      axes: [time, ...known.map((line, index) => ({ ...axis, scale: line.scale, side: index ? 1 : 3, size: 74, show: index === 0 || line.scale !== known[0].scale, grid: { ...axis.grid, show: index === 0 }, values: (u, values) => values.map((v) => number(v) + " " + line.unit) }))],
      series: [
        { label: data.words.time, value: shown(duration) },
        ...known.map((line) => ({ label: data.words[line.name], scale: line.scale, stroke: color(line.color), width: 1.5, points: { show: false }, value: shown((v) => number(v) + " " + line.unit) })),
      ],
    },
    [found.seconds, ...known.map((line) => found[line.name])],
    node
  );
}

export function cards(data, color) {
  return [
    card("card-load", data, color, [
      { name: "load", scale: "%", unit: "%", color: "step" },
      { name: "memory", scale: "%", unit: "%", color: "evaluation" },
    ]),
    card("card-power", data, color, [
      { name: "power", scale: "W", unit: "W", color: "warmup" },
      { name: "temperature", scale: "C", unit: "°C", color: "stall" },
    ]),
  ];
}
