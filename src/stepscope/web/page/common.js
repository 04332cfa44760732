import { around } from "../../report/page/dom.js";
import { number, duration, fill, writeAs } from "../../report/page/numbers.js";
// What the views share: words, moments, what a silent run is taken for.
export const lang = document.documentElement.lang;
const holder = document.getElementById("words");
export const words = holder ? JSON.parse(holder.textContent) : { states: {}, doing: {}, phases: {} };
if (words.number) writeAs(words.number);

export const say = (key, holes) => fill(words[key], holes || {});

/** An element with its text and attributes; what a log says is only ever text. */
export function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === false || value == null) continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

const relative = new Intl.RelativeTimeFormat(lang, { numeric: "auto", style: "short" });
/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [["year", 31557600], ["month", 2629800], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];

/** How long ago: “3 min. ago”. */
export function ago(moment, now) {
  const seconds = moment - now;
  const unit = UNITS.find(([, size]) => Math.abs(seconds) >= size * (size === 604800 ? 2 : 0.995));
  return unit ? relative.format(Math.trunc(seconds / unit[1] - 0.005), unit[0]) : relative.format(Math.min(0, Math.trunc(seconds)), "second");
}

// Made once: a formatter takes longer to make than all else in a row.
/** @type {Intl.DateTimeFormatOptions} */
const TIME = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
/** @type {Intl.DateTimeFormatOptions} */
const DAY = { day: "numeric", month: "short" };
/** @type {Intl.DateTimeFormatOptions[]} */
const CLOCKS = [TIME, { ...DAY, ...TIME }, { ...DAY, ...TIME, year: "numeric" }, { ...DAY, year: "numeric" }];
const clocks = CLOCKS.map((options) => new Intl.DateTimeFormat(lang, options));
const whole = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "medium" });

/** A moment on this reader's clock; with the day where that is another one, and the day alone of a past year. */
export function clockTime(moment, now) {
  const at = new Date(moment * 1000);
  const today = new Date(now * 1000);
  const isToday = at.toDateString() === today.toDateString();
  const isThisYear = at.getFullYear() === today.getFullYear();
  return clocks[isToday ? 0 : isThisYear ? 1 : at > today ? 2 : 3].format(at);
}

export const day = (moment) => whole.format(new Date(moment * 1000));

/** What a run is at this moment: as its log says, or by how long it has been silent. @param {Row} row @param {number} now */
export function stateOf(row, now) {
  if (row.problem) return "unread";
  if (row.state) return row.state;
  if (!row.silence || row.written == null) return "unknown";
  const quiet = now - row.written;
  const pulse = pulseOf(row, now);
  if (quiet <= row.silence[0]) return pulse && pulse.doing === "stalled" ? "stalled" : "running";
  return row.silence[2] || (quiet > row.silence[1] ? "stopped" : "unknown");
}

/** What it does after so long a silence, since when, and what that usually takes. @param {Row} row @param {number} now */
export function pulseOf(row, now) {
  if (!row.pulses || !row.pulses.length || row.written == null) return null;
  const quiet = Math.max(0, now - row.written);
  const [, doing, begun, usual] = row.pulses.filter(([from]) => from <= quiet).pop() || row.pulses[0];
  return { doing, since: Math.max(0, quiet - begun), usual };
}

/** Seconds that pass while one looks: whole ones. */
export const passing = (seconds) => (seconds < 59.5 ? number(Math.round(seconds)) + "\u00a0s" : duration(seconds));

/** @param {Row} row @param {number} now */
export function doingText(row, now) {
  const pulse = pulseOf(row, now);
  if (!pulse) return "";
  const text = fill(words.doing[pulse.doing], { duration: passing(pulse.since) });
  const has = pulse.usual && (pulse.doing === "evaluation" || pulse.doing === "checkpoint");
  return has ? text + " " + say("live-usual", { duration: duration(pulse.usual) }) : text;
}

export function chip(state) {
  return make("span", { class: "chip", "data-state": state }, words.states[state] || state);
}

export function copyButtons(root) {
  root.addEventListener("click", async (event) => {
    const button = around(event, "button.copy");
    if (!button) return;
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = words["app-copied"];
      setTimeout(() => (button.textContent = before), 1500);
    } catch (problem) {
      getSelection().selectAllChildren(button.previousElementSibling); // no clipboard: at least chosen
    }
  });
}

/** Replace what is shown by markup of the server's, and draw it. */
export function show(target, markup) {
  const state = window.stepscope.keep();
  const parsed = new DOMParser().parseFromString(markup, "text/html");
  target.replaceChildren(...parsed.body.childNodes);
  window.stepscope.draw();
  window.stepscope.restore(state);
}
