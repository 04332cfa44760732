import { number, duration } from "../../report/page/numbers.js";
import { ago, chip, clockTime, day, doingText, make, passing, say, stateOf, words } from "./common.js";
// A row of the list, cell by cell.
const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 28;
// As the reports write it: `3.6%` in English, `3,6 %` in the other languages.
const PERCENT = document.documentElement.lang.startsWith("en") ? "%" : "\u00a0%";

function draw(tag, attributes) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  return node;
}

const two = (first, second, title) => {
  const cell = [make("span", { class: "one" }, first)];
  if (second) cell.push(make("span", { class: "two", title: title || false }, second));
  return cell;
};

/** @param {Row} row */
export function address(row) {
  return "run?path=" + encodeURIComponent(row.key);
}

/** Name and folder; for a run that is going, what it does. @param {Row} row */
export function names(row) {
  const cut = row.name.lastIndexOf("/");
  return { folder: cut < 0 ? "" : row.name.slice(0, cut), name: row.name.slice(cut + 1) };
}

/** @param {Row} row */
function run(row, state, now, isGrouped) {
  const { folder, name } = names(row);
  const link = make("a", { href: address(row), title: row.name }, name);
  const where = isGrouped ? "" : folder;
  const parts = [];
  if (row.problem) parts.push(row.problem);
  else if (state === "running" || state === "stalled") parts.push(make("span", { class: "doing" }, doingText(row, now)));
  else if (row.evidence && state !== "finished") parts.push(row.evidence);
  if (where) parts.push(make("span", { class: "where" }, where));
  if (row.files > 1) parts.push(say("app-files", { count: number(row.files) }));
  if (row.title) parts.push(make("span", { class: "via" }, row.title));
  const below = parts.flatMap((part, index) => (index ? [make("span", { class: part.className || false }, " · "), part] : [part]));
  const alarm = (row.alarms || []).find(([, severity]) => severity !== "info");
  const mark = alarm && state !== "finished" ? make("span", { class: "mark", "data-severity": alarm[1], title: alarm[2] }, "!", make("span", { class: "hidden" }, alarm[2])) : null;
  return [make("span", { class: "one" }, link, mark), below.length ? make("span", { class: "two", title: row.evidence || row.problem || false }, ...below) : null];
}

/** Never 100 before the end, never 0 after the start. */
const percent = (share) => (share < 0.0995 && share > 0 ? number(Math.max(0.1, Math.floor(1000 * share) / 10), 1) : number(Math.floor(100 * share)));

/** @param {Row} row */
function progress(row) {
  if (row.step == null) return ["–"];
  if (!row.total) return two(number(row.step), "");
  const share = Math.min(1, row.step / row.total);
  const picture = draw("svg", { class: "progress", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" });
  picture.append(draw("rect", { class: "rest", width: 100, height: 4 }), draw("rect", { class: "done", width: (100 * share).toFixed(1), height: 4 }));
  return [make("span", { class: "one" }, percent(share) + PERCENT, make("span", { class: "of" }, say("app-progress", { step: number(row.step), total: number(row.total) }))), picture];
}

/** Seconds left of a run that is going, counted down since its last line; null where nobody knows its total. @param {Row} row @param {number} now */
export function leftOf(row, now) {
  if (!row.total || row.remaining_s == null || row.moment == null) return row.total ? row.remaining_s : null;
  return row.remaining_s - Math.max(0, now - row.moment);
}

/** @param {Row} row */
function left(row, state, now) {
  const isGoing = state === "running" || state === "stalled";
  if (isGoing) {
    const seconds = leftOf(row, now);
    if (seconds == null) return two("–", words["app-no-total"]);
    const at = say("app-left-at", { time: clockTime(now + Math.max(0, seconds), now) });
    const span = row.low_s != null && row.high_s != null ? duration(Math.max(0, seconds + row.low_s - row.remaining_s)) + " – " + duration(Math.max(0, seconds + row.high_s - row.remaining_s)) : "";
    return two(seconds > 0 ? passing(seconds) : words["app-overdue"], at, span);
  }
  const end = row.moment != null ? row.moment : row.written;
  if (end == null) return ["–"];
  return two(clockTime(end, now), row.wall_s ? say("app-ran", { duration: duration(row.wall_s) }) : "", day(end));
}

/** The run's time from left to right: a line for the level of normal iterations, bars for the share spent elsewhere. @param {Row} row */
export function spark(row) {
  if (!row.levels || !row.levels.length) return "";
  const count = row.levels.length;
  const picture = draw("svg", { class: "spark", viewBox: `0 0 ${count * 4} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const tops = new Map();
  const shapes = new Map(); // one shape a phase: thousands of small ones would make scrolling slow
  for (const [stretch, phase, share] of row.losses) {
    const below = tops.get(stretch) || 0;
    const height = Math.min(HEIGHT - below, (share * HEIGHT) / 100);
    tops.set(stretch, below + height);
    shapes.set(phase, (shapes.get(phase) || "") + `M${stretch * 4} ${(HEIGHT - below).toFixed(1)}v-${height.toFixed(1)}h3v${height.toFixed(1)}z`);
  }
  for (const [phase, shape] of shapes) picture.append(draw("path", { class: phase, d: shape }));
  const points = row.levels.map((level, index) => (level == null ? null : `${index * 4 + 2},${((HEIGHT - 3) * (1 - level / 100) + 1.5).toFixed(1)}`)).filter(Boolean);
  if (points.length > 1) picture.append(draw("polyline", { points: points.join(" ") }));
  return picture;
}

/** The cells of a row, in the order of the columns; `box` is its tick. @param {Row} row @param {number} now */
export function cells(row, now, box, isGrouped) {
  const state = stateOf(row, now);
  const cell = (name, ...children) => make("span", { role: "cell", class: "c-" + name }, ...children.flat());
  const lost = row.lost == null ? "–" : number(100 * row.lost, row.lost < 0.0995 && row.lost > 0 ? 1 : 0) + PERCENT;
  return [
    make("span", { role: "cell", class: "c-box" }, box),
    cell("state", chip(state)),
    cell("run", run(row, state, now, isGrouped)),
    cell("trainer", make("span", { class: "one" }, row.title || "")),
    cell("progress", progress(row)),
    cell("step", row.typical_s == null ? "–" : duration(row.typical_s)),
    cell("left", left(row, state, now)),
    cell("overhead", lost),
    cell("loss", ...(row.best_loss == null ? ["–"] : two(number(row.best_loss, row.best_loss < 100 ? 4 : 1), row.best_step != null ? say("app-best-at", { step: number(row.best_step) }) : ""))),
    cell("time", spark(row)),
    cell("updated", make("span", { title: day(row.written || row.mtime) }, ago(row.written || row.mtime, now))),
  ];
}

/** What in a row depends on the clock, in place: nothing moves under the pointer. @param {Element} node @param {Row} row @param {number} now */
export function refresh(node, row, now) {
  const state = stateOf(row, now);
  const doing = node.querySelector(".doing");
  if (doing) doing.textContent = doingText(row, now);
  if (state === "running" || state === "stalled") node.querySelector(".c-left").replaceChildren(...left(row, state, now));
  node.querySelector(".c-updated span").textContent = ago(row.written || row.mtime, now);
}
