import { number } from "./numbers.js";
import { byId } from "./dom.js";
// Tables that sort by a click on a head, and lines that are searched.

export function sortable() {
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = Array.from(table.querySelectorAll("thead th"));
    heads.forEach((head, column) => {
      const button = head.querySelector("button.sort");
      if (button) button.onclick = () => sort(table, heads, head, column);
    });
  }
}

function sort(table, heads, head, column) {
  const body = table.querySelector("tbody");
  const isDown = head.getAttribute("aria-sort") !== "descending";
  for (const one of heads) if (one.hasAttribute("aria-sort")) one.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
  const value = (row) => row.children[column].dataset.value || "";
  const sorted = Array.from(body.children).sort((a, b) => {
    const [one, other] = [value(a), value(b)];
    const gap = Number(other) - Number(one);
    return (Number.isNaN(gap) ? one.localeCompare(other) : gap) * (isDown ? 1 : -1);
  });
  body.replaceChildren(...sorted);
}

export function search() {
  const field = byId("log-find");
  if (!field) return;
  const lines = Array.from(document.querySelectorAll(".log li"));
  const found = byId("log-found");
  field.oninput = () => {
    const wanted = field.value.toLowerCase();
    let count = 0;
    for (const line of lines) {
      line.hidden = !line.textContent.toLowerCase().includes(wanted);
      count += line.hidden ? 0 : 1;
    }
    found.textContent = wanted ? number(count) + " / " + number(lines.length) : "";
  };
}
