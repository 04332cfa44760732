"""What a piece of advice is, what a rule may look at, and helpers that several rules need."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from stepscope.core.message import Decimal, Message, say
from stepscope.core.settings import Value
from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.ledger.data_waits import printed_waits
from stepscope.ledger.phases import Ledger, Phase, Price
from stepscope.plan.gpus import GpuSpec, known_gpu
from stepscope.run.model import Run
from stepscope.run.stops import find_evaluations
from stepscope.source.hardware import Hardware

_MOST_LOSS = 1e30  # beyond it, a run has diverged
# With less than this share of the run left, advice is for the next run like it.
_NEARLY_DONE = 0.02
# How a change affects the trained model: nothing, other rounding, other random draws (as another seed would),
# or another training.
Effect = Literal["none", "rounding", "draws", "learning"]


class Saving(NamedTuple):
    """Seconds saved: low, middle, high."""

    low_s: float
    middle_s: float
    high_s: float


class Advice(NamedTuple):
    """One change: what to set, what it saves on the rest of this run, what it costs, and why.

    `phases` are those whose seconds it saves. `assumed` names the published cases that the gain is taken from, where
    this log cannot show it. `change` says it in words where the trainer has no setting of that name.
    """

    code: str
    setting: str
    now: Value | None
    proposed: Value
    saves: Saving
    costs: Message
    evidence: Message
    phases: tuple[Phase, ...]
    effect: Effect = "none"
    paste: str | None = None  # the setting in the syntax of this trainer
    precision: Message | None = None  # the effect on the standard error of the validation loss
    assumed: Message | None = None
    change: Message | None = None
    saves_bytes: float | None = None  # bytes saved on disk, for advice about the disk

    @property
    def saves_s(self) -> float:
        """Seconds saved."""
        return self.saves.middle_s

    @property
    def saves_low_s(self) -> float:
        """Seconds saved at least."""
        return self.saves.low_s

    @property
    def saves_high_s(self) -> float:
        """Seconds saved at most."""
        return self.saves.high_s

    @property
    def changes_result(self) -> bool:
        """Whether the model that comes out was trained in another way."""
        return self.effect == "learning"

    @property
    def weight_s(self) -> float:
        """Seconds by which it is ranked: what this log cannot show counts half of the way down to its low end."""
        return self.saves_s if self.assumed is None else (self.saves_low_s + self.saves_s) / 2


class Situation(NamedTuple):
    """What a rule looks at.

    Savings count over the rest of the run, or over the logged run when nothing is left or the rest is unknown.
    """

    run: Run
    ledger: Ledger
    forecast: Forecast | NoForecast
    num_evaluations: int
    horizon_s: float
    is_future: bool
    hardware: Hardware | None = None
    may_lose_s: float | None = None  # the work that the user accepts to lose in a crash

    @property
    def gpu(self) -> GpuSpec | None:
        """The data sheet of the run's GPU; None where its model is unknown."""
        return known_gpu(self.hardware.gpu) if self.hardware and self.hardware.gpu else None

    @property
    def steps_left_s(self) -> float:
        """Seconds of normal steps over the horizon."""
        if self.is_future and isinstance(self.forecast, Forecast):
            return self.forecast.left["step"].seconds or 0.0
        return self.ledger.seconds("step")

    def phase_left_s(self, phase: Phase) -> float:
        """Seconds of a phase over the horizon, if it goes on as it did: its share of the steps' time so far."""
        if not (self.is_future and isinstance(self.forecast, Forecast)):
            return self.ledger.seconds(phase)  # the horizon is the logged run itself
        so_far_s = self.ledger.seconds("step")
        if printed_waits(self.run) is not None:
            so_far_s += self.ledger.seconds("data")  # a step to come is counted with its wait
        return self.ledger.seconds(phase) * self.steps_left_s / so_far_s if so_far_s else 0.0

    @property
    def evaluation_s(self) -> float:
        """Seconds of one evaluation without its checkpoint."""
        return self.ledger.evaluation_price.seconds if self.ledger.evaluation_price else 0.0

    @property
    def evaluations_s(self) -> float:
        """Seconds of all evaluations over the horizon, without their checkpoints."""
        if self.is_future and isinstance(self.forecast, Forecast):
            left = self.forecast.left["evaluation"].seconds
            if left is not None:
                return left
            return self.num_evaluations * self.evaluation_s
        # Evaluations before the first step come at any interval and cannot be saved.
        num = next((total.num for total in self.ledger.phases if total.phase == "evaluation"), 0)
        return self.ledger.seconds("evaluation") * min(1.0, self.num_evaluations / num) if num else 0.0

    @property
    def checkpoints_s(self) -> float:
        """Seconds that the checkpoints over the horizon stall training for; 0 where unknown."""
        if self.is_future and isinstance(self.forecast, Forecast):
            return self.forecast.left["checkpoint"].seconds or 0.0
        return self.ledger.seconds("checkpoint")

    def left_s(self, phase: Phase) -> float:
        """Seconds of a phase over the horizon."""
        known = {"step": self.steps_left_s, "evaluation": self.evaluations_s, "checkpoint": self.checkpoints_s}
        return known[phase] if phase in known else self.phase_left_s(phase)

    def worth(self, phase: Phase, least: float) -> float | None:
        """The seconds of a phase over the horizon where they are at least that share of it, else None."""
        seconds = self.left_s(phase)
        return seconds if self.horizon_s > 0 and seconds > 0 and seconds / self.horizon_s >= least else None

    @property
    def evaluation_effect(self) -> Effect:
        """What evaluating otherwise does to training: other draws where both share a generator."""
        return "draws" if self.run.format.habits.evaluation.shares_generator else "none"

    @property
    def level_s(self) -> float:
        """Seconds of a normal step; 0 where none was read."""
        return self.ledger.step.typical_s if self.ledger.step else 0.0

    def of_evaluations(self, share: float) -> Saving:
        """A share of the evaluations' seconds, as wide as their price is unsure; never more than there is."""
        return self._priced(self.ledger.evaluation_price, share, self.evaluations_s)

    def of_checkpoints(self, share: float) -> Saving:
        """A share of the checkpoints' seconds, as wide as their price is unsure; never more than there is."""
        return self._priced(self.ledger.checkpoint_price, share, self.checkpoints_s)

    def _priced(self, price: Price | None, share: float, total_s: float) -> Saving:
        low, high = 1.0, 1.0
        if price is not None and price.seconds:
            low, high = price.low_s / price.seconds, price.high_s / price.seconds
        # The cost of a phase cannot exceed all the time there is.
        most = max(share * total_s, share * min(total_s * high, self.horizon_s))
        return Saving(share * total_s * low, share * total_s, most)


