"use strict";
// Charts and sliders of the report. All words are on the page already; numbers come from the JSON in #data.
(function () {
  const number = (value, digits) => new Intl.NumberFormat(document.documentElement.lang, { maximumFractionDigits: digits }).format(value);

  // A duration as the rest of the page writes it: about three digits.
  function duration(seconds) {
    const size = Math.abs(seconds);
    if (size < 0.9995) return number(seconds * 1000, size < 0.01 ? 2 : size < 0.1 ? 1 : 0) + " ms";
    if (size < 9.995) return number(seconds, 2) + " s";
    if (size < 99.95) return number(seconds, 1) + " s";
    if (Math.round(size) < 600) return Math.floor(Math.round(seconds) / 60) + " min " + (Math.round(seconds) % 60) + " s";
    if (Math.round(size / 60) < 100) return Math.round(seconds / 60) + " min";
    const minutes = Math.round(seconds / 60);
    if (minutes < 60 * 48) return Math.floor(minutes / 60) + " h " + (minutes % 60) + " min";
    const hours = Math.round(seconds / 3600);
    return Math.floor(hours / 24) + " d " + (hours % 24) + " h";
  }

  // The same arithmetic as `stepscope advise --change`; a test compares the two.
  function whatIf(base, settings) {
    const steps = Math.max(0, settings.max_steps - base.last_step);
    const evaluations = base.eval_interval
      ? Math.max(0, Math.floor(settings.max_steps / settings.eval_interval) - Math.floor(base.done_step / settings.eval_interval))
      : 0;
    const before = base.evaluations || 1;
    const each = base.evaluation_s / before;
    const scale = base.eval_iters ? settings.eval_iters / base.eval_iters : 1;
    const saves = base.saves_follow ? (base.checkpoint_s / before) * evaluations : base.checkpoint_s;
    return {
      evaluations: evaluations,
      remaining_s: base.other_s + steps * (base.step_s / Math.max(1, base.steps)) + evaluations * each * scale + saves,
      error: base.loss_sd && settings.eval_iters ? base.loss_sd / Math.sqrt(settings.eval_iters) : null,
    };
  }

  let charts = [];

  function draw() {
    const holder = document.getElementById("data");
    if (!holder) return;
    const data = JSON.parse(holder.textContent);
    charts.forEach((chart) => chart.destroy());
    charts = [];
    const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
    const axis = { stroke: color("ink"), grid: { stroke: color("line") }, ticks: { stroke: color("line") } };
    strip(data, color, axis);
    curve(data, color, axis);
    sliders(data);
  }

  function width(node) {
    return Math.max(280, node.clientWidth);
  }

  function strip(data, color, axis) {
    const node = document.getElementById("strip");
    if (!node || !data.strip.step.length) return;
    const tip = document.getElementById("strip-tip");
    const phases = data.strip.phases;
    const marked = new Map(data.slow.map((slow) => [slow.index, slow]));
    const paint = (chart) => {
      const context = chart.ctx;
      const size = 3 * devicePixelRatio;
      data.slow.forEach((slow) => {
        const x = chart.valToPos(data.strip.step[slow.index], "x", true);
        const y = chart.valToPos(data.strip.seconds[slow.index], "y", true);
        if (x < chart.bbox.left || x > chart.bbox.left + chart.bbox.width) return;
        context.fillStyle = color(phases.includes(slow.cause) ? slow.cause : "stall");
        context.beginPath();
        context.arc(x, y, size, 0, 2 * Math.PI);
        context.fill();
      });
    };
    const chart = new uPlot(
      {
        width: width(node),
        height: 260,
        scales: { x: { time: false }, y: { distr: 3 } },
        axes: [{ ...axis }, { ...axis, size: 84, values: (u, values) => values.map((v) => (v == null ? "" : duration(v))) }],
        series: [
          { label: data.words.iteration, value: (u, v) => (v == null ? "–" : number(v, 0)) },
          { label: data.words.took, stroke: color("step"), width: 1, points: { show: data.strip.step.length < 400, size: 4 }, value: (u, v) => (v == null ? "–" : duration(v)) },
        ],
        cursor: { drag: { x: true, y: false } },
        hooks: {
          draw: [paint],
          setCursor: [
            (u) => {
              const slow = u.cursor.idx == null ? null : marked.get(u.cursor.idx);
              tip.textContent = slow ? slow.text : "";
            },
          ],
        },
      },
      [data.strip.step, data.strip.seconds],
      node
    );
    charts.push(chart);
    node.addEventListener("wheel", (event) => zoom(chart, event), { passive: false });
    node.addEventListener("keydown", (event) => keys(chart, event));
  }

  function range(chart) {
    return [chart.scales.x.min, chart.scales.x.max];
  }

  function zoom(chart, event) {
    event.preventDefault();
    const [low, high] = range(chart);
    const at = chart.posToVal(event.clientX - chart.over.getBoundingClientRect().left, "x");
    const factor = event.deltaY < 0 ? 0.8 : 1.25;
    chart.setScale("x", { min: at - (at - low) * factor, max: at + (high - at) * factor });
  }

  function keys(chart, event) {
    const [low, high] = range(chart);
    const size = high - low;
    const moves = { ArrowLeft: [-0.2, -0.2], ArrowRight: [0.2, 0.2], "+": [0.2, -0.2], "-": [-0.25, 0.25] };
    if (event.key === "Home") chart.setScale("x", { min: chart.data[0][0], max: chart.data[0][chart.data[0].length - 1] });
    if (!(event.key in moves)) return;
    event.preventDefault();
    chart.setScale("x", { min: low + moves[event.key][0] * size, max: high + moves[event.key][1] * size });
  }

  function curve(data, color, axis) {
    const node = document.getElementById("loss");
    if (!node || data.loss.step.length < 2) return;
    charts.push(
      new uPlot(
        {
          width: width(node),
          height: 200,
          scales: { x: { time: false } },
          axes: [{ ...axis }, { ...axis, size: 56 }],
          series: [
            { label: data.words.iteration, value: (u, v) => (v == null ? "–" : number(v, 0)) },
            { label: data.words.loss, stroke: color("accent"), width: 1.5, spanGaps: true, value: (u, v) => (v == null ? "–" : number(v, 4)) },
            { label: data.words.validation, stroke: color("warmup"), width: 2, spanGaps: true, points: { show: true, size: 5 }, value: (u, v) => (v == null ? "–" : number(v, 4)) },
          ],
        },
        [data.loss.step, data.loss.train, data.loss.validation],
        node
      )
    );
  }

  function sliders(data) {
    const base = data.whatif;
    const box = document.getElementById("sliders");
    if (!base || !box) return;
    const inputs = Array.from(box.querySelectorAll("input"));
    const answer = document.getElementById("whatif");
    const update = () => {
      const settings = {};
      inputs.forEach((input) => {
        settings[input.name] = Number(input.value);
        box.querySelector('output[for="' + input.id + '"]').textContent = number(Number(input.value), 0);
      });
      const found = whatIf(base, { max_steps: base.max_steps, eval_interval: base.eval_interval, eval_iters: base.eval_iters, ...settings });
      const saved = base.remaining_s - found.remaining_s;
      const parts = [data.words.left + ": " + duration(found.remaining_s), (saved >= 0 ? "−" : "+") + duration(Math.abs(saved))];
      if (base.moment) {
        const end = new Date(Date.parse(base.moment) + found.remaining_s * 1000);
        parts.push(new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "short", timeStyle: "short", hour12: false }).format(end));
      }
      parts.push(data.words.evaluations + ": " + number(found.evaluations, 0));
      if (found.error != null) parts.push("± " + number(found.error, 4));
      answer.textContent = parts.join(" · ");
      answer.dataset.remaining = String(found.remaining_s);
    };
    inputs.forEach((input) => input.addEventListener("input", update));
    update();
  }

  let waiting = 0;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(draw, 150);
  });
  window.stepscope = { draw: draw, whatIf: whatIf };
  draw();
})();
