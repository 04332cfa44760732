// Numbers, durations and moments as Python's side of the page writes them; a test compares the two.
const lang = document.documentElement.lang;
let leastGrouped = 1000;
let padsHours = true;
let day = "d";

const formats = new Map(); // made once: it takes far longer than to use one

export function number(value, digits) {
  const isGrouped = Math.abs(value) >= leastGrouped;
  const key = (digits || 0) * 2 + Number(isGrouped);
  if (!formats.has(key)) {
    /** @type {Intl.NumberFormatOptions} */
    const options = { minimumFractionDigits: digits || 0, maximumFractionDigits: digits || 0, useGrouping: isGrouped ? "always" : false };
    formats.set(key, new Intl.NumberFormat(lang, options));
  }
  return formats.get(key).format(value);
}

const MINUTE = 59.95; // from here on a duration is written in minutes, in hours
const HOUR = 59.5 * 60;
const MOST_OF_A_UNIT = 99.5; // the end of a range may go on to 99 of a unit
const WIDE = 3; // a range as wide as so many of its larger unit leaves the smaller one unsure
const DECADES_APART = 100; // ends so many times apart have no unit in common that suits both
const LARGE_UNITS = () => ({ min: 60, h: 3600, [day]: 86400 });

// [value, digits, unit], largest first; `scale` is a duration whose units to use instead.
function parts(seconds, scale) {
  const size = Math.abs(scale === undefined ? seconds : scale);
  if (size === 0) return [[0, 0, "s"]];
  if (size < 0.0005) return [[seconds * 1e6, 0, "µs"]];
  if (size < 0.9995) return [[seconds * 1000, size < 0.00995 ? 2 : size < 0.0995 ? 1 : 0, "ms"]];
  if (size < 9.995) return [[seconds, 2, "s"]];
  if (size < MINUTE) return [[seconds, 1, "s"]];
  if (Math.round(size) < 600) return pair(Math.round(seconds), 60, "min", "s");
  if (size < HOUR) return [[Math.round(seconds / 60), 0, "min"]];
  if (Math.round(size / 60) < 48 * 60) return pair(Math.round(seconds / 60), 60, "h", "min");
  return pair(Math.round(seconds / 3600), 24, day, "h");
}

// Both ends of a range, in the same units: those of its middle. A wide one has no more digits than it leaves sure;
// where its ends lie decades apart, each has its own unit.
function ends(low, high) {
  const [first, last] = [parts(low, high), parts(high)];
  if (!isNothing(first) && low > 0 && high >= DECADES_APART * low) return [coarse(low), coarse(high)];
  for (const [size, unit, limit] of /** @type {[number, string, number][]} */ ([[1, "s", MINUTE], [60, "min", HOUR]])) {
    if (size <= low && (low + high) / 2 < limit && limit <= high && high < MOST_OF_A_UNIT * size) {
      return [[[Math.round(low / size), 0, unit]], [[Math.round(high / size), 0, unit]]];
    }
  }
  const unit = LARGE_UNITS()[last[0][2]];
  if (unit && !isNothing(first) && high - low >= WIDE * unit) return [inLargeUnits(low, first), inLargeUnits(high, last)];
  return [first, last];
}

// A duration in the largest unit that suits it, in whole ones; of a few seconds also tenths.
function coarse(seconds) {
  const found = parts(seconds);
  if (found.length > 1) return inLargeUnits(seconds, found);
  const [value, , unit] = found[0];
  return [[value, unit === "s" && seconds < 9.95 ? 1 : 0, unit]];
}

// The nearest whole number of the larger of two units.
function inLargeUnits(seconds, found) {
  if (found.length < 2) return found;
  return [[Math.floor(seconds / LARGE_UNITS()[found[0][2]] + 0.5), 0, found[0][2]]];
}

function isNothing(found) {
  return found.every(([value, digits]) => Math.round(value * 10 ** digits) === 0);
}

function pair(total, base, big, small) {
  if (total < base) return [[total, 0, small]];
  const head = [Math.floor(total / base), 0, big];
  return total % base ? [head, [total % base, 0, small]] : [head];
}

// No line ends inside a duration.
function joined(found) {
  return found.map(([value, digits, unit]) => number(value, digits) + "\u00a0" + unit).join("\u00a0");
}

export function duration(seconds, scale) {
  return joined(parts(seconds, scale));
}

export function span(low, high) {
  const [first, last] = ends(low, high);
  if (isNothing(first) && joined(first) !== joined(last)) return "≤\u00a0" + joined(last);
  if (first.length === 1 && last.length === 1 && first[0][2] === last[0][2]) {
    return number(first[0][0], first[0][1]) + "–\u2060" + joined(last);
  }
  return joined(first) + " –\u00a0" + joined(last); // nor behind the dash of a range
}

// The clock `seconds` after an ISO moment, on that moment's own clock: a page opened elsewhere shows the same.
export function clock(moment, seconds, frame) {
  const begin = Date.parse(moment.slice(0, 19) + "Z");
  const end = new Date(Math.floor((begin + seconds * 1000 + 30000) / 60000) * 60000);
  const show = (options) => new Intl.DateTimeFormat(lang, { timeZone: "UTC", ...options }).format(end);
  const time = show({ hour: padsHours ? "2-digit" : "numeric", minute: "2-digit", hourCycle: "h23" });
  if (new Date(begin).toDateString() === end.toDateString()) return time;
  return fill(frame, { date: show({ weekday: "short", day: "numeric", month: "short" }), time: time });
}

export function fill(frame, holes) {
  return frame.replace(/\{(\w+)\}/g, (whole, name) => (name in holes ? holes[name] : whole));
}

// A column packed by Python.
export function unpack(text, Kind) {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  return new Kind(bytes.buffer);
}

// The sign of a day.
export const dayUnit = () => day;

export function writeAs(words) {
  leastGrouped = words.least_grouped;
  padsHours = words.pads_hours;
  day = words.day;
}
