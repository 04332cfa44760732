"""A108: checkpoints come more often, or less often, than crashes make worth while.

What it looks at
    What one checkpoint stalls training for, how often one comes, how often this run was restarted, and what work you
    accept to lose (`--may-lose 10min`).

Why it costs time
    A checkpoint costs its stall each time; a crash costs the work since the last checkpoint. Young's rule, with Daly's
    refinement, balances the two: the best interval is about the root of twice the stall times the mean time between
    crashes. Before any restart was seen, one in a week is assumed.

Example
    A stall of 20 s, a checkpoint every 100 s, a crash a day: the best interval is 31 minutes.

What to change
    Move the checkpoint interval towards that figure, but not beyond the work you accept to lose.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Saving, Situation, paste
from stepscope.advice._checkpoints import best_interval_s, overhead, seconds_between_crashes, steps_between_checkpoints
from stepscope.core.message import Seconds, say

CODE = "A108"
_WORTH_IT = 0.01
_FACTORS = (10, 5, 4, 2)
# Near the best interval the cost hardly changes.
_NEAR = 1.5


def advise(situation: Situation) -> Advice | None:
    """The checkpoint interval of Daly's rule; None where checkpoints follow evaluations or it is near already."""
    run, price, level = situation.run, situation.ledger.checkpoint_price, situation.level_s
    interval = steps_between_checkpoints(run)
    if price is None or not price.seconds or interval is None or not level:
        return None
    if run.format.habits.saves_only_after_evaluation:
        return None
    between_s, work_s = seconds_between_crashes(situation), interval * level
    best_s = best_interval_s(price.seconds, between_s)
    wanted_s = best_s if situation.may_lose_s is None else min(best_s, situation.may_lose_s)
    # No interval is longer than what is left of the run, which would then have no checkpoint at all.
    wanted_s = min(wanted_s, max(work_s, situation.steps_left_s))
    is_costly = price.seconds / (work_s + price.seconds) >= _WORTH_IT
    proposed = _nearer(interval, work_s, wanted_s, may_widen=is_costly, may_narrow=len(run.segments) > 1)
    low, middle, high = (
        situation.steps_left_s * (overhead(work_s, stall, between_s) - overhead(proposed * level, stall, between_s))
        for stall in (price.low_s, price.seconds, price.high_s)
    )
    if proposed == interval or middle <= 0:
        return None
    is_longer = proposed > interval
    most = situation.left_s("checkpoint") if is_longer else max(low, middle, high)
    low, middle, high = (min(saved, most) for saved in (low, middle, high))
    return Advice(
        code=CODE,
        setting="checkpoint_interval",
        now=interval,
        proposed=proposed,
        saves=Saving(max(0.0, min(low, high)), middle, max(low, middle, high)),
        costs=say(_costs(situation, is_longer=is_longer), duration=Seconds(proposed * level)),
        evidence=say(
            "advice-a108-evidence" if situation.may_lose_s is None else "advice-a108-evidence-accepted",
            duration=Seconds(price.seconds),
            between=Seconds(between_s),
            best=Seconds(best_s),
            **({} if situation.may_lose_s is None else {"accepted": Seconds(situation.may_lose_s)}),
        ),
        phases=("checkpoint",) if is_longer else (),
        paste=paste(run, ("checkpoint_interval", proposed)),
    )


def _nearer(interval: int, work_s: float, wanted_s: float, *, may_widen: bool, may_narrow: bool) -> int:
    """A multiple or a fraction of `interval`, which is `work_s` long, that is near `wanted_s`; `interval` if it is.

    `may_widen`: checkpoints cost enough for fewer of them to pay. `may_narrow`: crashes were seen, and more checkpoints
    pay by the work that a crash repeats.
    """
    if wanted_s >= _NEAR * work_s and may_widen:
        return interval * next((factor for factor in _FACTORS if factor * work_s <= wanted_s), 1)
    if wanted_s <= work_s / _NEAR and may_narrow:
        factor = next((factor for factor in reversed(_FACTORS) if work_s / factor <= wanted_s), _FACTORS[0])
        return max(1, interval // factor)
    return interval


def _costs(situation: Situation, *, is_longer: bool) -> str:
    if not is_longer:
        return "advice-a108-costs-shorter"
    return "advice-a108-costs" if len(situation.run.segments) > 1 else "advice-a108-costs-unseen"
