import { around } from "../../report/page/dom.js";
import { cells, leftOf, names, refresh } from "./cells.js";
import { number } from "../../report/page/numbers.js";
import { make, say, stateOf, words } from "./common.js";
import { paste } from "./paste.js";
import { notices } from "./notices.js";
// The list: what the server knows, filtered, sorted, grouped, and of that the rows that can be seen.
const MOST_COMPARED = 8;
const ASK_MS = 2000;
const HURRY_MS = 300;
const EXTRA = 12; // rows drawn beyond what is seen
const STATES = ["running", "stalled", "crashed", "out_of_memory", "interrupted", "killed", "finished", "stopped", "unknown", "unread"];
const RANK = new Map(STATES.map((state, index) => [state, index]));

export function start(app) {
  const find = (id) => document.getElementById(id);
  const rowsNode = find("rows");
  const table = find("table");
  const rows = new Map(); // by key
  const drawn = new Map(); // by key or group: the element
  const chosen = new Map();
  const settings = read();
  const tell = notices(find("toasts"), find("notify"));
  let order = []; // what is shown: {row} or {folder, count}
  let offsets = [0];
  let version = 0;
  let isKnown = false; // whether anything can be said of the folder yet
  let progress = null;
  let isFailing = false;
  let clock = 0; // the server's clock is ours: it runs on this machine or the logs' times are its own
  const now = () => Date.now() / 1000 + clock;

  // -- what is set, kept in the address ---------------------------------------------------------------

  function read() {
    const query = new URLSearchParams(location.hash.slice(1));
    const [by, way] = (query.get("sort") || "updated.down").split(".");
    return { text: query.get("q") || "", state: query.get("state") || "", trainer: query.get("trainer") || "", folder: query.get("folder"), sort: by, down: way !== "up", grouped: query.get("grouped") === "1" };
  }

  function write() {
    const query = new URLSearchParams();
    if (settings.text) query.set("q", settings.text);
    if (settings.state) query.set("state", settings.state);
    if (settings.trainer) query.set("trainer", settings.trainer);
    if (settings.folder != null) query.set("folder", settings.folder);
    if (settings.sort !== "updated" || !settings.down) query.set("sort", settings.sort + (settings.down ? ".down" : ".up"));
    if (settings.grouped) query.set("grouped", "1");
    const hash = query.toString();
    history.replaceState(null, "", hash ? "#" + hash : location.pathname + location.search);
  }

  // -- which rows, in which order ---------------------------------------------------------------------

  const value = {
    state: (row) => RANK.get(row.seen),
    run: (row) => row.name.toLowerCase(),
    trainer: (row) => (row.title || "").toLowerCase(),
    progress: (row) => (row.total ? row.step / row.total : null),
    step: (row) => row.typical_s,
    left: (row) => (row.seen === "running" || row.seen === "stalled" ? leftOf(row, now()) : row.moment == null ? null : 1e12 - row.moment),
    overhead: (row) => row.lost,
    loss: (row) => row.best_loss,
    updated: (row) => row.written || row.mtime,
  };

  function compare(one, other) {
    const of = value[settings.sort] || value.updated;
    const [a, b] = [of(one), of(other)];
    if (a === b || (a == null && b == null)) return one.name < other.name ? -1 : 1;
    if (a == null) return 1; // what is unknown comes last either way
    if (b == null) return -1;
    return (a < b ? -1 : 1) * (settings.down ? -1 : 1);
  }

  function arrange() {
    const at = now();
    const text = settings.text.trim().toLowerCase();
    const counts = new Map();
    const kept = [];
    for (const row of rows.values()) {
      row.seen = stateOf(row, at);
      if (text && !(row.name + " " + (row.title || "")).toLowerCase().includes(text)) continue;
      if (settings.trainer && row.title !== settings.trainer) continue;
      if (settings.folder != null && names(row).folder !== settings.folder) continue;
      counts.set(row.seen, (counts.get(row.seen) || 0) + 1);
      if (!settings.state || row.seen === settings.state) kept.push(row);
    }
    kept.sort(compare);
    order = kept.map((row) => ({ row }));
    if (settings.grouped) {
      const groups = new Map();
      for (const row of kept) {
        const { folder } = names(row);
        groups.has(folder) ? groups.get(folder).push(row) : groups.set(folder, [row]);
      }
      order = [...groups].flatMap(([folder, own]) => [{ folder, count: own.length }, ...own.map((row) => ({ row }))]);
    }
    measure();
    chips(counts);
    summary(kept.length);
    draw();
  }

  function measure() {
    const style = getComputedStyle(table);
    const row = parseFloat(style.getPropertyValue("--row")) || 56;
    const group = parseFloat(style.getPropertyValue("--group")) || 40;
    offsets = [0];
    for (const item of order) offsets.push(offsets[offsets.length - 1] + (item.row ? row : group));
    rowsNode.style.height = offsets[offsets.length - 1] + "px";
    table.setAttribute("aria-rowcount", String(order.length + 1));
  }

  // -- what is drawn ----------------------------------------------------------------------------------

  function firstBelow(y) {
    let [low, high] = [0, order.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      offsets[middle + 1] <= y ? (low = middle + 1) : (high = middle);
    }
    return low;
  }

  function draw() {
    if (!isKnown) return; // the skeleton stays until something is known
    const top = -rowsNode.getBoundingClientRect().top;
    const first = Math.max(0, firstBelow(top) - EXTRA);
    const last = Math.min(order.length, firstBelow(top + window.innerHeight) + EXTRA);
    const wanted = new Set();
    const at = now();
    const nodes = [];
    for (let index = first; index < last; index++) {
      const item = order[index];
      const id = item.row ? "r" + item.row.key : "g" + item.folder;
      wanted.add(id);
      let known = drawn.get(id);
      if (!known || known.of !== (item.row || item.count) || known.grouped !== settings.grouped) {
        known = { node: fill(item, at, known && known.node), of: item.row || item.count, grouped: settings.grouped };
        drawn.set(id, known);
      }
      known.node.style.top = offsets[index] + "px";
      known.node.setAttribute("aria-rowindex", String(index + 2));
      nodes.push(known.node);
    }
    for (const [id, known] of drawn) {
      if (wanted.has(id)) continue;
      if (known.node.contains(document.activeElement)) {
        nodes.push(known.node); // where the keyboard is, stays
        continue;
      }
      known.node.remove();
      drawn.delete(id);
    }
    place(nodes);
  }

  /** Moves the keyboard to the run above or below, which is drawn now if it is not yet. */
  function focusBeside(/** @type {Element} */ element, /** @type {number} */ step) {
    const from = Number(element.closest("[aria-rowindex]")?.getAttribute("aria-rowindex")) - 2;
    let to = from + step;
    while (order[to] && !order[to].row) to += step;
    if (!order[to]) return false;
    const id = "r" + order[to].row.key;
    if (!drawn.has(id)) {
      window.scrollBy(0, offsets[to] - offsets[from]);
      draw();
    }
    const next = drawn.get(id)?.node.querySelector(element.matches("input") ? "input" : "a");
    if (next) next.focus();
    return Boolean(next);
  }

  /** The rows in the order of the screen, so that the keyboard goes through them in it; moved only where they are not. */
  function place(nodes) {
    let next = rowsNode.firstChild;
    for (const node of nodes) {
      if (node === next) next = next.nextSibling;
      else if (!(node.isConnected && node.contains(document.activeElement))) rowsNode.insertBefore(node, next);
    }
    for (const node of [...rowsNode.children]) if (node.classList.contains("skeleton")) node.remove();
  }

  function fill(item, at, before) {
    if (!item.row) {
      const node = before || make("div", { role: "row", class: "group" });
      node.replaceChildren(make("span", { role: "cell" }, item.folder || words["app-no-folder"], make("b", {}, number(item.count))));
      return node;
    }
    const row = item.row;
    const node = before || make("div", { role: "row", class: "cells" });
    const focus = before && before.contains(document.activeElement) ? document.activeElement : null;
    const box = make("input", { type: "checkbox", value: row.key, "aria-label": row.name });
    box.checked = chosen.has(row.key);
    box.disabled = !box.checked && (chosen.size >= MOST_COMPARED || row.problem != null);
    node.dataset.state = row.seen;
    node.classList.toggle("ticked", box.checked);
    node.replaceChildren(...cells(row, at, box, settings.grouped));
    if (focus) (focus.matches("input") ? box : node.querySelector("a")).focus({ preventScroll: true });
    return node;
  }

  /** What depends on the clock alone: seconds ago, time left, what a run does. */
  function tick() {
    const at = now();
    let hasTurned = false;
    for (const row of rows.values()) {
      if (row.state || row.problem) continue;
      const seen = stateOf(row, at);
      if (seen !== row.seen) {
        hasTurned = true;
        tell.turned(row, row.seen, seen);
      }
    }
    if (hasTurned) return arrange();
    for (const known of drawn.values()) if (known.of.key !== undefined) refresh(known.node, known.of, at);
    return undefined;
  }

  // -- around the table -------------------------------------------------------------------------------

  function chips(counts) {
    const node = find("states");
    const all = [...counts.values()].reduce((sum, one) => sum + one, 0);
    const wanted = ["", ...STATES.filter((state) => counts.get(state) || state === settings.state)];
    while (node.children.length > wanted.length) node.lastChild.remove();
    wanted.forEach((state, index) => {
      const button = node.children[index] || node.appendChild(make("button", { type: "button", class: "filter" }));
      const text = (state ? words.states[state] : words["app-all"]) + " ";
      const count = number(state ? counts.get(state) || 0 : all);
      if (button.textContent !== text + count) button.replaceChildren(text, make("b", {}, count));
      button.dataset.state = state;
      button.setAttribute("aria-pressed", String(settings.state === state));
    });
    const running = counts.get("running") || 0;
    document.title = running ? say("app-title-running", { count: number(running) }) : "Stepscope";
  }

  function choices(id, values, write) {
    const select = find(id);
    const known = new Set([...select.options].map((option) => option.value));
    for (const one of [...values].sort()) if (!known.has(one)) select.append(make("option", { value: one }, write(one)));
  }

  function summary(shown) {
    const total = rows.size;
    const parts = total ? [say("app-count", { shown: number(shown), total: number(total) })] : [];
    const isReading = progress && (!progress.is_searched || progress.num_read < progress.num_found);
    if (progress) {
      if (isReading) parts.push(progress.is_searched ? say("app-reading", { read: number(progress.num_read), found: number(progress.num_found) }) : say("app-reading", { read: number(progress.num_read), found: "…" }));
      if (progress.num_others) parts.push(say("app-others", { count: number(progress.num_others) }));
      if (progress.num_unreadable) parts.push(say("app-unreadable", { count: number(progress.num_unreadable) }));
    }
    if (total && !shown) parts.unshift(words["app-no-match"]);
    const text = parts.join(" · ");
    if (find("count").textContent !== text) find("count").textContent = text;
    table.setAttribute("aria-busy", String(Boolean(isReading)));
    const isEmpty = isKnown && !total && !isReading;
    find("empty").hidden = !isEmpty;
    table.hidden = isEmpty;
    find("states").parentElement.hidden = isEmpty;
    const live = find("live");
    live.dataset.tone = isFailing ? "bad" : "good";
    const badge = isFailing ? words["app-now-off"] : words["app-now-live"];
    if (live.textContent !== badge) live.textContent = badge;
  }

  function picked() {
    const bar = find("chosen");
    bar.hidden = !chosen.size;
    const link = find("compare");
    link.href = "compare?" + [...chosen.keys()].map((key) => "path=" + encodeURIComponent(key)).join("&");
    const can = chosen.size > 1;
    link.toggleAttribute("data-off", !can);
    link.setAttribute("aria-disabled", String(!can));
    const shown = [...chosen.values()].map((row) => names(row).name).join(", ");
    const more = chosen.size >= MOST_COMPARED ? words["app-most"] : can ? shown : words["app-choose-more"];
    find("chosen-text").replaceChildren(make("b", {}, say("app-chosen", { count: number(chosen.size) })), " ", make("span", {}, more));
    document.body.classList.toggle("has-bar", chosen.size > 0);
    for (const known of drawn.values()) if (known.of.key !== undefined) fill({ row: known.of }, now(), known.node);
  }

  // -- the server -------------------------------------------------------------------------------------

  async function ask() {
    let more = false;
    try {
      const answer = await fetch("rows?since=" + version, { cache: "no-store" });
      if (!answer.ok) throw new Error(String(answer.status));
      more = take(await answer.json());
      isFailing = false;
    } catch (problem) {
      isFailing = true;
    }
    const trouble = find("problem");
    trouble.hidden = !isFailing;
    if (isFailing && !trouble.textContent) trouble.textContent = words["app-offline"];
    if (isFailing) summary(order.filter((item) => item.row).length);
    setTimeout(ask, more ? 0 : isFailing || (progress && progress.is_searched && progress.num_read === progress.num_found) ? ASK_MS : HURRY_MS);
  }

  function take(found) {
    const before = progress;
    const isNew = found.rows.length || found.gone.length || !isKnown || JSON.stringify(before) !== JSON.stringify(found.progress);
    progress = found.progress;
    if (found.version < version) rows.clear(); // another server at the same address
    for (const key of found.gone) {
      rows.delete(key);
      chosen.delete(key);
    }
    for (const row of found.rows) {
      const known = rows.get(row.key);
      if (known) tell.changed(known, row, now());
      rows.set(row.key, row);
      if (chosen.has(row.key)) chosen.set(row.key, row);
    }
    version = found.version;
    isKnown = isKnown || found.rows.length > 0 || found.progress.is_searched;
    if (found.rows.length) {
      choices("trainer", new Set(found.rows.map((row) => row.title).filter(Boolean)), (one) => one);
      choices("folder", new Set(found.rows.map((row) => "/" + names(row).folder)), (one) => one.slice(1) || words["app-no-folder"]);
      if (settings.trainer) find("trainer").value = settings.trainer;
      if (settings.folder != null) find("folder").value = "/" + settings.folder;
    }
    if (isNew) arrange();
    return found.more;
  }

  // -- the reader -------------------------------------------------------------------------------------

  function set(changes) {
    Object.assign(settings, changes);
    write();
    sortMarks();
    arrange();
  }

  function sortMarks() {
    find("sort").value = settings.sort;
    for (const button of table.querySelectorAll("button[data-sort]")) {
      const is = button.dataset.sort === settings.sort;
      button.parentElement.setAttribute("aria-sort", is ? (settings.down ? "descending" : "ascending") : "none");
    }
  }

  function sortBy(column) {
    const first = { run: false, trainer: false, state: false, left: false, loss: false, step: false }[column];
    set(settings.sort === column ? { down: !settings.down } : { sort: column, down: first === undefined });
  }

  find("search").value = settings.text;
  find("grouped").checked = settings.grouped;
  find("search").addEventListener("input", (/** @type {{target: HTMLInputElement}} */ event) => set({ text: event.target.value }));
  find("trainer").addEventListener("change", (/** @type {{target: HTMLInputElement}} */ event) => set({ trainer: event.target.value }));
  find("folder").addEventListener("change", (/** @type {{target: HTMLInputElement}} */ event) => set({ folder: event.target.value ? event.target.value.slice(1) : null }));
  find("grouped").addEventListener("change", (/** @type {{target: HTMLInputElement}} */ event) => set({ grouped: event.target.checked }));
  find("sort").addEventListener("change", (/** @type {{target: HTMLInputElement}} */ event) => sortBy(event.target.value));
  find("states").addEventListener("click", (event) => {
    const button = around(event, "button");
    if (button) set({ state: button.dataset.state === settings.state ? "" : button.dataset.state });
  });
  table.addEventListener("click", (event) => {
    const button = around(event, "button[data-sort]");
    if (button) sortBy(button.dataset.sort);
    else if (!around(event, "a, input, button") && !String(getSelection())) {
      const link = around(event, ".cells:not(.skeleton)");
      if (link && link.querySelector("a") && link.parentElement === rowsNode && !around(event, ".c-box")) link.querySelector("a").click();
    }
  });
  rowsNode.addEventListener("change", (event) => {
    const key = event.target.value;
    event.target.checked ? chosen.set(key, rows.get(key)) : chosen.delete(key);
    picked();
  });
  find("clear").addEventListener("click", () => {
    chosen.clear();
    picked();
    find("search").focus();
  });
  find("compare").addEventListener("click", (event) => {
    if (chosen.size < 2) event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    const inField = around(event, "input:not([type=checkbox]), textarea, select, dialog");
    if (event.key === "/" && !inField) {
      event.preventDefault();
      find("search").focus();
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && event.target instanceof Element && rowsNode.contains(event.target)) {
      if (focusBeside(event.target, event.key === "ArrowDown" ? 1 : -1)) event.preventDefault();
    }
  });
  let isWaiting = false;
  const soon = () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      draw();
    });
  };
  window.addEventListener("scroll", soon, { passive: true });
  window.addEventListener("resize", () => {
    measure();
    soon();
  });
  sortMarks();
  paste(find("new"));
  setInterval(tick, 1000);
  ask();
  return app;
}
