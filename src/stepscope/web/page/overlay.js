import { number, duration } from "../../report/page/numbers.js";
import { make } from "./common.js";
// The curves of up to eight runs in one picture each: over iterations, tokens or time.
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [], [8, 4], [2, 3], [10, 3, 2, 3]];
const HEIGHT = 280;

export function start(app) {
  const holder = document.getElementById("curves");
  if (!holder) return;
  const runs = JSON.parse(holder.textContent);
  const style = () => getComputedStyle(document.documentElement);
  const color = (name) => style().getPropertyValue("--" + name).trim();
  let charts = [];
  const short = (value) => {
    for (const [size, sign] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) if (value >= size) return number(value / size, value / size < 10 ? 1 : 0) + " " + sign;
    return number(value);
  };
  const along = { step: number, tokens: short, time: duration };
  const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

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
        return make("li", {}, line, make("b", {}, String.fromCharCode(65 + index)), " " + run.name);
      })
    );
  }

  function chart(kind, axis) {
    const panel = document.getElementById("panel-" + kind);
    const node = document.getElementById("chart-" + kind);
    const known = runs.map((run, index) => ({ index, curve: run[kind] })).filter(({ curve }) => curve[axis].length > 1);
    panel.hidden = known.length < 1;
    if (panel.hidden) return null;
    const data = window.uPlot.join(known.map(({ curve }) => [curve[axis], curve.value]));
    const axes = { stroke: color("dim"), grid: { stroke: color("line"), width: 1 }, ticks: { show: false } };
    const write = kind === "took" ? duration : (value) => number(value, 4);
    const x = { ...axes, size: 34, values: (u, values) => values.map((value) => (axis === "step" && !Number.isInteger(value) ? "" : along[axis](value))) };
    if (axis === "time") Object.assign(x, { incrs: TIMES, space: 80 });
    return new window.uPlot(
      {
        width: Math.max(280, node.clientWidth),
        height: HEIGHT,
        padding: [10, 20, 0, 0],
        cursor: { sync: { key: "runs", scales: ["x", null] }, focus: { prox: 24 } },
        focus: { alpha: 0.3 },
        scales: { x: { time: false }, y: kind === "took" ? { range: (u, low, high) => [0, high * 1.1] } : {} },
        axes: [x, { ...axes, size: 78, values: (u, values) => values.map((value) => (kind === "took" ? duration(value) : number(value, value < 10 ? 2 : 0))) }],
        series: [
          { label: app.querySelector("input[name=axis]:checked").parentElement.textContent.trim(), value: (u, value) => (value == null ? "–" : along[axis](value)) },
          ...known.map(({ index }) => ({ label: String.fromCharCode(65 + index), stroke: color("run-" + (index + 1)), dash: DASHES[index], width: 2, spanGaps: true, points: { show: false }, value: (u, value) => (value == null ? "–" : write(value)) })),
        ],
      },
      data,
      node
    );
  }

  function draw() {
    for (const one of charts) one.destroy();
    const axis = app.querySelector("input[name=axis]:checked").value;
    charts = ["loss", "validation", "took"].map((kind) => chart(kind, axis)).filter(Boolean);
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
