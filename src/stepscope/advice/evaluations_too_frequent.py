"""A101: evaluations come too often.

What it looks at
    The seconds that evaluations and the checkpoints after them will cost on the rest of the run, as a share of it.

Why it costs time
    Training pauses while the model is evaluated. With several GPUs only one of them evaluates in
    nanoGPT; the others wait.

Example
    `eval_interval = 500` with 200 batches of two splits: 5.7 s every 85 s of training, 6 % of the run.

What to change
    Raise `eval_interval`: a *larger* interval means fewer stops. The loss curve gets fewer points, and where a
    checkpoint is only saved after an evaluation, a crash loses up to one interval of work.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Saving, Situation, paste, same_precision
from stepscope.core.message import Message, Seconds, Share, say
from stepscope.forecast.finish import Forecast
from stepscope.forecast.schedule import plan

CODE = "A101"
_WORTH_IT = 0.015
_TARGET = 0.02
_FACTORS = (2, 4, 5, 10)
_OTHERWISE = 0.4
# A curve of fewer points than this is none; only halving is ever proposed below it.
_LEAST_EVALUATIONS = 10


def advise(situation: Situation) -> Advice | None:
    """Raise the evaluation interval until evaluations cost about 2 %; None when they are cheap already."""
    run = situation.run
    interval, level = run.settings.count("eval_interval"), situation.level_s
    saves_too = run.format.habits.saves_only_after_evaluation is True
    total = situation.evaluations_s + (situation.checkpoints_s if saves_too else 0.0)
    if interval is None or not level or not total or not situation.horizon_s or not _is_rhythm(situation, interval):
        return None
    share = total / situation.horizon_s
    if share < _WORTH_IT:
        return None
    allowed = [factor for factor in _FACTORS if _is_safe(situation, interval * factor)]
    wanted = share / _TARGET
    keeps_curve = [f for f in allowed if _evaluations_at(situation, interval * f) >= _LEAST_EVALUATIONS] or allowed[:1]
    if not keeps_curve:
        return None
    factor = next((factor for factor in keeps_curve if factor >= wanted * 0.75), keeps_curve[-1])
    proposed = interval * factor
    fewer = situation.num_evaluations - _evaluations_at(situation, proposed)
    if fewer <= 0:
        return None
    return Advice(
        code=CODE,
        setting="eval_interval",
        now=interval,
        proposed=proposed,
        saves=_saving(situation, fewer / situation.num_evaluations, saves_too=saves_too),
        costs=_costs(situation, factor, proposed, saves_too=saves_too),
        evidence=say(
            "advice-a101-evidence",
            count=situation.num_evaluations,
            duration=Seconds(total / situation.num_evaluations),
            share=Share(share),
        ),
        phases=("evaluation", "checkpoint") if saves_too else ("evaluation",),
        effect=situation.evaluation_effect,
        paste=paste(run, ("eval_interval", proposed)),
        precision=same_precision(situation, factor),
    )


def _is_rhythm(situation: Situation, interval: int) -> bool:
    """Whether the number of evaluations at that interval fits the steps: some logs count evaluations otherwise."""
    num, steps = situation.num_evaluations, situation.run.steps.step
    if situation.is_future or not num or len(steps) < 2:
        return bool(num)
    return _OTHERWISE * int(steps[-1] - steps[0]) <= num * interval


def _saving(situation: Situation, share: float, *, saves_too: bool) -> Saving:
    own = situation.of_evaluations(share)
    if not saves_too:
        return own
    with_saves = Saving(*(sum(pair) for pair in zip(own, situation.of_checkpoints(share), strict=True)))
    if situation.ledger.split == "none":
        return with_saves
    # Evaluation and checkpoint are measured together: their border does not matter here, so the sum's error is small.
    middle = with_saves.middle_s
    return Saving(max(with_saves.low_s, 0.9 * middle), middle, min(with_saves.high_s, 1.1 * middle))


def _is_safe(situation: Situation, interval: int) -> bool:
    """Whether a crash would lose no more than the user accepts, where checkpoints only come with evaluations."""
    if situation.may_lose_s is None or not situation.run.format.habits.saves_only_after_evaluation:
        return True
    return interval * situation.level_s <= situation.may_lose_s


def _costs(situation: Situation, factor: int, proposed: int, *, saves_too: bool) -> Message:
    if not saves_too:
        return say("advice-a101-costs-seen", factor=factor)
    lost = Seconds(proposed * situation.level_s)
    return say("advice-a101-costs", factor=factor, steps=proposed, duration=lost)


def _evaluations_at(situation: Situation, interval: int) -> int:
    if situation.is_future and isinstance(situation.forecast, Forecast):
        schedule = plan(situation.run, situation.forecast.schedule.max_steps, evaluation_interval=interval)
        return schedule.num_evaluations or 0
    now = situation.run.settings.count("eval_interval") or interval
    return situation.num_evaluations * now // interval
