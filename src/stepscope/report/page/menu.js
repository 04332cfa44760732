import { byId } from "./dom.js";
// What can be taken away: a text, the data, a link to this view, a print.

/** A page from disk may not use the clipboard of the browser's new kind everywhere: then the old way. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}

async function copied(button, text) {
  await copyText(text);
  const before = button.dataset.before || button.textContent;
  button.dataset.before = before;
  button.textContent = button.dataset.done;
  setTimeout(() => (button.textContent = before), 1500);
}

function save(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** `view` gives what is shown of the timeline, as the part of an address after the #. */
export function menu(view) {
  for (const button of document.querySelectorAll("button.copy[data-copy]")) {
    button.onclick = () => copied(button, button.dataset.copy);
  }
  const json = byId("save-json");
  if (json) json.onclick = () => save(json.dataset.name, byId("report").textContent);
  const link = byId("copy-link");
  if (link) link.onclick = () => copied(link, location.href.split("#")[0] + view());
  const print = byId("print-page");
  if (print) print.onclick = () => window.print();
  const box = document.querySelector("details.menu");
  if (!box) return;
  box.onkeydown = (event) => {
    if (event.key !== "Escape" || !box.open) return;
    box.open = false;
    box.querySelector("summary").focus();
  };
  box.onfocusout = (event) => {
    if (event.relatedTarget && !box.contains(event.relatedTarget)) box.open = false;
  };
}
