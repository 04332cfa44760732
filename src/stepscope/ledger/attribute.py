"""Run → Ledger: every second between the first and the last line, sorted into phases.

Printed rows are a biased sample: one normal step in `log_interval`, but every evaluating step whose number
is a multiple of it. So nothing here averages rows; unprinted steps are counted and priced one by one.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from stepscope.ledger import priors
from stepscope.ledger.accounts import Books
from stepscope.ledger.baseline import Baseline, assumed_baseline, find_baseline
from stepscope.ledger.phases import Basis, Ledger, NormalStep, Part, Phase, PhaseTotal, Regime
from stepscope.ledger.pricing import FIRST_TOUCH, Pricing
from stepscope.ledger.regimes import find_regimes
from stepscope.ledger.slow import describe_slow
from stepscope.ledger.stamps import StampedEvaluation, StampEvidence, has_stamped_rows, read_stamps
from stepscope.run import NO_TIME, Floats, Run
from stepscope.stops import Stop, find_stops
from stepscope.units import NS

# Printing a line (and wandb, and a flush) takes up to this long and is inside the next step's time.
_LOG_LINE_S = 0.004
# A step beside an evaluation may be this much off its neighbours' level, all of them in the same direction.
_BESIDE = 0.05
# An evaluation that takes this many times what others did holds something else as well.
_ODD_EVALUATION = 3.0
# Warm-up lasts until three normal rows in a row, and no longer than this many rows.
_CALM_ROWS = 3
_NOTHING = (0.0, 0.0, 0.0)
_MAX_WARMUP_ROWS = 50


def attribute(run: Run, *, confidence: float = 0.9) -> Ledger:
    """Sort the seconds of `run` into phases. An empty run gives an empty ledger."""
    stops = find_stops(run)
    is_event = np.zeros(len(run), dtype=bool)
    for stop in stops:
        if stop.row is not None and stop.is_inside:
            is_event[stop.row] = True
    baseline = find_baseline(run, is_event) if len(run) else None
    if baseline is None:
        level = _level_between(run, stops) if len(run) else None
        if level is None:
            return _without_level(run, "evaluation" if is_event.any() else "warmup")
        baseline = assumed_baseline(run, *level)
    return _Attribution(run, stops, baseline, confidence).ledger()


def _level_between(run: Run, stops: list[Stop]) -> tuple[float, float] | None:
    """The level where every printed step also evaluates, and how far off it may be, as a share.

    From the stamps of the silent steps between, else from what an evaluation should cost in steps.
    """
    steps = run.steps
    if len(steps.t_ns) and len(steps) > 1:
        silent = np.diff(steps.step) - steps.span[1:]
        known = (
            (np.diff(steps.segment) == 0) & (silent > 0) & (steps.t_ns[1:] != NO_TIME) & (steps.t_ns[:-1] != NO_TIME)
        )
        levels = (np.diff(steps.t_ns) / NS - steps.seconds[1:])[known] / silent[known]
        if len(levels[levels > 0]):
            return float(np.median(levels[levels > 0])), 0.03
    prior = priors.evaluation_steps(run.settings, run.format)
    rows = [stop for stop in stops if stop.row is not None and stop.evaluated]
    if prior is None or not rows:
        return None
    later = [stop for stop in rows if stop.step > run.format.first_step] or rows
    save_s = priors.checkpoint_seconds(run.settings, run.format).median
    left = [float(steps.seconds[s.row]) - (save_s if s.saved else 0.0) for s in later if s.row is not None]
    middle = float(np.median(left))
    # A guess at a sum whose parts are all guesses: good to a factor of two or so.
    return (middle / (1 + prior.median), 0.6) if middle > 0 else None


def _without_level(run: Run, phase: Phase) -> Ledger:
    """No normal step was printed: the printed seconds are all that can be said."""
    printed = int((run.steps.dur_ns * run.steps.span).sum()) if len(run) else 0
    seconds = printed / NS
    whole = PhaseTotal(
        phase=phase,
        seconds=seconds,
        low_s=0.0,
        high_s=seconds,
        basis="assumed",
        ns=printed,
        num=len(run),
        share=1.0,
    )
    steps = run.steps
    silent = len(run) > 1 and bool((np.diff(steps.step) > steps.span[1:])[np.diff(steps.segment) == 0].any())
    return Ledger(
        wall_ns=printed,
        wall_low_s=seconds,
        wall_high_s=math.inf if silent else seconds,
        phases=(whole,) if printed else (),
        slow=(),
        step=None,
        evaluation_price=None,
        checkpoint_price=None,
        split="none",
        stamps_unusable=False,
    )


class _Attribution:
    """One attribution in the making; its methods are the steps of it, in order."""

    def __init__(self, run: Run, stops: list[Stop], baseline: Baseline, confidence: float) -> None:
        self.run = run
        self.stops = [stop for stop in stops if stop.is_inside]
        self.timed = {stop.row: stop for stop in self.stops if stop.row is not None}
        self.baseline = baseline
        self.one: Floats = run.steps.dur_ns / NS  # of one step
        self.seconds: Floats = run.steps.seconds  # of the whole row
        self.has_silent = False  # whether steps lie between the printed ones
        self.books = Books(z=NormalDist().inv_cdf(0.5 + confidence / 2))
        self.stamps: StampEvidence | None = read_stamps(run, stops, baseline)
        self.pricing = Pricing(run, self.stops, baseline, self.stamps, confidence=confidence)

    def ledger(self) -> Ledger:
        special = self._special_rows()
        self._add_normal_rows(~special)
        for row, stop in self.timed.items():
            self._add_stop_row(row, stop)
        for other in np.flatnonzero(special).tolist():
            if other not in self.timed:
                self._add_slow_row(other)
        sampling_sd = self._add_unprinted_steps()
        for stop in self.stops:
            if stop.row is None:
                self._add_unprinted_stop(stop)
        self._add_trailing_steps()
        doubt_s = 0.0 if self._reconcile_with_stamps() else self.books.z * sampling_sd
        totals, wall_ns = self.books.close()
        return Ledger(
            wall_ns=wall_ns,
            wall_low_s=max(0.0, wall_ns / NS - doubt_s),
            wall_high_s=wall_ns / NS + doubt_s,
            phases=totals,
            slow=describe_slow(self.run, self.baseline, self.books, self.timed),
            step=self._normal_step(),
            evaluation_price=self.pricing.evaluation_price(),
            checkpoint_price=self.pricing.checkpoint_price(),
            split=self.pricing.split,
            stamps_unusable=self.stamps is None and has_stamped_rows(self.run),
        )

    def _special_rows(self) -> np.ndarray:
        """Rows that are more than one normal step: evaluating, slow, or the first of a process."""
        special = self.baseline.slow.copy()
        special[list(self.timed)] = True
        for segment in self.run.segments:
            if segment.fresh and segment.num_rows:
                special[segment.first_row] = True
        return special

    def _add_normal_rows(self, rows: np.ndarray) -> None:
        seconds = float(self.seconds[rows].sum())
        logging_s = min(_LOG_LINE_S * len(self.run), 0.1 * seconds)
        self.books["step"].add(seconds, "measured", down=logging_s, num=int(self.run.steps.span[rows].sum()))

    # -- rows that hold an evaluation ---------------------------------------------------------------------

    def _add_stop_row(self, row: int, stop: Stop) -> None:
        stamped = self.stamps.evaluations.get(stop.line) if self.stamps else None
        if stamped is not None:
            self._add_stamped(row, stamped)
            return
        around = self.pricing.row(row)
        step_s = min(around.level_s, around.total_s)
        self.books.book(row, "step", step_s, "inferred", sd=around.jitter_s)
        self.books["step"].down += _BESIDE * around.one_s
        self.books["step"].up += _BESIDE * around.one_s
        self.books["step"].num += around.span - 1
        excess = self._without_printed(row, stop, around.total_s - step_s)
        save = _NOTHING
        if stop.saved and stop.save_inside and stop.save_took_s is None:
            save = self.pricing.save_at(around.one_s)
        if stop.evaluation_took_s is not None or not (stop.evaluated and stop.evaluation_inside):
            self._split_save_only(row, excess, save)
        elif self.pricing.starts_process(row):
            self._split_first(row, excess, save)
        else:
            self._split_later(row, excess, save)

    def _without_printed(self, row: int, stop: Stop, excess: float) -> float:
        """Book what the lines themselves say an evaluation or a save took; give back the rest of the excess."""
        if stop.evaluated and stop.evaluation_inside and stop.evaluation_took_s is not None:
            self.books.book(row, "evaluation", min(stop.evaluation_took_s, max(excess, 0.0)), "measured")
            excess = max(0.0, excess - stop.evaluation_took_s)
        if stop.saved and stop.save_inside and stop.save_took_s is not None:
            self.books.book(row, "checkpoint", min(stop.save_took_s, max(excess, 0.0)), "measured")
            excess = max(0.0, excess - stop.save_took_s)
        return excess

    def _split_save_only(self, row: int, excess: float, save: tuple[float, float, float]) -> None:
        """No evaluation to share with: what is above the level is the save, start-up, or unexplained."""
        around = self.pricing.row(row)
        if self.pricing.starts_process(row):
            self.books.book(row, "warmup", excess, "inferred", sd=around.jitter_s)
        elif save[1]:
            self.books.book(row, "checkpoint", excess, "inferred", sd=around.jitter_s)
        elif self.baseline.slow[row] and excess > around.one_s:
            self._add_stall(row, excess)
        else:
            self.books["step"].add(excess, "measured", num=0)
            self._note(row, "step", excess, (excess, excess), "measured")

    def _split_later(self, row: int, excess: float, save: tuple[float, float, float]) -> None:
        """Evaluation is what the save leaves: the sum is known, only the border between them is not."""
        around = self.pricing.row(row)
        _, middle, most = self.pricing.evaluation_at(around.one_s)
        expected = middle + save[1]
        if len(self.timed) > 3 and excess > _ODD_EVALUATION * max(expected, most + save[1]):
            self._add_stall(row, excess - expected)
            excess = expected
        low, save_s, high = (min(seconds, excess) for seconds in save)
        evaluation_s = excess - save_s
        basis, shift = self.pricing.basis, _BESIDE * around.one_s
        self.books["evaluation"].add(
            evaluation_s, basis, sd=around.jitter_s, down=high - save_s + shift, up=save_s - low + shift
        )
        doubt = self.books.z * around.jitter_s
        self._note(row, "evaluation", evaluation_s, (excess - high - doubt, excess - low + doubt), basis)
        if save[1]:
            self.books["checkpoint"].add(save_s, basis, down=save_s - low, up=high - save_s)
            self._note(row, "checkpoint", save_s, (low, high), basis)

    def _split_first(self, row: int, excess: float, save: tuple[float, float, float]) -> None:
        """The first step of a process: evaluation at the price it has elsewhere, the rest is warm-up."""
        around, pricing = self.pricing.row(row), self.pricing
        if pricing.eager_cpu:
            least, middle, most = (share * around.one_s for share in FIRST_TOUCH)
            evaluation_s = max(0.0, excess - middle - save[1])
            low, high = excess - most - save[2], excess - least - save[0]
            basis: Basis = "inferred"
            # What we call first touch is a slow first step: nothing in the log says which.
            self.books["step"].up += most
        else:
            least, middle, most = pricing.evaluation_at(around.one_s)
            swing = 1 + self.books.z * pricing.scatter
            evaluation_s = min(middle, max(0.0, excess - save[1]))
            low, high = least / swing, min(most * swing, excess)
            basis = pricing.basis if pricing.has_later_evaluation else "assumed"
        low, high = max(0.0, min(low, evaluation_s)), max(high, evaluation_s)
        down, up = evaluation_s - low, high - evaluation_s
        save_s = min(save[1], max(0.0, excess - evaluation_s))
        warm_s = max(0.0, excess - evaluation_s - save_s)
        self.books["evaluation"].add(evaluation_s, basis, sd=around.jitter_s, down=down, up=up)
        self._note(row, "evaluation", evaluation_s, (low, high), basis)
        if save[1]:
            self.books["checkpoint"].add(save_s, basis, down=max(0.0, save_s - save[0]), up=save[2] - save_s)
            self._note(row, "checkpoint", save_s, (save[0], save[2]), basis)
        self.books["warmup"].add(warm_s, basis, sd=around.jitter_s, down=up, up=down)
        self._note(row, "warmup", warm_s, (warm_s - up, warm_s + down), basis)

    def _add_stamped(self, row: int, stamped: StampedEvaluation) -> None:
        """Stamps before and after: evaluation is measured; the end of a save prints nothing, so save + step is."""
        around, tick = self.pricing.row(row), stamped.uncertainty_s
        basis: Basis = "measured" if stamped.exact else "inferred"
        # The line before was still being written when the evaluation's clock began.
        early = min(_LOG_LINE_S, 0.05 * stamped.seconds) + 0.002 * stamped.seconds
        self.books["evaluation"].add(stamped.seconds, basis, sd=tick, down=early, up=0.002 * stamped.seconds)
        span = (stamped.seconds - early - 2 * tick, stamped.seconds + 2 * tick)
        self._note(row, "evaluation", stamped.seconds, span, basis)
        rest = around.total_s - stamped.seconds
        if self.pricing.starts_process(row) and stamped.rest_s is not None:
            warm_s = max(0.0, rest - stamped.rest_s)
            if warm_s > tick:
                self.books.book(row, "warmup", warm_s, basis, sd=tick)
                rest -= warm_s
        if stamped.saved:
            # The step inside is one draw: its neighbours' level is off by their spread and, beside a save, more.
            save_s = max(0.0, rest - around.level_s)
            sd = float(np.hypot(max(around.jitter_s, tick), 0.12 * around.level_s))
            self.books.book(row, "checkpoint", save_s, "inferred", sd=sd)
            self.pricing.note_save(save_s, sd)
            self.books["checkpoint"].down += 0.06 * around.level_s
            self.books["checkpoint"].up += 0.06 * around.level_s
            rest -= save_s
        self.books.book(row, "step", rest, basis, sd=max(tick, around.jitter_s if stamped.saved else 0.0))

    def _note(self, row: int, phase: Phase, seconds: float, span: tuple[float, float], basis: Basis) -> None:
        self.books.note(row, Part(phase=phase, seconds=seconds, low_s=span[0], high_s=span[1], basis=basis))

    # -- other slow rows ----------------------------------------------------------------------------------

    def _add_slow_row(self, row: int) -> None:
        """A slow row without an evaluation: warm-up at the start of a process, else unexplained."""
        around = self.pricing.row(row)
        step_s = min(around.level_s, around.total_s)
        self.books.book(row, "step", step_s, "inferred", sd=around.jitter_s)
        self.books["step"].num += around.span - 1
        excess = self._without_events(row, around.total_s - step_s)
        if excess <= 0:
            return
        if self._is_warmup(row):
            self.books.book(row, "warmup", excess, "inferred", sd=around.jitter_s)
        else:
            self._add_stall(row, excess)

    def _without_events(self, row: int, excess: float) -> float:
        """Book what garbage collection or data lines before this row say they took; give back the rest."""
        events = self.run.events
        for index in np.flatnonzero((events.row == row) & (events.took_ns != NO_TIME)).tolist():
            phase = events.kind[index]
            took = min(int(events.took_ns[index]) / NS, excess)
            if phase in {"gc", "data"} and took > 0:
                self.books.book(row, "gc" if phase == "gc" else "data", took, "measured")
                excess -= took
        return excess

    def _add_stall(self, row: int, seconds: float) -> None:
        self.books.book(row, "stall", seconds, "measured", sd=float(self.baseline.jitter[row]))
        # No line says that these seconds were not simply a slow step.
        self.books["step"].up += seconds

    def _is_warmup(self, row: int) -> bool:
        """Among the first rows of a process, before it calmed down."""
        segment = self.run.segments[int(self.run.steps.segment[row])]
        if not segment.fresh or row - segment.first_row >= _MAX_WARMUP_ROWS:
            return False
        calm = 0
        for other in range(segment.first_row + 1, row):
            calm = calm + 1 if self.baseline.normal[other] else 0
            if calm >= _CALM_ROWS:
                return False
        return True

    # -- what was not printed -----------------------------------------------------------------------------

    def _add_unprinted_steps(self) -> float:
        """Book every step between two printed ones at its neighbours' level; the standard error of their sum."""
        steps = self.run.steps
        if len(steps) < 2:
            return 0.0
        missing = np.maximum(np.where(np.diff(steps.segment) == 0, np.diff(steps.step) - steps.span[1:], 0), 0)
        missing = np.where(steps.span[1:] > 0, missing, 0)  # a row without a time says nothing about its neighbours
        num = int(missing.sum())
        self.has_silent = num > 0
        if not num:
            return 0.0
        tempered = self._tempered()
        total = float((missing * (tempered[:-1] + tempered[1:]) / 2).sum())
        normal = self.one[self.baseline.normal]
        noise = float(np.std(np.diff(normal)) / 2**0.5) if len(normal) > 2 else float(self.baseline.jitter.mean())
        # A printed row stands for the silent steps on either side of it: its error counts once for all of them.
        sd = noise * float(np.sqrt((missing.astype(float) ** 2 + missing).sum()))
        sd = float(np.hypot(sd, self.baseline.doubt * total))
        self.books["step"].add(total, "inferred", sd=sd, down=0.005 * total, up=0.005 * total, num=num)
        return sd

    def _tempered(self) -> Floats:
        """Per row, what a normal step near it takes on average: a mean of three rows, because sums need means."""
        # A step that took up to three times its level stands for unprinted ones like it; a stall stands for itself.
        slow = self.baseline.slow & (self.one <= 3 * self.baseline.level)
        slow[list(self.timed)] = False
        for segment in self.run.segments:
            if segment.fresh and segment.num_rows:
                slow[segment.first_row] = False
        seconds = np.where(self.baseline.normal, self.one, self.baseline.level)
        seconds = np.where(slow, self.one, seconds)
        if len(seconds) < 3:
            return seconds
        padded = np.concatenate([seconds[:1], seconds, seconds[-1:]])
        smooth: Floats = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
        same = np.diff(self.run.steps.segment) == 0
        inside = np.concatenate([[False], same]) & np.concatenate([same, [False]])
        return np.where(inside, smooth, seconds)

    def _add_unprinted_stop(self, stop: Stop) -> None:
        """A stop whose step was not printed: the price it has elsewhere. A save that ends the log is not over yet."""
        level = float(self.baseline.level[min(stop.next_row, len(self.run) - 1)])
        basis = self.pricing.basis
        if stop.evaluated and stop.evaluation_inside:
            least, middle, most = self.pricing.evaluation_at(level)
            scatter = max(0.1, self.pricing.scatter) * middle
            down, up = max(0.0, middle - least), max(0.0, most - middle)
            self.books["evaluation"].add(middle, basis, sd=scatter, down=down, up=up)
        if stop.saved and stop.save_inside and stop.next_row < len(self.run):
            low, save_s, high = self.pricing.save_at(level)
            self.books["checkpoint"].add(save_s, basis, down=save_s - low, up=high - save_s)

    def _add_trailing_steps(self) -> None:
        """The log ends with an evaluation: the steps up to it were done, though none of them is printed."""
        last = int(self.run.steps.step[-1])
        trailing = [stop.step for stop in self.stops if stop.row is None and stop.next_row == len(self.run)]
        num = max(trailing, default=0) - last - 1
        if num > 0:
            level = float(self.baseline.level[-1])
            sd = float(self.baseline.jitter[-1]) * num**0.5
            self.books["step"].add(
                num * level, "inferred", sd=sd, down=0.02 * num * level, up=0.02 * num * level, num=num
            )

    # -- the whole ----------------------------------------------------------------------------------------

    def _reconcile_with_stamps(self) -> bool:
        """Where stamps can be trusted they give the total; what the lines leave over is start-up, gap or unlogged."""
        if self.stamps is None:
            return False
        tick = self.stamps.tick_s
        for seconds, phase in self.stamps.outside:
            self.books[phase].add(seconds, "measured", sd=tick)
        rest = self.stamps.wall_s - self.books.seconds
        if rest > tick:
            self.books["unlogged"].add(rest, "measured", sd=tick)
            if self.has_silent:
                self.books["step"].up += rest  # unprinted steps may simply have been slower than the printed ones
        else:
            # The inferred steps came out too long: the stamps know better.
            self.books["step"].add(rest, "inferred", num=0, down=max(0.0, -rest), up=max(0.0, -rest))
        return True

    def _normal_step(self) -> NormalStep:
        seconds = self.one[self.baseline.normal]
        if not len(seconds):
            level = float(self.baseline.level[-1])
            only = Regime(
                first_step=int(self.run.steps.step[0]),
                last_step=int(self.run.steps.step[-1]),
                first_row=0,
                last_row=len(self.run) - 1,
                typical_s=level,
            )
            return NormalStep(
                typical_s=level, low_s=0.8 * level, high_s=1.25 * level, num_rows=0, rows=np.arange(0), regimes=(only,)
            )
        return NormalStep(
            typical_s=float(np.median(seconds)),
            low_s=float(np.quantile(seconds, 0.05, method="lower")),
            high_s=float(np.quantile(seconds, 0.95, method="higher")),
            num_rows=len(seconds),
            rows=np.flatnonzero(self.baseline.normal),
            regimes=find_regimes(self.run, self.baseline),
        )
