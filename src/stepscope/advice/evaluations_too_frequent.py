"""A101: evaluations come too often.

What it looks at
    The seconds that evaluations and the saves behind them will cost on the rest of the run, as a share of it.

Why it costs time
    Training stands still while the model is evaluated. With several GPUs only one of them evaluates in
    nanoGPT; the others wait.

Example
    `eval_interval = 500` with 200 batches of two splits: 5.7 s every 85 s of training, 6 % of the run.

What to change
    Raise `eval_interval`: a *larger* interval means fewer stops. The loss curve gets fewer points, and where a
    checkpoint is only saved after an evaluation, a crash loses up to one interval of work.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Situation, paste
from stepscope.forecast.finish import Forecast
from stepscope.forecast.schedule import plan
from stepscope.message import Seconds, Share, say

CODE = "A101"
_WORTH_IT = 0.015
_TARGET = 0.02
_FACTORS = (2, 4, 5, 10)
# A curve of fewer points than this is none; only halving is ever proposed below it.
_LEAST_EVALUATIONS = 10


def advise(situation: Situation) -> Advice | None:
    """Raise the evaluation interval until evaluations cost about 2 %; None when they are cheap already."""
    interval = situation.run.settings.count("eval_interval")
    level = situation.ledger.step.typical_s if situation.ledger.step else 0.0
    stop = situation.stop_s
    if interval is None or not level or not stop or not situation.horizon_s:
        return None
    share = situation.num_evaluations * stop / situation.horizon_s
    if share < _WORTH_IT:
        return None
    wanted = share / _TARGET
    keeps_curve = [f for f in _FACTORS if _evaluations_at(situation, interval * f) >= _LEAST_EVALUATIONS] or [
        _FACTORS[0]
    ]
    factor = next((factor for factor in keeps_curve if factor >= wanted * 0.75), keeps_curve[-1])
    proposed = interval * factor
    fewer = situation.num_evaluations - _evaluations_at(situation, proposed)
    if fewer <= 0:
        return None
    low, high = situation.uncertainty
    # Evaluation and save are measured together: their border does not matter here, so the sum's error is small.
    narrow = (max(low, 0.9), min(high, 1.1)) if situation.ledger.split != "none" else (low, high)
    return Advice(
        code=CODE,
        setting="eval_interval",
        now=interval,
        proposed=proposed,
        saves_s=fewer * stop,
        saves_low_s=fewer * stop * narrow[0],
        saves_high_s=fewer * stop * narrow[1],
        costs=say("advice-a101-costs", factor=factor, steps=proposed, duration=Seconds(proposed * level)),
        evidence=say(
            "advice-a101-evidence", count=situation.num_evaluations, duration=Seconds(stop), share=Share(share)
        ),
        paste=paste(situation.run, "eval_interval", proposed),
    )


def _evaluations_at(situation: Situation, interval: int) -> int:
    if situation.is_future and isinstance(situation.forecast, Forecast):
        schedule = plan(situation.run, situation.forecast.schedule.max_steps, evaluation_interval=interval)
        return schedule.num_evaluations or 0
    now = situation.run.settings.count("eval_interval") or interval
    return situation.num_evaluations * now // interval
