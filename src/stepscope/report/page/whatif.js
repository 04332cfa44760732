import { number, duration, span, clock, fill } from "./numbers.js";
import { byId, make } from "./dom.js";
// The what-if sliders.

/** The same arithmetic as `stepscope advise --change`; a test compares the two. @param {WhatIf} base */
export function whatIf(base, settings) {
  const wanted = { ...base, ...settings };
  const steps = Math.max(0, wanted.max_steps - base.last_step);
  const share = steps / Math.max(1, base.steps);
  let evaluations = base.evaluations;
  if (base.eval_interval && (wanted.eval_interval !== base.eval_interval || wanted.max_steps !== base.max_steps)) {
    const upto = (step) => Math.floor(step / wanted.eval_interval);
    evaluations = Math.max(0, upto(wanted.max_steps) - upto(base.done_step));
  }
  const times = base.evaluations ? evaluations / base.evaluations : 1;
  const scale = base.eval_iters ? wanted.eval_iters / base.eval_iters : 1;
  const rarer = base.checkpoint_interval ? base.checkpoint_interval / wanted.checkpoint_interval : 1;
  const saves = base.checkpoint_s * (base.saves_follow ? times : share) * rarer;
  const remaining = Math.max(0, base.other_s + base.step_s * share + base.evaluation_s * times * scale + saves);
  const part = base.remaining_s ? remaining / base.remaining_s : 1;
  return {
    evaluations,
    remaining_s: remaining,
    low_s: base.low_s * part,
    high_s: base.high_s * part,
    error: base.loss_sd && wanted.eval_iters ? base.loss_sd / Math.sqrt(wanted.eval_iters) : null,
  };
}

// A slider goes from 0 to 1000 on a logarithmic scale; its values are round, and the present one is among them.
export function sliderScale(low, high, now) {
  const range = Math.log(high / low) || 1;
  const place = (value) => Math.round((1000 * Math.log(value / low)) / range);
  const value = (at) => {
    if (at === place(now)) return now;
    const exact = low * Math.exp((at / 1000) * range);
    const size = 10 ** Math.max(0, Math.floor(Math.log10(exact)) - 1);
    return Math.max(low, Math.min(high, Math.round(exact / size) * size));
  };
  return { place, value };
}

/** Puts the sliders to work; `changed` is told the forecast that they make, or null where they are as they were. @param {PageData} data */
export function sliders(data, changed) {
  const base = data.whatif;
  const box = byId("sliders");
  if (!base || !box) return;
  const words = data.words;
  const fields = Array.from(box.querySelectorAll('input[type="number"]'));
  const answer = byId("whatif");
  const copy = byId("whatif-copy");
  const flags = byId("whatif-flags");

  function update() {
    const settings = {};
    for (const field of fields) {
      const typed = Math.round(Number(field.value));
      settings[field.name] = Math.max(Number(field.min), typed || Number(field.defaultValue));
    }
    const found = whatIf(base, settings);
    const saved = base.remaining_s - found.remaining_s;
    const isRange = duration(found.low_s) !== duration(found.high_s);
    const range = isRange ? " (" + span(found.low_s, found.high_s) + ")" : "";
    const items = [fill(words.left, { duration: duration(found.remaining_s), range })];
    if (base.moment) items.push(fill(words.done, { time: clock(base.moment, found.remaining_s, words.clock_with_date) }));
    if (base.eval_interval) items.push(fill(words.evaluations, { number: number(found.evaluations) }));
    if (found.error !== null) items.push(fill(words.error, { error: number(found.error, 5) }));
    answer.textContent = items.join(" · ");
    // Less than a thousandth of it is rounding.
    if (Math.abs(saved) > base.remaining_s / 1000) {
      const delta = make("span", "chip", fill(saved > 0 ? words.less : words.more, { duration: duration(Math.abs(saved)) }));
      delta.dataset.verdict = saved > 0 ? "agrees" : "disagrees";
      answer.append(" ", delta);
    }
    answer.dataset.remaining = String(found.remaining_s);
    const moved = fields.filter((field) => field.value !== field.defaultValue);
    const typed = moved.filter((field) => field.dataset.typed).map((field) => fill(field.dataset.typed, { value: settings[field.name] }));
    flags.textContent = copy.dataset.copy = typed.join(" ");
    copy.hidden = !typed.length;
    changed(moved.length ? [settings.max_steps, found.remaining_s, found.low_s, found.high_s] : null);
  }

  const pairs = fields.map((field) => {
    const slider = byId("slide-" + field.name);
    const scale = sliderScale(Number(field.min), Number(field.max), Number(field.defaultValue));
    const follow = () => {
      slider.value = String(scale.place(Math.max(Number(field.min), Number(field.value) || Number(field.min))));
      slider.setAttribute("aria-valuetext", number(Number(field.value)));
    };
    slider.oninput = () => {
      field.value = String(scale.value(Number(slider.value)));
      slider.setAttribute("aria-valuetext", number(Number(field.value)));
      update();
    };
    field.oninput = () => {
      follow();
      update();
    };
    follow();
    return { field, follow };
  });
  byId("whatif-reset").onclick = () => {
    for (const { field, follow } of pairs) {
      field.value = field.defaultValue;
      follow();
    }
    update();
  };
  update();
}
