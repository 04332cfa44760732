import { duration } from "./numbers.js";
import { axisStyle, durationSteps, durationTicks } from "./axes.js";
import { firstAt } from "./dom.js";
// The lane of the stops: every slow iteration and every pause as a stack of its parts, on an axis from zero.
const ORDER = ["step", "warmup", "evaluation", "checkpoint"];
const rank = (phase) => (ORDER.indexOf(phase) + 1 || ORDER.length + 1);

/** Where each stop is, how long it took, and its parts from the bottom up. @param {PageData} data */
export function readStops(data) {
  return data.stops.map(([first, last, isMeasured, parts]) => ({
    first,
    last,
    isMeasured,
    parts: parts.slice().sort((a, b) => rank(a[0]) - rank(b[0])),
    total: parts.reduce((sum, [, seconds]) => sum + seconds, 0),
  }));
}

// One very long stop must not flatten all others: beyond a few times the usual one a bar is cut and labelled.
export function stopTop(stops) {
  const sorted = stops.map((stop) => stop.total).sort((a, b) => a - b);
  const most = sorted[sorted.length - 1] || 1;
  const usual = sorted[Math.floor(0.8 * (sorted.length - 1))];
  return usual > 0 && most > 6 * usual ? 2.5 * usual : most * 1.12;
}

/** @param {any} node @param {ReturnType<typeof readStops>} stops @param {PageData} data @param {Color} color */
export function stopLane(node, stops, data, color, shared) {
  const { axis, named } = axisStyle(color, data.words);
  const top = stopTop(stops);
  const places = stops.map((stop) => stop.last);

  function draw(u) {
    const { left, top: above, width, height } = u.bbox;
    const context = u.ctx;
    const ratio = devicePixelRatio;
    const bottom = above + height;
    const place = width / (u.scales.x.max - u.scales.x.min);
    const x = (step) => left + (step - u.scales.x.min) * place;
    const from = Math.max(0, firstAt(places, u.scales.x.min) - 1);
    const upto = Math.min(stops.length, firstAt(places, u.scales.x.max) + 2);
    const size = Math.max(2, Math.min(12, (0.6 * width) / ratio / Math.max(1, upto - from))) * ratio;
    context.save();
    context.beginPath();
    context.rect(left - size, above - 14 * ratio, width + 2 * size, height + 14 * ratio);
    context.clip();
    context.font = 11 * ratio + "px system-ui, sans-serif";
    const labels = []; // [middle, baseline, words, whether its bar is cut]
    const isFew = (upto - from) * 72 * ratio < width; // room for each one's duration above it
    for (const stop of tallest(from, upto, x, size)) {
      const middle = (x(stop.first) + x(stop.last)) / 2;
      const wide = Math.max(size, x(stop.last) - x(stop.first));
      const scale = (Math.min(stop.total, top) / Math.max(stop.total, 1e-12)) * (height / top);
      context.globalAlpha = stop.isMeasured ? 1 : 0.65;
      let y = bottom;
      if (!(stop.total > 0)) {
        context.fillStyle = color(stop.parts.length ? stop.parts[0][0] : "stall");
        mark(context, middle, bottom, 4 * ratio);
      }
      for (const [phase, seconds] of stop.parts) {
        const tall = seconds * scale;
        context.fillStyle = color(phase);
        context.fillRect(middle - wide / 2, y - tall, wide, tall);
        y -= tall;
      }
      context.globalAlpha = 1;
      const isCut = stop.total > top;
      if (isCut) {
        context.fillStyle = color("panel");
        context.fillRect(middle - wide / 2 - ratio, above + 8 * ratio, wide + 2 * ratio, 3 * ratio);
      }
      if (!(isCut || isFew) || !(stop.total > 0)) continue;
      labels.push([middle, Math.max(above, y) - 4 * ratio, (stop.isMeasured ? "" : "≈ ") + duration(stop.total), isCut]);
    }
    write(context, labels.sort((one, other) => Number(other[3]) - Number(one[3])), left, left + width, ratio);
    context.restore();
  }

  // The durations, those of cut bars first; one that would touch another is left out.
  function write(context, labels, left, right, ratio) {
    const taken = [];
    context.textAlign = "left";
    context.lineWidth = 4 * ratio;
    context.lineJoin = "round";
    context.strokeStyle = color("panel");
    context.fillStyle = color("ink");
    for (const [middle, baseline, words] of labels) {
      const wide = context.measureText(words).width;
      const from = Math.max(left - 8 * ratio, Math.min(middle - wide / 2, right + 8 * ratio - wide));
      if (taken.some(([begin, end]) => from < end + 10 * ratio && from + wide > begin - 10 * ratio)) continue;
      taken.push([from, from + wide]);
      context.strokeText(words, from, baseline);
      context.fillText(words, from, baseline);
    }
  }

  // Of those that would cover one another the longest.
  function* tallest(from, upto, x, size) {
    let best = null;
    for (let index = from; index < upto; index++) {
      const stop = stops[index];
      if (best && x(stop.last) - x(best.last) < size * 0.8) {
        if (stop.total > best.total) best = stop;
        continue;
      }
      if (best) yield best;
      best = stop;
    }
    if (best) yield best;
  }

  function mark(context, x, y, size) {
    context.beginPath();
    context.moveTo(x - size, y);
    context.lineTo(x + size, y);
    context.lineTo(x, y - 1.6 * size);
    context.fill();
  }

  return shared.chart(node, 168, {
    scales: { y: { range: () => [0, top] } },
    axes: [named, { ...axis, incrs: durationSteps, values: (u, values) => durationTicks(values) }],
    series: [{}, { paths: () => null, points: { show: false } }],
    hooks: { drawSeries: [draw] },
    padding: [18, undefined, 0, 0],
  }, [places, stops.map((stop) => stop.total)]);
}
