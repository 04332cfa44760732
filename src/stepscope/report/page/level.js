import { unpack } from "./numbers.js";
import { axisStyle, durationSteps, durationTicks } from "./axes.js";
import { firstAt, nearestAt } from "./dom.js";
// The lane of the level: what an iteration takes without its stops, on a linear axis around the typical one.

/** The printed iterations as columns; `plain` is their time without the parts that are stops. @param {PageData} data */
export function readRows(data) {
  const packed = data.strip;
  const offsets = unpack(packed.step, packed.wide ? Float64Array : Uint32Array);
  const steps = Float64Array.from(offsets, (offset) => packed.first + offset);
  const seconds = unpack(packed.seconds, Float32Array);
  const spans = typeof packed.spans === "number" ? null : unpack(packed.spans, Uint16Array);
  const span = (index) => (spans ? spans[index] : packed.spans);
  const plain = Float64Array.from(seconds);
  for (const [first, last, , parts] of data.stops) {
    const index = firstAt(steps, last);
    const own = parts.find(([phase]) => phase === "step");
    if (steps[index] === last && own) plain[index] = own[1] / Math.max(1, last - first + 1);
    else if (steps[index] === last && parts.length && last - first + 1 === span(index) && first !== last) plain[index] = NaN;
  }
  // The row that a step belongs to: the line that covers it, where lines cover several.
  const at = (step) => {
    const index = Math.min(steps.length - 1, firstAt(steps, Math.round(step)));
    return span(index) > 1 ? index : nearestAt(steps, step);
  };
  return { steps, seconds, plain, span, at, every: packed.every };
}

// From a little below the usual to a little above: of a steady run the noise must not look like trouble.
export function levelRange(plain, levels) {
  const sorted = Float64Array.from(plain).filter((value) => value > 0).sort();
  if (!sorted.length) return [0, 1];
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  const low = Math.min(at(0.005), ...levels.map((level) => level.seconds));
  const high = Math.max(at(0.985), ...levels.map((level) => level.seconds));
  const spare = Math.max(0.18 * (high - low), 0.04 * high);
  return [Math.max(0, low - spare), high + spare];
}

