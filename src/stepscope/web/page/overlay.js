import { number, duration } from "../../report/page/numbers.js";
import { axisStyle, durationSteps, durationTicks, plainTicks } from "../../report/page/axes.js";
import { make } from "./common.js";
// The curves of up to eight runs in one picture each: over iterations, tokens or time.
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [], [8, 4], [2, 3], [10, 3, 2, 3]];
const HEIGHT = 250;
const KINDS = ["loss", "validation", "took"];
const letter = (index) => String.fromCharCode(65 + index);

export function start(app) {
  const holder = document.getElementById("curves");
  if (!holder) return;
  const runs = JSON.parse(holder.textContent);
  const style = () => getComputedStyle(document.documentElement);
  const color = (name) => style().getPropertyValue("--" + name).trim();
  let charts = [];
  const short = (value) => {
    for (const [size, sign] of /** @type {[number, string][]} */ ([[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])) if (value >= size) return number(value / size, value / size < 10 ? 1 : 0) + " " + sign;
    return number(value);
  };
  const along = { step: number, tokens: short, time: duration };

  function legend() {
    document.getElementById("overlay-runs").replaceChildren(
      ...runs.map((run, index) => {
        const line = document.createElementNS("http://www.w3.org/2000/svg", "svg");
        line.setAttribute("viewBox", "0 0 24 10");
        line.setAttribute("aria-hidden", "true");
        line.setAttribute("class", "sample run-" + (index + 1));
        const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
        path.setAttribute("d", "M0 5H24");
        path.setAttribute("stroke-dasharray", DASHES[index].join(" "));
        line.append(path);
        return make("li", {}, line, make("b", {}, letter(index)), " " + run.name);
      })
    );
  }

  // The same stretch below one another, whatever a chart has of it.
  function extent(axis) {
    let last = 0;
    for (const run of runs) for (const kind of KINDS) last = Math.max(last, ...run[kind][axis].slice(-1));
    return [0, last * 1.01 || 1];
  }

  function chart(kind, axis) {
    const panel = document.getElementById("panel-" + kind);
    const node = document.getElementById("chart-" + kind);
    const read = document.getElementById("read-" + kind);
    const known = runs.map((run, index) => ({ index, curve: run[kind] })).filter(({ curve }) => curve[axis].length > 1);
    panel.hidden = known.length < 1;
    if (panel.hidden) return null;
    const data = window.uPlot.join(known.map(({ curve }) => [curve[axis], curve.value]));
    const { axis: left, count, time } = axisStyle(color);
    const write = kind === "took" ? duration : (value) => number(value, 4);
    const whole = { ...count, grid: left.grid, values: (u, values) => values.map((value) => (axis === "tokens" ? short(value) : Number.isInteger(value) ? number(value) : "")) };
    const [low, high] = extent(axis);
    // What each run has at the cursor, or next to it.
    const tell = (u) => {
      const at = u.cursor.idx;
      if (at == null) return read.replaceChildren();
      const values = known.map(({ index }, place) => {
        const column = u.data[place + 1];
        let near = at;
        for (let off = 1; off < 60 && column[near] == null; off++) near = at + (off % 2 ? 1 : -1) * Math.ceil(off / 2);
        if (column[near] == null) return null;
        const item = make("span", { class: "value run-" + (index + 1) }, make("b", {}, letter(index)), " " + write(column[near]));
        return item;
      });
      read.replaceChildren(make("span", {}, along[axis](u.data[0][at])), ...values.filter(Boolean));
    };
    // Where curves lie on one another, the letter at its end says which goes how far.
    const ends = (u) => {
      const context = u.ctx;
      const ratio = devicePixelRatio;
      context.save();
      context.font = "600 " + 12 * ratio + "px system-ui, sans-serif";
      context.textBaseline = "middle";
      context.lineWidth = 4 * ratio;
      context.lineJoin = "round";
      context.strokeStyle = color("panel");
      known.forEach(({ index }, place) => {
        const column = u.data[place + 1];
        let last = column.length - 1;
        while (last > 0 && column[last] == null) last--;
        const at = u.data[0][last];
        if (column[last] == null || at < u.scales.x.min || at > u.scales.x.max) return;
        const [x, y] = [u.valToPos(at, "x", true) + 5 * ratio, u.valToPos(column[last], "y", true)];
        context.fillStyle = color("run-" + (index + 1));
        context.strokeText(letter(index), x, y);
        context.fillText(letter(index), x, y);
      });
      context.restore();
    };
    return new window.uPlot(
      {
        width: Math.max(280, node.clientWidth),
        height: HEIGHT,
        padding: [10, 26, 0, 0],
        legend: { show: false },
        cursor: { sync: { key: "runs", scales: ["x", null] }, focus: { prox: 24 }, points: { size: 7 } },
        focus: { alpha: 0.3 },
        scales: { x: { time: false, range: (u, from, upto) => (from === u.data[0][0] && upto === u.data[0][u.data[0].length - 1] ? [low, high] : [from, upto]) }, y: kind === "took" ? { range: (u, least, most) => [0, most * 1.1] } : {} },
        axes: [axis === "time" ? time : whole, kind === "took" ? { ...left, incrs: durationSteps, values: (u, values) => durationTicks(values) } : { ...left, values: (u, values) => plainTicks(values) }],
        series: [{}, ...known.map(({ index }) => ({ stroke: color("run-" + (index + 1)), dash: DASHES[index], width: 2, spanGaps: true, points: { show: false } }))],
        hooks: { setCursor: [tell], draw: [ends] },
      },
      data,
      node
    );
  }

  function draw() {
    for (const one of charts) one.destroy();
    const axis = app.querySelector("input[name=axis]:checked").value;
    charts = KINDS.map((kind) => chart(kind, axis)).filter(Boolean);
  }

  legend();
  draw();
  app.addEventListener("change", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    draw();
  });
}
