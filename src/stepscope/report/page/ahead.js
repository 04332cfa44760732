import { axisStyle } from "./axes.js";
import { number } from "./numbers.js";
// Steps over time: so far, the forecast as a fan, earlier forecasts thin, and what the sliders would make of it.

/** @param {any} holder @param {Ahead | null} found @param {Color} color @param {(() => number[] | null) | null} changed */
export function ahead(holder, found, color, changed) {
  if (!holder || !found) return null;
  const { axis, time } = axisStyle(color);
  const now = [found.seconds[found.seconds.length - 1], found.step[found.step.length - 1]];
  const extent = () => {
    const other = changed && changed();
    let last = now[0] + (found.forecast ? found.forecast[3] : 0);
    let top = Math.max(now[1], found.forecast ? found.forecast[0] : 0);
    for (const one of changed ? [] : found.backtests) last = Math.max(last, one[0] + one[5]);
    if (other) {
      last = Math.max(last, now[0] + other[3]);
      top = Math.max(top, other[0]);
    }
    return [last, top];
  };
  // A wedge from where the run was to when the target is reached, earliest and latest; dashes to the best guess.
  function wedge(u, from, target, ends, shade, alpha) {
    const [middle, low, high] = ends;
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
      width: Math.max(240, holder.clientWidth),
      height: 240,
      padding: [10, 26, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false, range: () => [0, extent()[0] * 1.02] }, y: { range: () => [Math.min(0, found.step[0]), extent()[1] * 1.03] } },
      axes: [time, { ...axis, values: (u, values) => values.map((v) => (Number.isInteger(v) ? number(v) : "")) }],
      series: [{}, { stroke: color("step"), width: 2, points: { show: false } }],
      hooks: {
        drawAxes: [
          (u) => {
            const other = changed && changed();
            for (const one of changed ? [] : found.backtests) wedge(u, one, one[2], one.slice(3), "accent", 0.13);
            if (found.forecast) wedge(u, now, found.forecast[0], found.forecast.slice(1), "step", 0.3);
            if (other) wedge(u, now, other[0], other.slice(1), "checkpoint", 0.3);
          },
        ],
      },
    },
    [found.seconds, found.step],
    holder
  );
}