/** @param {any} node @param {ReturnType<typeof readRows>} rows @param {PageData} data @param {Color} color */
export function levelLane(node, rows, data, color, shared) {
  const { steps, plain, span, every } = rows;
  const range = levelRange(plain, data.levels);
  const { axis, named, none } = axisStyle(color, data.words);

  function draw(u) {
    const { left, top, width, height } = u.bbox;
    const context = u.ctx;
    const ratio = devicePixelRatio;
    const [low, high] = range;
    const place = width / (u.scales.x.max - u.scales.x.min);
    const x = (step) => left + (step - u.scales.x.min) * place;
    const y = (value) => top + height - ((Math.max(low, Math.min(high, value)) - low) / (high - low)) * height;
    const from = Math.max(0, firstAt(steps, u.scales.x.min) - 1);
    const upto = Math.min(steps.length, firstAt(steps, u.scales.x.max) + 2);
    const crowd = (upto - from) / (width / ratio);
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    if (crowd > 1.2) columns(context, from, upto, x, y, ratio);
    else dots(context, from, upto, x, y, ratio, place);
    dashes(u, context, x, y);
    context.restore();
    above(context, from, upto, x, top, ratio);
  }

  // Few enough to tell apart: a dot for each, a line for those that stand for several, dashes for what is not printed.
  function dots(context, from, upto, x, y, ratio, place) {
    const size = Math.max(1.5, Math.min(3.5, (place * every) / ratio / 3)) * ratio;
    context.strokeStyle = color("edge");
    context.lineWidth = ratio;
    context.setLineDash([2 * ratio, 3 * ratio]);
    context.beginPath();
    for (let index = from + 1; every > 1 && index < upto; index++) {
      const gap = x(steps[index]) - x(steps[index - 1]);
      if (gap < 10 * ratio || steps[index] - steps[index - 1] > 1.5 * every || !(plain[index] > 0) || !(plain[index - 1] > 0)) continue;
      context.moveTo(x(steps[index - 1]) + 2 * size, y(plain[index - 1]));
      context.lineTo(x(steps[index]) - 2 * size, y(plain[index]));
    }
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = context.strokeStyle = color("step");
    for (let index = from; index < upto; index++) {
      if (!(plain[index] > 0)) continue;
      const own = span(index);
      const begin = x(steps[index] - own + 0.5);
      const end = x(steps[index] + 0.5);
      if (own > 1 && end - begin > 2 * size) {
        context.fillRect(begin, y(plain[index]) - ratio, end - begin - ratio, 2 * ratio);
      } else {
        context.beginPath();
        context.arc(x(steps[index]), y(plain[index]), size, 0, 7);
        context.fill();
      }
    }
  }

  // More than there are columns of dots: from the fastest to the slowest of each, and a line through their middle.
  function columns(context, from, upto, x, y, ratio) {
    context.fillStyle = color("step");
    const middles = [];
    let column = NaN;
    let least = Infinity;
    let most = 0;
    let sum = 0;
    let num = 0;
    const close = () => {
      if (!num) return;
      const top = y(most);
      context.globalAlpha = 0.3;
      context.fillRect(column, top, 2 * ratio, Math.max(ratio, y(least) - top));
      context.globalAlpha = 1;
      middles.push([column, y(sum / num)]);
    };
    for (let index = from; index < upto; index++) {
      const value = plain[index];
      if (!(value > 0)) continue;
      const at = Math.floor(x(steps[index]) / ratio / 2) * ratio * 2;
      if (at !== column) {
        close();
        column = at;
        least = Infinity;
        most = sum = num = 0;
      }
      if (value < least) least = value;
      if (value > most) most = value;
      sum += Math.min(value, range[1]);
      num++;
    }
    close();
    context.strokeStyle = color("step");
    context.lineWidth = 1.5 * ratio;
    context.lineJoin = "round";
    context.beginPath();
    middles.forEach(([px, py], index) => (index ? context.lineTo(px, py) : context.moveTo(px, py)));
    context.stroke();
  }

  function dashes(u, context, x, y) {
    if (data.levels.length < 2) return;
    const ratio = devicePixelRatio;
    context.strokeStyle = context.fillStyle = color("ink");
    context.lineWidth = ratio;
    context.setLineDash([5 * ratio, 4 * ratio]);
    context.font = 11 * ratio + "px system-ui, sans-serif";
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    let labelled = -Infinity;
    for (const level of data.levels) {
      const from = Math.max(u.bbox.left, x(level.first));
      const upto = Math.min(u.bbox.left + u.bbox.width, x(level.last));
      if (upto < u.bbox.left || from > u.bbox.left + u.bbox.width) continue;
      context.beginPath();
      context.moveTo(from, y(level.seconds));
      context.lineTo(upto, y(level.seconds));
      context.stroke();
      if (from - labelled < 90 * ratio) continue;
      halo(context, level.label, from + 3 * ratio, y(level.seconds) - 6 * ratio);
      labelled = from;
    }
    context.setLineDash([]);
  }

  // Words that are read on top of dots, too.
  function halo(context, text, x, y) {
    context.save();
    context.setLineDash([]);
    context.lineWidth = 4 * devicePixelRatio;
    context.lineJoin = "round";
    context.strokeStyle = color("panel");
    context.strokeText(text, x, y);
    context.restore();
    context.fillText(text, x, y);
  }

  // Iterations beyond the axis that are no stops: a small triangle at the top.
  function above(context, from, upto, x, top, ratio) {
    context.fillStyle = color("stall");
    let last = -Infinity;
    for (let index = from; index < upto; index++) {
      const at = x(steps[index]);
      if (!(plain[index] > range[1]) || at - last < 4 * ratio) continue;
      context.beginPath();
      context.moveTo(at - 3 * ratio, top);
      context.lineTo(at + 3 * ratio, top);
      context.lineTo(at, top - 5 * ratio);
      context.fill();
      last = at;
    }
  }

  return shared.chart(node, 190, {
    scales: { y: { range: () => range } },
    axes: [data.stops.length ? none : named, { ...axis, incrs: durationSteps, values: (u, values) => durationTicks(values) }],
    series: [{}, { paths: () => null, points: { show: false } }],
    hooks: { drawSeries: [draw] },
    padding: [8, undefined, 6, 0],
  }, [steps, plain]);
}
