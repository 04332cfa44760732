import { make, say, words } from "./common.js";
// What happens to runs while somebody looks, or has asked to be told: alarms, ends, stalls.
const MOST = 4;
const ENDS = new Set(["finished", "crashed", "out_of_memory", "interrupted", "killed", "stopped", "stalled"]);

export function notices(place, button) {
  let wants = false;

  function tell(row, text, tone) {
    const link = make("a", { href: "run?path=" + encodeURIComponent(row.key) }, row.name);
    const close = make("button", { type: "button", class: "plain", "aria-label": words["app-dismiss"] }, "×");
    const toast = make("div", { class: "toast", "data-tone": tone }, make("p", {}, link, " ", text), close);
    close.addEventListener("click", () => toast.remove());
    place.prepend(toast);
    while (place.children.length > MOST) place.lastChild.remove();
    if (wants && window.Notification && Notification.permission === "granted") {
      const notice = new Notification(say("app-notice-state", { name: row.name, state: text }), { tag: row.key });
      notice.onclick = () => window.focus();
    }
  }

  function turned(row, before, after) {
    if (before !== after && ENDS.has(after) && (before === "running" || before === "stalled")) {
      tell(row, words.states[after], after === "finished" ? "good" : "bad");
    }
  }

  /** A row that has been read again: its end, or an alarm that it did not have. */
  function changed(before, after, now) {
    if (after.state && before.seen) turned(after, before.seen, after.state);
    const known = new Set((before.alarms || []).map(([code]) => code));
    for (const [code, severity, text] of after.alarms || []) {
      if (!known.has(code) && severity !== "info") tell(after, text, severity === "error" ? "bad" : "warn");
    }
    return now;
  }

  function mark() {
    button.setAttribute("aria-pressed", String(wants));
    button.textContent = words[wants ? "app-notify-off" : "app-notify-on"];
  }

  if (window.Notification) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      if (wants) wants = false;
      else if ((await Notification.requestPermission()) === "granted") wants = true;
      else button.title = words["app-notify-denied"];
      mark();
    });
  }
  return { turned, changed };
}
