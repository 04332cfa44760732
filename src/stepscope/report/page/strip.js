import { number, duration, tick, fill, unpack } from "./numbers.js";
// The strip: every step that was logged. A column of dots shows the slowest step under it, so no spike is ever hidden.
const LADDER = [1, 3].flatMap((k) => [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 60, 600, 3600, 36000].map((v) => k * v)).sort((a, b) => a - b);

function lines(low, high) {
  const inside = LADDER.filter((value) => value >= low && value <= high);
  return inside.length > 7 ? inside.filter((value) => Number.isInteger(Math.log10(value)) || value % 60 === 0) : inside;
}

function firstAt(steps, value) {
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function strip(data, color) {
  const node = document.getElementById("strip");
  const packed = data.strip;
  const offsets = unpack(packed.step, packed.wide ? Float64Array : Uint32Array);
  if (!node || !offsets.length) return null;
  const tip = document.getElementById("strip-tip");
  const steps = Float64Array.from(offsets, (offset) => packed.first + offset);
  const seconds = unpack(packed.seconds, Float32Array);
  const named = new Map(data.slow.map((slow) => [slow.index, slow]));
  const slow = data.slow.slice().sort((a, b) => a.index - b.index);
  const full = [steps[0], steps[steps.length - 1]];
  // Half a bar more on either side, so that the first and the last are whole.
  const edge = Math.max(0.5, (full[1] - full[0]) * Math.max(0.4 / steps.length, 0.004));
  full[0] -= edge;
  full[1] += edge;
  let least = Infinity;
  let most = 0;
  for (const value of seconds) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  // Room below the fastest and above the slowest.
  const extent = [least / 1.6, most * 1.25];

  function bars(u) {
    const { left, top, width, height } = u.bbox;
    const context = u.ctx;
    const bottom = top + height;
    const from = Math.max(0, firstAt(steps, u.scales.x.min) - 1);
    const upto = Math.min(steps.length, firstAt(steps, u.scales.x.max) + 2);
    const size = Math.max(1, Math.min(18, (0.75 * width) / Math.max(1, upto - from))) * (upto - from > width / 2 ? 1.4 : 1);
    // The log scale by hand: a call of valToPos for each of a hundred thousand steps would take too long.
    const base = Math.log(u.scales.y.min);
    const scale = height / (Math.log(u.scales.y.max) - base);
    const place = width / (u.scales.x.max - u.scales.x.min);
    const x = (index) => left + (steps[index] - u.scales.x.min) * place;
    const bar = (index) => {
      const y = bottom - (Math.log(seconds[index]) - base) * scale;
      context.fillRect(x(index) - size / 2, y, size, bottom - y);
    };
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    context.fillStyle = color("step");
    let column = -1;
    let highest = -1;
    for (let index = from; index < upto; index++) {
      const at = Math.floor(x(index));
      if (at !== column) {
        if (highest >= 0) bar(highest);
        column = at;
        highest = index;
      } else if (seconds[index] > seconds[highest]) highest = index;
    }
    if (highest >= 0) bar(highest);
    for (const one of slow) {
      if (one.index < from || one.index >= upto) continue;
      context.fillStyle = color(one.phase);
      bar(one.index);
    }
    levels(u, context, base, scale, place);
    context.restore();
    stops(u, context, place);
  }

  function levels(u, context, base, scale, place) {
    const { left, top, width, height } = u.bbox;
    context.strokeStyle = context.fillStyle = color("ink");
    context.lineWidth = devicePixelRatio;
    context.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    context.font = 12 * devicePixelRatio + "px system-ui, sans-serif";
    let labelled = -Infinity;
    if (data.levels.length < 2) return;
    for (const level of data.levels) {
      const from = Math.max(left, left + (level.first - u.scales.x.min) * place);
      const upto = Math.min(left + width, left + (level.last - u.scales.x.min) * place);
      if (upto < left || from > left + width) continue;
      const y = top + height - (Math.log(level.seconds) - base) * scale;
      context.beginPath();
      context.moveTo(from, y);
      context.lineTo(upto, y);
      context.stroke();
      if (from - labelled > 70 * devicePixelRatio) {
        context.fillText(level.label, from + 3 * devicePixelRatio, y - 5 * devicePixelRatio);
        labelled = from;
      }
    }
    context.setLineDash([]);
  }

  // Evaluations and saves that no step's time holds: small triangles along the top.
  function stops(u, context, place) {
    const size = 4 * devicePixelRatio;
    for (const [step, phase] of data.stops) {
      const x = u.bbox.left + (step - u.scales.x.min) * place;
      if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
      context.fillStyle = color(phase);
      context.beginPath();
      context.moveTo(x - size, u.bbox.top - 2 * size);
      context.lineTo(x + size, u.bbox.top - 2 * size);
      context.lineTo(x, u.bbox.top);
      context.fill();
    }
  }

  function tell(index) {
    const one = named.get(index);
    tip.textContent = one ? one.text : fill(data.words.tip, { step: number(steps[index]), took: duration(seconds[index]) }) + ".";
  }

  // The slow step near the pointer, else the step under it.
  function nearest(u) {
    const index = u.cursor.idx;
    if (index == null || u.cursor.left < 0) return null;
    const reach = (6 * (u.scales.x.max - u.scales.x.min)) / u.over.clientWidth;
    const at = u.posToVal(u.cursor.left, "x");
    let found = null;
    for (const one of slow) {
      const gap = Math.abs(steps[one.index] - at);
      if (gap <= reach && (found === null || gap < Math.abs(steps[found] - at))) found = one.index;
    }
    return found === null ? index : found;
  }

  const axis = { stroke: color("dim"), grid: { stroke: color("line"), width: 1 }, ticks: { show: false } };
  const chart = new uPlot(
    {
      width: Math.max(280, node.clientWidth),
      height: 260,
      padding: [data.stops.length ? 14 : 8, 26, 0, 0],
      legend: { show: false },
      scales: { x: { time: false, range: (u, low, high) => (low === steps[0] && high === steps[steps.length - 1] ? full : [low, high]) }, y: { distr: 3, range: extent } },
      axes: [
        { ...axis, size: 30, grid: { show: false }, values: (u, values) => values.map((v) => (Number.isInteger(v) ? number(v) : "")) },
        { ...axis, size: 74, splits: (u) => lines(u.scales.y.min, u.scales.y.max), values: (u, values) => values.map((v) => (v == null ? "" : tick(v))), filter: (u, values) => values },
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      cursor: { drag: { x: true, y: false }, points: { show: false }, y: false },
      hooks: {
        drawSeries: [bars],
        setCursor: [
          (u) => {
            const index = nearest(u);
            if (index !== null) tell(index);
          },
        ],
      },
    },
    [steps, seconds],
    node
  );

  function show(low, high) {
    const size = Math.min(high - low, full[1] - full[0]);
    const from = Math.max(full[0], Math.min(low, full[1] - size));
    chart.setScale("x", { min: from, max: from + Math.max(size, 2) });
  }

  function move(kind) {
    const { min, max } = chart.scales.x;
    const size = max - min;
    const [a, b] = { in: [0.2, -0.2], out: [-0.35, 0.35], left: [-0.3, -0.3], right: [0.3, 0.3] }[kind] || [0, 0];
    if (kind === "all") show(full[0], full[1]);
    else show(min + a * size, max + b * size);
  }

  // From one slow step to the next, for those without a pointer.
  let current = -1;
  function visit(direction) {
    if (!slow.length) return;
    current = (current + direction + slow.length) % slow.length;
    const at = steps[slow[current].index];
    const { min, max } = chart.scales.x;
    if (at < min || at > max) show(at - (max - min) / 2, at + (max - min) / 2);
    tell(slow[current].index);
  }

  const keys = { ArrowLeft: "left", ArrowRight: "right", "+": "in", "=": "in", "-": "out", Home: "all" };
  node.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in keys) move(keys[event.key]);
    else if (event.key.toLowerCase() === "n") visit(1);
    else if (event.key.toLowerCase() === "p") visit(-1);
    else return;
    event.preventDefault();
  };
  // A page that is scrolled must not be caught by the chart: the wheel zooms once the chart was chosen.
  node.onwheel = (event) => {
    if (document.activeElement !== node && !event.ctrlKey) return;
    event.preventDefault();
    const { min, max } = chart.scales.x;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const by = ((event.deltaX || event.deltaY) / 500) * (max - min);
      return show(min + by, max + by);
    }
    const at = chart.posToVal(event.clientX - chart.over.getBoundingClientRect().left, "x");
    const factor = event.deltaY < 0 ? 0.8 : 1.25;
    show(at - (at - min) * factor, at + (max - at) * factor);
  };
  for (const button of document.querySelectorAll("[data-move]")) button.onclick = () => move(button.dataset.move);
  return { chart, show, full };
}
