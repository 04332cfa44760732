// The filter of a fleet's page: of runs, hosts and groups, the rows that hold all the words that were typed.
export function holds(text, words) {
  return words.every((word) => text.includes(word));
}

function filter(field, count) {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of document.querySelectorAll("[data-filter] tr")) {
    if (row.querySelector("th")) continue;
    row.hidden = !holds(row.textContent.toLowerCase(), words);
    shown += row.hidden ? 0 : 1;
  }
  count.textContent = words.length ? String(shown) : "";
  // What is filtered for is looked at, not hidden behind a heading.
  for (const part of document.querySelectorAll("details[data-filter]")) {
    if (words.length) part.open = part.querySelector("tr:not([hidden]) td") !== null;
  }
}

const field = document.getElementById("filter");
if (field) field.addEventListener("input", () => filter(field, document.getElementById("filtered")));
