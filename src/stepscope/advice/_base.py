"""What a piece of advice is, what a rule may look at, and helpers that several rules need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.ledger.phases import Ledger, Phase
from stepscope.message import Message
from stepscope.run import Run
from stepscope.settings import Value
from stepscope.source.nvidia_smi import Hardware
from stepscope.stops import find_evaluations


class Advice(NamedTuple):
    """One change: what to set, what it saves on the rest of this run, what it costs, and why."""

    code: str
    setting: str
    now: Value | None
    proposed: Value
    saves_s: float
    saves_low_s: float
    saves_high_s: float
    costs: Message
    evidence: Message
    changes_result: bool = False  # whether the model that comes out is another one
    paste: str | None = None  # as this trainer wants it typed


class Situation(NamedTuple):
    """What a rule looks at. Savings count over what is left, or over the logged run when nothing is or nobody knows."""

    run: Run
    ledger: Ledger
    forecast: Forecast | NoForecast
    num_evaluations: int
    horizon_s: float
    is_future: bool
    hardware: Hardware | None = None

    @property
    def steps_left_s(self) -> float:
        """Seconds of normal steps over the horizon."""
        if self.is_future and isinstance(self.forecast, Forecast):
            return self.forecast.left["step"].seconds or 0.0
        return self.ledger.seconds("step")

    def phase_left_s(self, phase: Phase) -> float:
        """Seconds of a phase over the horizon, if it goes on as it did: its share of the steps' time so far."""
        so_far_s = self.ledger.seconds("step")
        return self.ledger.seconds(phase) * self.steps_left_s / so_far_s if so_far_s else 0.0

    @property
    def evaluation_s(self) -> float:
        """Seconds of one evaluation without its save."""
        return self.ledger.evaluation_price.seconds if self.ledger.evaluation_price else 0.0

    @property
    def stop_s(self) -> float:
        """Seconds of one evaluation with its save, as often as one follows."""
        price = self.ledger.checkpoint_price
        share = self.forecast.schedule.save_probability if isinstance(self.forecast, Forecast) else 1.0
        return self.evaluation_s + (price.seconds * share if price else 0.0)

    @property
    def uncertainty(self) -> tuple[float, float]:
        """Low and high of an evaluation's price relative to its middle."""
        price = self.ledger.evaluation_price
        if price is None or not price.seconds:
            return 1.0, 1.0
        return price.low_s / price.seconds, price.high_s / price.seconds


def look(run: Run, ledger: Ledger, forecast: Forecast | NoForecast, hardware: Hardware | None = None) -> Situation:
    """The situation of a run."""
    is_future = isinstance(forecast, Forecast) and not forecast.is_finished
    num, horizon_s = 0, ledger.wall_s
    if is_future and isinstance(forecast, Forecast):
        num, horizon_s = forecast.schedule.num_evaluations or 0, forecast.remaining_s
    else:
        num = sum(1 for evaluation in find_evaluations(run) if evaluation.step > 0)
    return Situation(
        run=run,
        ledger=ledger,
        forecast=forecast,
        num_evaluations=num,
        horizon_s=horizon_s,
        is_future=is_future,
        hardware=hardware,
    )


def paste(run: Run, name: str, value: Value) -> str:
    """A setting as this trainer wants it typed, under its own name for it."""
    own = next((theirs for theirs, ours in run.format.setting_names.items() if ours == name), name)
    return run.format.paste.format(name=own, dashed=own.replace("_", "-"), value=value)


def batch_loss_sd(run: Run) -> float | None:
    """Standard deviation of one batch's loss: the scatter of the printed ones around their trend; None if unknown."""
    losses = run.steps.loss[np.isfinite(run.steps.loss)]
    losses = losses[len(losses) // 2 :]
    if len(losses) < 6:
        return None
    # Second differences forget a straight trend; independent noise makes them sqrt(6) times as wide.
    sd = float(np.std(np.diff(losses, n=2)) / 6**0.5)
    return sd if sd > 0 else None


def recent_improvement(run: Run) -> float | None:
    """How much the validation loss fell per evaluation over the last few; None when unknown, 0 when it rose."""
    # What the untrained model scored says nothing about what is still gained.
    known = np.isfinite(run.events.val_loss) & (run.events.step != 0)
    losses = run.events.val_loss[known][-4:].tolist()
    if len(losses) < 2:
        return None
    return max(0.0, float(losses[0] - losses[-1]) / (len(losses) - 1))
