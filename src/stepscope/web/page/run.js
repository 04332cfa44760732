import { chip, doingText, show, stateOf, words } from "./common.js";
// An open run: drawn again when its log has changed, and what it does now.
export function start(app) {
  const query = new URLSearchParams(location.search);
  const doing = document.getElementById("doing");
  const trouble = document.getElementById("problem");
  let events = null;

  function now() {
    const holder = document.getElementById("now");
    const row = holder ? JSON.parse(holder.textContent) : null;
    const at = Date.now() / 1000;
    const state = row ? stateOf(row, at) : "unknown";
    const isGoing = state === "running" || state === "stalled";
    // The page's own head may say how it ended; what it does now changes every second.
    const isSaid = document.querySelector("#run .chip");
    doing.hidden = !row || (isSaid && !isGoing);
    if (doing.hidden) return;
    doing.replaceChildren(...(isSaid ? [] : [chip(state), " "]), isGoing ? doingText(row, at) : row.evidence || "");
  }

  async function again() {
    const answer = await fetch("fragment?" + query);
    if (!answer.ok) return;
    const place = window.scrollY;
    show(document.getElementById("run"), await answer.text());
    window.scrollTo(0, place);
    now();
  }

  // A browser has six connections for us in all: a page that nobody sees needs none.
  function listen() {
    if (events) events.close();
    events = null;
    if (document.hidden) return;
    events = new EventSource("events?path=" + encodeURIComponent(app.dataset.path));
    events.onmessage = again;
    events.onopen = () => (trouble.hidden = true);
    events.onerror = () => {
      trouble.textContent = words["app-offline"];
      trouble.hidden = false;
    };
  }
  document.addEventListener("visibilitychange", () => {
    listen();
    if (!document.hidden) again();
  });
  window.addEventListener("pagehide", () => events && events.close());
  listen();
  now();
  setInterval(now, 1000);
}
