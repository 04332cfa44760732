import { duration, fill, number } from "./numbers.js";
import { RIGHT } from "./axes.js";
import { byId, firstAt, make, nearestAt, square } from "./dom.js";
import { levelLane, readRows } from "./level.js";
import { readStops, stopLane } from "./stops.js";
import { seriesLanes } from "./series.js";
// The lanes as one: one zoom, one cursor, one tooltip, one set of keys.

/** @param {PageData} data @param {Color} color */
export function timeline(data, color) {
  const node = byId("strip");
  if (!node) return null;
  const rows = readRows(data);
  if (!rows.steps.length) return null;
  const stops = readStops(data);
  const evidence = new Map(data.evidence);
  const lines = new Map(); // steps → the line of the log, of those that the page has
  for (const item of document.querySelectorAll(".log li[data-step]")) lines.set(Number(item.dataset.step), Number(item.id.slice("line-".length)));
  const full = extent(rows, stops);
  const charts = [];

  const shared = {
    // A chart whose x axis is that of all the others.
    chart(holder, height, options, columns) {
      const chart = shared.alone(holder, height, {
        ...options,
        scales: { x: { time: false, range: (u, low, high) => (low === u.data[0][0] && high === u.data[0][u.data[0].length - 1] ? full : [low, high]) }, ...options.scales },
        hooks: { ...options.hooks, setScale: [(u, key) => key === "x" && follow(u)] },
        cursor: { drag: { x: true, y: false }, points: { show: false }, y: false, sync: { key: "steps", setSeries: false } },
      }, columns);
      charts.push(chart);
      return chart;
    },
    alone(holder, height, options, columns) {
      return new uPlot({ width: Math.max(240, holder.clientWidth), height, legend: { show: false }, cursor: { show: false }, ...options, scales: { x: { time: false }, ...options.scales }, padding: options.padding ? [options.padding[0], RIGHT, options.padding[2], 0] : [8, RIGHT, options.axes[0].show === false ? 8 : 0, 0] }, columns, holder);
    },
    // What a column holds at a step, or next to it.
    near(places, values, step, digits, unit = "") {
      let index = nearestAt(places, step);
      for (let off = 0; off < 40 && values[index] == null; off++) index = nearestAt(places, step) + (off % 2 ? 1 : -1) * (1 + (off >> 1));
      return values[index] == null ? null : number(values[index], digits) + unit;
    },
  };

  // A zoom of one is a zoom of all. Setting what is set already would go round in a circle.
  function follow(from) {
    const { min, max } = from.scales.x;
    for (const chart of charts) {
      if (chart !== from && (chart.scales.x.min !== min || chart.scales.x.max !== max)) chart.setScale("x", { min, max });
    }
  }

  const level = levelLane(byId("level"), rows, data, color, shared);
  if (stops.length && byId("stops")) stopLane(byId("stops"), stops, data, color, shared);
  const told = seriesLanes(data, color, shared);
  const tip = makeTip(byId("strip-tip"), node, data.words.line);

  function say(step, nearStop) {
    const stop = nearStop;
    const head = [];
    const body = [];
    if (stop) {
      const count = stop.last - stop.first + 1;
      const took = duration(stop.total);
      head.push(count > 1 ? fill(data.words.tip, { step: fill(data.words.window, { first: number(stop.first), last: number(stop.last), count: number(count) }), took }) : fill(data.words.tip, { step: number(stop.last), took }));
      for (const [phase, seconds] of stop.parts) body.push([phase, data.words.phases[phase], (stop.isMeasured ? "" : "≈ ") + (seconds > 0 ? duration(seconds) : "?")]);
      step = stop.last;
    } else {
      const index = rows.at(step);
      step = rows.steps[index];
      const span = rows.span(index);
      const took = duration(rows.seconds[index]);
      head.push(span > 1 ? fill(data.words.tip_window, { first: number(step - span + 1), last: number(step), count: number(span), took }) : fill(data.words.tip, { step: number(step), took }));
    }
    for (const lane of told) body.push(...lane.told(step).filter((line) => line[2] !== null));
    return { head: head.join(" "), body, note: stop ? evidence.get(stop.last) || "" : "", line: lines.get(step) };
  }

  const lasts = stops.map((stop) => stop.last);
  function stopNear(chart, step) {
    const reach = (6 * (chart.scales.x.max - chart.scales.x.min)) / chart.over.clientWidth;
    const from = firstAt(lasts, step - reach);
    let found = null;
    for (let index = from; index < stops.length && stops[index].first <= step + reach; index++) {
      const stop = stops[index];
      const gap = step < stop.first ? stop.first - step : Math.max(0, step - stop.last);
      if (!found || gap < found.gap || (gap === found.gap && stop.total > found.stop.total)) found = { stop, gap };
    }
    return found && found.stop;
  }

  for (const chart of charts) {
    const point = (event) => {
      if (tip.isPinned()) return;
      if (event.buttons && event.pointerType === "mouse") return tip.hide();
      const box = chart.over.getBoundingClientRect();
      const step = chart.posToVal(event.clientX - box.left, "x");
      tip.show(say(step, stopNear(chart, step)), event.clientX, event.clientY);
    };
    chart.over.addEventListener("pointermove", point);
    // A click pins the words, so that their link can be followed; the next lets go. A drag is a zoom.
    let pressed = 0;
    chart.over.addEventListener("pointerdown", (event) => {
      pressed = event.clientX;
      if (tip.isPinned()) tip.hide();
      point(event);
    });
    chart.over.addEventListener("click", (event) => {
      if (event.detail !== 1 || Math.abs(event.clientX - pressed) > 3) return tip.hide();
      point(event);
      tip.pin();
    });
    chart.over.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && !tip.isPinned() && tip.hide());
  }

  function show(low, high) {
    const size = Math.min(high - low, full[1] - full[0]);
    const from = Math.max(full[0], Math.min(low, full[1] - size));
    level.setScale("x", { min: from, max: from + Math.max(size, 2) });
  }

  function move(kind) {
    const { min, max } = level.scales.x;
    const size = max - min;
    const [a, b] = { in: [0.2, -0.2], out: [-0.35, 0.35], left: [-0.3, -0.3], right: [0.3, 0.3] }[kind] || [0, 0];
    if (kind === "all") show(full[0], full[1]);
    else show(min + a * size, max + b * size);
  }

  // From one stop to the next, for those without a pointer, and for links.
  let current = -1;
  function visit(place) {
    const stop = stops[place];
    if (!stop) return;
    current = place;
    const { min, max } = level.scales.x;
    if (stop.last < min || stop.last > max) {
      show(stop.last - (max - min) / 2, stop.last + (max - min) / 2);
    }
    // The new scale is in place when the present task is done.
    Promise.resolve().then(() => {
      const box = level.over.getBoundingClientRect();
      const left = level.valToPos(stop.last, "x");
      level.setCursor({ left, top: 20 }, true, true);
      tip.show(say(stop.last, stop), box.left + left, box.top + 24);
    });
  }

  // A link to a step: the stop there, else its surroundings.
  function go(step) {
    const place = lasts.indexOf(step);
    const size = Math.max(20, Math.min((full[1] - full[0]) / 8, 400 * rows.every));
    show(step - size / 2, step + size / 2);
    if (place >= 0) visit(place);
  }

  const keys = { ArrowLeft: "left", ArrowRight: "right", "+": "in", "=": "in", "-": "out", Home: "all" };
  node.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.toLowerCase();
    if (event.key in keys) move(keys[event.key]);
    else if (key === "n" && stops.length) visit((current + 1) % stops.length);
    else if (key === "p" && stops.length) visit((Math.max(current, 0) - 1 + stops.length) % stops.length);
    else if (key === "escape") tip.hide();
    else if (key === "enter" && event.target === node) tip.follow();
    else return;
    event.preventDefault();
  };
  node.onfocusout = (event) => !node.contains(event.relatedTarget) && tip.hide();
  // A page that is scrolled must not be caught by the chart: the wheel zooms once the chart was chosen.
  node.onwheel = (event) => {
    if (document.activeElement !== node && !event.ctrlKey) return;
    event.preventDefault();
    const { min, max } = level.scales.x;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const by = ((event.deltaX || event.deltaY) / 500) * (max - min);
      return show(min + by, max + by);
    }
    const at = level.posToVal(event.clientX - level.over.getBoundingClientRect().left, "x");
    const factor = event.deltaY < 0 ? 0.8 : 1.25;
    show(at - (at - min) * factor, at + (max - at) * factor);
  };
  node.onpointerdown = () => node.focus({ preventScroll: true });
  for (const button of document.querySelectorAll("[data-move]")) button.onclick = () => move(button.dataset.move);
  const view = () => [level.scales.x.min, level.scales.x.max];
  return { charts, show, full, go, view, others: told.map((lane) => lane.chart).filter((chart) => !charts.includes(chart)) };
}

