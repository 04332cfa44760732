import { number, duration, span, clock, fill } from "./numbers.js";
// The what-if sliders.

// The same arithmetic as `stepscope advise --change`; a test compares the two.
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

export function sliders(data) {
  const base = data.whatif;
  const box = document.getElementById("sliders");
  if (!base || !box) return;
  const words = data.words;
  const inputs = Array.from(box.querySelectorAll("input"));
  const answer = document.getElementById("whatif");
  const update = () => {
    const settings = {};
    inputs.forEach((input) => {
      settings[input.name] = Number(input.value);
      const shown = number(Number(input.value));
      box.querySelector('output[for="' + input.id + '"]').textContent = shown;
      input.setAttribute("aria-valuetext", shown);
    });
    const found = whatIf(base, settings);
    const saved = base.remaining_s - found.remaining_s;
    const items = [fill(words.left, { duration: duration(found.remaining_s), span: span(found.low_s, found.high_s) })];
    if (base.moment) items.push(fill(words.done, { time: clock(base.moment, found.remaining_s, words.clock_with_date) }));
    // Less than a thousandth of it is rounding.
    if (Math.abs(saved) > base.remaining_s / 1000) items.push(fill(saved > 0 ? words.less : words.more, { duration: duration(Math.abs(saved)) }));
    if (base.eval_interval) items.push(fill(words.evaluations, { number: number(found.evaluations) }));
    if (found.error !== null) items.push(fill(words.error, { error: number(found.error, 5) }));
    answer.textContent = items.join(" · ");
    answer.dataset.remaining = String(found.remaining_s);
  };
  inputs.forEach((input) => (input.oninput = update));
  update();
}
