// What several modules do to the page.

/** @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/** What of the page an event is about: the nearest element around it that fits.
 * @param {Event} event @param {string} selector @returns {any} */
export const around = (event, selector) => (event.target instanceof Element ? event.target.closest(selector) : null);

/** A new element with a class and a text: text only, never markup.
 * @param {string} tag @param {string} [className] @param {string} [text] @returns {any} */
export function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

// The square before a phase's name; the fill comes with the class.
export function square(className) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("class", "key");
  svg.setAttribute("viewBox", "0 0 10 10");
  svg.setAttribute("aria-hidden", "true");
  const rect = document.createElementNS(space, "rect");
  rect.setAttribute("class", className);
  rect.setAttribute("width", "10");
  rect.setAttribute("height", "10");
  rect.setAttribute("rx", "2");
  svg.append(rect);
  return svg;
}

// The first place in ascending numbers that is not below `value`.
export function firstAt(numbers, value) {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The place of the number next to `value`.
export function nearestAt(numbers, value) {
  const place = firstAt(numbers, value);
  if (place === 0) return 0;
  if (place === numbers.length) return place - 1;
  return value - numbers[place - 1] <= numbers[place] - value ? place - 1 : place;
}
