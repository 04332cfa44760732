import { duration, number } from "./numbers.js";
// The ranks as a heat strip: a row for each, a cell for each stretch, the colour against the median of that stretch.
const ROW = 12;
const FOOT = 30; // the iterations, and what the colours say
const MOST = 0.3; // so much slower than the median is the strongest colour

/** @param {any} node @param {Ranks | null} found @param {Color} color */
export function ranks(node, found, color) {
  if (!node || !found) return null;
  const canvas = document.createElement("canvas");
  const ratio = devicePixelRatio;
  const label = Math.min(160, 8 + 7 * Math.max(...found.names.map((name) => name.length)));
  const width = Math.max(240, node.clientWidth);
  const tall = Math.max(ROW, Math.min(22, 360 / found.names.length));
  canvas.width = width * ratio;
  const high = tall * found.names.length;
  canvas.height = (high + FOOT) * ratio;
  canvas.style.setProperty("width", width + "px");
  canvas.style.setProperty("height", high + FOOT + "px");
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  const num = found.seconds[0].length;
  const medians = Array.from({ length: num }, (_, cell) => {
    const known = found.seconds.map((row) => row[cell]).filter((value) => value !== null).sort((a, b) => a - b);
    return known.length ? known[known.length >> 1] : null;
  });
  const size = (width - label) / num;
  found.names.forEach((name, row) => {
    context.globalAlpha = 1;
    context.fillStyle = color("dim");
    context.fillText(name, 0, (row + 0.5) * tall, label - 8);
    found.seconds[row].forEach((value, cell) => {
      if (value === null || !medians[cell]) return;
      const off = value / medians[cell] - 1;
      context.globalAlpha = 0.08 + 0.92 * Math.min(1, Math.abs(off) / MOST);
      context.fillStyle = color(off > 0 ? "stall" : "evaluation");
      context.fillRect(label + cell * size, row * tall, Math.max(1, size - 1), tall - 1);
    });
  });
  context.globalAlpha = 1;
  context.fillStyle = color("dim");
  context.fillText(number(found.first), label, high + 12);
  context.textAlign = "right";
  context.fillText(number(found.last), width, high + 12);
  scale(context, label + (width - label) / 2, high + 6, color);
  node.replaceChildren(canvas);
  canvas.onpointermove = (event) => {
    const box = canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top) / tall);
    const value = (found.seconds[row] || [])[Math.floor((event.clientX - box.left - label) / size)];
    canvas.title = value == null ? "" : found.names[row] + ": " + duration(value);
  };
  return { destroy: () => node.replaceChildren() };
}

// From so much faster than the median to so much slower, in the colours of the cells.
function scale(context, middle, top, color) {
  const half = 60;
  for (let at = -half; at < half; at += 4) {
    context.globalAlpha = 0.08 + 0.92 * Math.abs((at + 2) / half);
    context.fillStyle = color(at < 0 ? "evaluation" : "stall");
    context.fillRect(middle + at, top, 4, 12);
  }
  context.globalAlpha = 1;
  context.fillStyle = color("dim");
  context.textAlign = "right";
  context.fillText("\u2212" + number(100 * MOST) + "\u202f%", middle - half - 6, top + 6);
  context.textAlign = "left";
  context.fillText("+" + number(100 * MOST) + "\u202f%", middle + half + 6, top + 6);
}