def situation_of(
    run: Run,
    ledger: Ledger,
    forecast: Forecast | NoForecast,
    hardware: Hardware | None = None,
    may_lose_s: float | None = None,
) -> Situation:
    """The situation of a run."""
    num, horizon_s = 0, ledger.wall_s
    is_future = False
    if (
        isinstance(forecast, Forecast)
        and not forecast.is_finished
        and forecast.remaining_s > _NEARLY_DONE * ledger.wall_s
    ):
        # Where every evaluation of the run is done, what they cost is for the next run to save.
        is_future = bool(forecast.schedule.num_evaluations) or not ledger.seconds("evaluation")
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
        may_lose_s=may_lose_s,
    )


def share_of(total_s: float, shares: tuple[float, float, float]) -> Saving:
    """A saving that is a share of some seconds: low, middle and high."""
    low, middle, high = (share * total_s for share in shares)
    return Saving(low, middle, high)


def paste(run: Run, *changes: tuple[str, Value]) -> str | None:
    """Settings as this trainer wants them typed; None where it lacks one of them."""
    typed = [run.format.controls.typed(name, value) for name, value in changes]
    return None if None in typed else " ".join(filter(None, typed))


def batch_loss_sd(run: Run) -> float | None:
    """Standard deviation of one batch's loss: the scatter of the printed ones around their trend; None if unknown."""
    losses = run.steps.loss[np.abs(run.steps.loss) < _MOST_LOSS]  # not-a-number is no less
    losses = losses[len(losses) // 2 :]
    if len(losses) < 6:
        return None
    # Second differences forget a straight trend; independent noise makes them sqrt(6) times as wide.
    sd = float(np.std(np.diff(losses, n=2)) / 6**0.5)
    if run.clock.is_per_window:
        # The loss of such a line is the mean of its window, as the time is.
        sd *= (run.settings.count("log_interval") or 1) ** 0.5
    return sd if sd > 0 and math.isfinite(sd) else None


def same_precision(situation: Situation, factor: float = 1.0) -> Message | None:
    """That the standard error stays, and whether what the loss gains between two evaluations shows in them.

    `factor` is how much further apart they are. None where the log does not show the error.
    """
    sd, batches = batch_loss_sd(situation.run), situation.run.settings.count("eval_iters")
    if sd is None or not batches:
        return None
    error, gain = sd / batches**0.5, recent_improvement(situation.run)
    digits = error_digits(error)
    if not gain:
        return say("precision-same", error=Decimal(error, digits))
    if not is_visible(error, gain):
        gain *= factor  # further apart, they may show what neighbours do not
    key = "precision-same-seen" if is_visible(error, gain) else "precision-same-unseen"
    return say(key, error=Decimal(error, digits), gain=gain_decimal(gain, digits))


def is_visible(error: float, gain: float) -> bool:
    """Whether a gain between two evaluations is at least twice the error of their difference."""
    return 2 * error * 2**0.5 <= gain


def gain_decimal(gain: float, digits: int) -> Decimal:
    """What the loss gains, with no more decimals than make sense next to an error shown with `digits`."""
    return Decimal(gain, min(digits, 3) if gain > 0.01 else digits)


def error_digits(error: float) -> int:
    """Decimals that show two significant digits of an error, and four at least."""
    return min(12, max(4, 1 - math.floor(math.log10(error)))) if error > 0 else 4


def recent_improvement(run: Run) -> float | None:
    """How much the validation loss fell per evaluation over the last few; None when unknown, 0 when it rose."""
    # The loss of the untrained model says nothing about further gains.
    known = np.isfinite(run.events.val_loss) & (run.events.step != 0)
    losses = run.events.val_loss[known][-4:].tolist()
    if len(losses) < 2:
        return None
    return max(0.0, float(losses[0] - losses[-1]) / (len(losses) - 1))