// From the first iteration to the last, with a little more on either side, so that both are seen whole.
function extent({ steps, span }, stops) {
  const begin = steps[0] - Math.max(1, span(0)) + 1;
  const first = stops.length ? Math.min(begin, stops[0].first) : begin;
  const last = stops.length ? Math.max(steps[steps.length - 1], stops[stops.length - 1].last) : steps[steps.length - 1];
  const edge = Math.max(0.5, (last - first) * Math.max(0.4 / steps.length, 0.006));
  return [first - edge, last + edge];
}

// The words at the pointer; never outside of the lanes, never under the pointer.
function makeTip(node, holder, lineFrame) {
  node.textContent = "";
  node.classList.remove("shown", "pinned");
  return {
    hide: () => node.classList.remove("shown", "pinned"),
    pin: () => node.classList.toggle("pinned", node.classList.contains("shown")),
    isPinned: () => node.classList.contains("pinned"),
    follow() {
      const link = node.classList.contains("shown") && node.querySelector("a");
      if (link) link.click();
    },
    show({ head, body, note, line }, clientX, clientY) {
      const list = make("ul");
      for (const [key, name, value] of body) {
        const item = make("li");
        item.append(square(key), make("span", "", name), make("b", "", value));
        list.append(item);
      }
      node.replaceChildren(make("p", "tip-head", head), list);
      if (note) node.append(make("p", "tip-note", note));
      if (line !== undefined) {
        const link = make("a", "", fill(lineFrame, { line: number(line) }));
        link.href = "#line-" + line;
        link.tabIndex = -1; // the lanes' own key Enter follows it
        const holds = make("p", "tip-line");
        holds.append(link);
        node.append(holds);
      }
      node.classList.add("shown");
      const box = holder.getBoundingClientRect();
      const left = clientX - box.left;
      const wide = node.offsetWidth;
      const at = left + 16 + wide < box.width ? left + 16 : Math.max(0, left - 16 - wide);
      node.style.setProperty("left", Math.min(at, Math.max(0, box.width - wide)) + "px");
      node.style.setProperty("top", Math.max(0, clientY - box.top + 12) + "px");
    },
  };
}
