import { show, words } from "./common.js";
// A log that is not in the folder: pasted, chosen or dropped, with what it may not tell.
export function paste(opener) {
  const dialog = document.getElementById("paste-dialog");
  const form = document.getElementById("paste");
  const target = document.getElementById("answer");
  const text = document.getElementById("text");
  const file = document.getElementById("file");
  let dropped = null;

  async function send(body) {
    const stated = [...new FormData(form)].filter(([name, value]) => name !== "text" && typeof value === "string" && value.trim());
    const query = new URLSearchParams(/** @type {[string, string][]} */ (stated));
    target.setAttribute("aria-busy", "true");
    target.scrollIntoView({ block: "start" });
    try {
      const answer = await fetch("explain?" + query, { method: "POST", body });
      show(target, await answer.text());
    } catch (problem) {
      target.textContent = words["web-failed"];
    }
    target.removeAttribute("aria-busy");
    target.scrollIntoView({ block: "start" });
  }

  opener.addEventListener("click", () => {
    dropped = null;
    dialog.showModal();
    text.focus();
  });
  document.getElementById("paste-close").addEventListener("click", () => dialog.close());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    dialog.close();
    send(dropped || file.files[0] || new Blob([text.value], { type: "text/plain" }));
  });
  file.addEventListener("change", () => (text.value = ""));
  text.addEventListener("input", () => (file.value = ""));
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    if (!event.dataTransfer.files.length) return;
    dropped = event.dataTransfer.files[0];
    if (dialog.open) dialog.close();
    send(dropped);
  });
}
