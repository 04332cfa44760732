"""Run → Ledger: every second between the first and the last line, sorted into phases.

Printed rows are a biased sample: one normal step in `log_interval`, but every evaluating step whose number
is a multiple of it. So nothing here averages rows; unprinted steps are counted and priced one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stepscope.evaluations import Evaluation, find_evaluations
from stepscope.ledger import priors
from stepscope.ledger.baseline import Baseline, find_baseline
from stepscope.ledger.phases import Basis, Cause, Ledger, NormalStep, Part, Phase, PhaseTotal, Price, SlowStep, Split
from stepscope.ledger.prices import Excess, Posterior, infer_prices
from stepscope.ledger.regimes import find_regimes
from stepscope.ledger.stamps import StampedEvaluation, read_stamps
from stepscope.run import Run
from stepscope.units import NS, seconds_to_ns

_Z90 = 1.645
# Printing a line (and wandb, and a flush) takes up to this long and is inside the next step's time.
_LOG_LINE_S = 0.004
# The first step of a process is slower than the next ones even without compiling: first touch of memory.
_FIRST_TOUCH = (0.0, 0.3, 1.0)  # in steps: low, middle, high
# The first evaluation of a process runs on cold caches: this many times a later one, give or take.
_FIRST_EVALUATION = (1.15, 0.25)
# An evaluation that takes this many times what others did holds something else as well.
_ODD_EVALUATION = 3.0
_ORDER: tuple[Phase, ...] = ("step", "evaluation", "checkpoint", "warmup", "stall", "gap", "unlogged")


@dataclass
class _Account:
    """One phase while it is being added up: seconds, variance of what varies freely, and what shifts as one."""

    seconds: float = 0.0
    variance: float = 0.0
    down: float = 0.0
    up: float = 0.0
    count: int = 0
    by_basis: dict[Basis, float] = field(default_factory=dict)

    def add(self, seconds: float, basis: Basis, *, sd: float = 0.0, down: float = 0.0, up: float = 0.0, count: int = 1) -> None:
        self.seconds += seconds
        self.variance += sd * sd
        self.down += down
        self.up += up
        self.count += count
        self.by_basis[basis] = self.by_basis.get(basis, 0.0) + max(seconds, 0.0)

    def interval(self, z: float) -> tuple[float, float]:
        free = z * self.variance**0.5
        return max(0.0, self.seconds - self.down - free), self.seconds + self.up + free

    @property
    def basis(self) -> Basis:
        return max(self.by_basis, key=lambda basis: self.by_basis[basis], default="measured")


def attribute(run: Run, *, confidence: float = 0.9) -> Ledger:
    """Sort the seconds of `run` into phases. An empty run gives an empty ledger."""
    evaluations = find_evaluations(run)
    is_event = np.zeros(len(run), dtype=bool)
    for evaluation in evaluations:
        if evaluation.row is not None:
            is_event[evaluation.row] = True
    baseline = find_baseline(run, is_event) if len(run) else None
    if baseline is None:
        return _without_level(run, is_event)
    return _Attribution(run, evaluations, baseline, confidence).ledger()


def _without_level(run: Run, is_event: np.ndarray) -> Ledger:
    """No normal step was printed: the printed seconds are all that can be said."""
    printed = int(run.steps.dur_ns.sum()) if len(run) else 0
    phase: Phase = "evaluation" if is_event.any() else "warmup"
    seconds = printed / NS
    totals = (
        (PhaseTotal(phase=phase, seconds=seconds, low_s=0.0, high_s=seconds, basis="assumed", ns=printed, count=len(run), share=1.0),)
        if printed
        else ()
    )
    return Ledger(
        wall_ns=printed,
        wall_low_s=seconds,
        wall_high_s=seconds,
        phases=totals,
        slow=(),
        step=None,
        evaluation_price=None,
        checkpoint_price=None,
        split="none",
        stamps_used=False,
        stamps_unusable=False,
    )


class _Attribution:
    """One attribution in the making; its methods are the steps of it, in order."""

    def __init__(self, run: Run, evaluations: list[Evaluation], baseline: Baseline, confidence: float) -> None:
        self.run = run
        self.evaluations = evaluations
        self.baseline = baseline
        self.confidence = confidence
        self.z = _Z90 if abs(confidence - 0.9) < 1e-9 else _normal_quantile(0.5 + confidence / 2)
        self.seconds = run.steps.dur_ns / NS
        self.accounts: dict[Phase, _Account] = {phase: _Account() for phase in _ORDER}
        self.parts: dict[int, list[Part]] = {}
        self.stamps = read_stamps(run, evaluations, baseline)
        # On a CPU without compile, start-up is over before the first evaluation begins.
        self.eager_cpu = run.settings.truth("compile") is False and run.settings.text("device") == "cpu"
        self.posterior = self._infer()
        self.split = self._how_split()
        self.typical_evaluation = self._typical_evaluation()

    # -- prices -------------------------------------------------------------------------------------------

    def _excess(self, evaluation: Evaluation) -> Excess | None:
        row = evaluation.row
        if row is None:
            return None
        level, jitter = float(self.baseline.level[row]), float(self.baseline.jitter[row])
        seconds = float(self.seconds[row]) - level
        first = self._starts_process(row)
        if first and self.eager_cpu:
            usual = (seconds - _FIRST_TOUCH[1] * level) / _FIRST_EVALUATION[0]
            spread = float(np.hypot(jitter, _FIRST_EVALUATION[1] * max(usual, 0.0)))
            return Excess(seconds=usual, level_s=level, jitter_s=spread, saved=evaluation.saved, at_most=False)
        return Excess(seconds=seconds, level_s=level, jitter_s=jitter, saved=evaluation.saved, at_most=first)

    def _starts_process(self, row: int) -> bool:
        segment = self.run.segments[int(self.run.steps.segment[row])]
        return segment.fresh and row == segment.first_row

    def _infer(self) -> Posterior | None:
        excesses = [excess for evaluation in self.evaluations if (excess := self._excess(evaluation)) is not None]
        return infer_prices(
            excesses,
            evaluation=priors.evaluation_steps(self.run.settings, self.run.format),
            save=priors.checkpoint_seconds(self.run.settings, self.run.format),
            confidence=self.confidence,
        )

    def _typical_evaluation(self) -> float:
        """An evaluation at the reference level: what later ones leave after their saves, else the posterior's middle."""
        if self.posterior is None:
            return 0.0
        price = self.posterior
        left = [
            (excess.seconds - (price.save_at(excess.level_s)[1] if excess.saved else 0.0)) / price.factor(excess.level_s)
            for evaluation in self.evaluations
            if (excess := self._excess(evaluation)) is not None and excess.level_s > 0 and not excess.at_most
        ]
        low, middle, high = self.posterior.evaluation_s
        return min(max(float(np.median(left)), low), high) if left else middle

    def _evaluation_at(self, level: float) -> tuple[float, float, float]:
        """Low, middle and high of an evaluation at a step level, by the posterior."""
        assert self.posterior is not None
        factor = self.posterior.factor(level)
        low, _, high = self.posterior.evaluation_s
        return low * factor, self.typical_evaluation * factor, high * factor

    def _how_split(self) -> Split:
        if self.stamps is not None and self.stamps.evaluations:
            return "stamps"
        timed = [e for e in self.evaluations if e.row is not None]
        later = [e for e in timed if e.row is not None and not self._starts_process(e.row)]
        if not any(e.saved for e in self.evaluations):
            return "none"
        if sum(not e.saved for e in later) >= 2 and sum(e.saved for e in later) >= 2:
            return "contrast"
        if self.eager_cpu and any(not e.saved for e in timed):
            return "first-step"
        return "model"

    # -- adding up ----------------------------------------------------------------------------------------

    def ledger(self) -> Ledger:
        run = self.run
        timed = {e.row: e for e in self.evaluations if e.row is not None}
        normal_rows = np.flatnonzero(~self._special_rows(timed))
        normal_s = float(self.seconds[normal_rows].sum())
        step = self.accounts["step"]
        step.add(normal_s, "measured", down=_LOG_LINE_S * len(run), count=len(normal_rows))
        step.down = min(step.down, 0.1 * normal_s)
        for row, evaluation in timed.items():
            self._add_evaluation_row(row, evaluation)
        for row in np.flatnonzero(self._special_rows(timed)):
            if int(row) not in timed:
                self._add_slow_row(int(row))
        self._add_unprinted_steps()
        for evaluation in self.evaluations:
            if evaluation.row is None and evaluation.next_row < len(run):
                self._add_unprinted_evaluation(evaluation)
        wall_s = sum(account.seconds for account in self.accounts.values())
        wall_sd = self.accounts["step"].variance**0.5 if self.unprinted else 0.0
        stamps_used = self._reconcile_with_stamps(wall_s)
        totals, wall_ns = self._totals()
        return Ledger(
            wall_ns=wall_ns,
            wall_low_s=wall_ns / NS - (0.0 if stamps_used else self.z * wall_sd),
            wall_high_s=wall_ns / NS + (0.0 if stamps_used else self.z * wall_sd),
            phases=totals,
            slow=self._slow_steps(timed),
            step=self._normal_step(),
            evaluation_price=self._evaluation_price(),
            checkpoint_price=self._checkpoint_price(),
            split=self.split,
            stamps_used=stamps_used,
            stamps_unusable=run.stamps is not None and self.stamps is None,
        )

    def _special_rows(self, timed: dict[int, Evaluation]) -> np.ndarray:
        """Rows that are more than one normal step: evaluating, slow, or the first of a process."""
        special = self.baseline.slow.copy()
        special[list(timed)] = True
        for segment in self.run.segments:
            if segment.fresh and segment.num_rows:
                special[segment.first_row] = True
        return special

    def _put(self, row: int, phase: Phase, seconds: float, low: float, high: float, basis: Basis) -> None:
        self.parts.setdefault(row, []).append(
            Part(phase=phase, seconds=seconds, low_s=max(0.0, low), high_s=max(high, seconds), basis=basis)
        )

    def _add_evaluation_row(self, row: int, evaluation: Evaluation) -> None:
        level, jitter = float(self.baseline.level[row]), float(self.baseline.jitter[row])
        total = float(self.seconds[row])
        stamped = self.stamps.evaluations.get(evaluation.line) if self.stamps else None
        if stamped is not None:
            self._add_stamped(row, total, level, jitter, stamped)
            return
        step_s = min(level, total)
        excess = total - step_s
        self.accounts["step"].add(step_s, "inferred", sd=jitter, down=0.05 * step_s, up=0.05 * step_s)
        self._put(row, "step", step_s, step_s - self.z * jitter, min(total, step_s + self.z * jitter), "inferred")
        if self.posterior is None:
            return
        save = self.posterior.save_at(level) if evaluation.saved else (0.0, 0.0, 0.0)
        if self._starts_process(row):
            self._split_first(row, excess, level, jitter, save)
        else:
            self._split_later(row, excess, level, jitter, save)

    def _split_later(self, row: int, excess: float, level: float, jitter: float, save: tuple[float, float, float]) -> None:
        """Evaluation is what the save leaves: the sum is known, only the border between them is not."""
        assert self.posterior is not None
        _, middle, most = self._evaluation_at(level)
        expected = middle + save[1]
        stall = 0.0
        others = sum(1 for e in self.evaluations if e.row is not None) > 3
        if others and excess > _ODD_EVALUATION * max(expected, most + save[1]):
            stall = excess - expected
            self._add_stall(row, stall)
            excess = expected
        save_s = min(save[1], excess)
        low, high = min(save[0], excess), min(save[2], excess)
        basis: Basis = "assumed" if self.split == "model" else "inferred"
        evaluation_s = excess - save_s
        sd = jitter
        self.accounts["evaluation"].add(
            evaluation_s, basis, sd=sd, down=high - save_s + 0.05 * level, up=save_s - low + 0.05 * level
        )
        self._put(row, "evaluation", evaluation_s, excess - high - self.z * sd, excess - low + self.z * sd, basis)
        if save[1]:
            self.accounts["checkpoint"].add(save_s, basis, down=save_s - low, up=high - save_s)
            self._put(row, "checkpoint", save_s, low, high, basis)

    def _split_first(self, row: int, excess: float, level: float, jitter: float, save: tuple[float, float, float]) -> None:
        """The first step of a process: evaluation at the price it has elsewhere, the rest is warm-up."""
        assert self.posterior is not None
        if self.eager_cpu:
            low_w, warm, high_w = (share * level for share in _FIRST_TOUCH)
            evaluation_s = max(0.0, excess - warm - save[1])
            interval = (excess - high_w - save[2], excess - low_w - save[0])
            basis: Basis = "inferred"
        else:
            least, middle, most = self._evaluation_at(level)
            swing = 1 + self.z * self.posterior.scatter
            evaluation_s = min(middle, max(0.0, excess - save[1]))
            interval = (least / swing, min(most * swing, excess))
            basis = "assumed" if self.split == "model" or not self._has_later_evaluation() else "inferred"
        save_s = min(save[1], max(0.0, excess - evaluation_s))
        warm_s = max(0.0, excess - evaluation_s - save_s)
        low, high = max(0.0, min(interval[0], evaluation_s)), max(interval[1], evaluation_s)
        self.accounts["evaluation"].add(evaluation_s, basis, sd=jitter, down=evaluation_s - low, up=high - evaluation_s)
        self._put(row, "evaluation", evaluation_s, low, high, basis)
        if save[1]:
            self.accounts["checkpoint"].add(save_s, basis, down=save_s - save[0], up=save[2] - save_s)
            self._put(row, "checkpoint", save_s, save[0], save[2], basis)
        self.accounts["warmup"].add(warm_s, basis, sd=jitter, down=high - evaluation_s, up=evaluation_s - low)
        self._put(row, "warmup", warm_s, warm_s - (high - evaluation_s), warm_s + evaluation_s - low, basis)
        if self.eager_cpu:
            # What we call first touch is a slow first step: nothing in the log says which.
            self.accounts["step"].up += high_w

    def _has_later_evaluation(self) -> bool:
        return any(e.row is not None and not self._starts_process(e.row) for e in self.evaluations)

    def _add_stamped(self, row: int, total: float, level: float, jitter: float, stamped: StampedEvaluation) -> None:
        """Stamps before and after: evaluation is measured; the end of a save prints nothing, so save + step is."""
        tick = stamped.uncertainty_s
        basis: Basis = "measured" if stamped.exact else "inferred"
        # The line before was still being written when the evaluation's clock began.
        early = min(_LOG_LINE_S, 0.05 * stamped.seconds) + 0.002 * stamped.seconds
        self.accounts["evaluation"].add(stamped.seconds, basis, sd=tick, down=early, up=0.002 * stamped.seconds)
        self._put(row, "evaluation", stamped.seconds, stamped.seconds - early - 2 * tick, stamped.seconds + 2 * tick, basis)
        rest = max(0.0, total - stamped.seconds)
        if stamped.rest_s is not None:
            rest = min(rest, stamped.rest_s) if self._starts_process(row) else rest
        warm_s = 0.0
        if self._starts_process(row):
            warm_s = max(0.0, total - stamped.seconds - rest)
        if stamped.saved:
            save_s = max(0.0, rest - level)
            # The step inside is one draw: its neighbours' level is off by their spread and, beside a save, more.
            sd = float(np.hypot(max(jitter, tick), 0.12 * level))
            self.accounts["checkpoint"].add(save_s, "inferred", sd=sd, down=0.06 * level, up=0.06 * level)
            self._put(row, "checkpoint", save_s, save_s - self.z * sd, save_s + self.z * sd, "inferred")
            rest -= save_s
        self.accounts["step"].add(rest, basis, sd=max(tick, jitter if stamped.saved else 0.0))
        self._put(row, "step", rest, rest - self.z * jitter, rest + self.z * jitter, basis)
        if warm_s > 0:
            self.accounts["warmup"].add(warm_s, basis, sd=tick)
            self._put(row, "warmup", warm_s, warm_s - 2 * tick, warm_s + 2 * tick, basis)

    def _add_slow_row(self, row: int) -> None:
        """A slow row without an evaluation: warm-up at the start of a process, else unexplained."""
        level, jitter = float(self.baseline.level[row]), float(self.baseline.jitter[row])
        total = float(self.seconds[row])
        step_s = min(level, total)
        excess = total - step_s
        self.accounts["step"].add(step_s, "inferred", sd=jitter)
        self._put(row, "step", step_s, step_s - self.z * jitter, step_s + self.z * jitter, "inferred")
        if excess <= 0:
            return
        if self._is_warmup(row):
            self.accounts["warmup"].add(excess, "inferred", sd=jitter)
            self._put(row, "warmup", excess, excess - self.z * jitter, excess + self.z * jitter, "inferred")
        else:
            self._add_stall(row, excess)

    def _add_stall(self, row: int, seconds: float) -> None:
        jitter = float(self.baseline.jitter[row])
        self.accounts["stall"].add(seconds, "measured", sd=jitter)
        self._put(row, "stall", seconds, seconds - self.z * jitter, seconds + self.z * jitter, "measured")
        # No line says that these seconds were not simply a slow step.
        self.accounts["step"].up += seconds

    def _is_warmup(self, row: int) -> bool:
        """Among the first rows of a process, before three rows in a row were normal."""
        segment = self.run.segments[int(self.run.steps.segment[row])]
        if not segment.fresh:
            return False
        calm = 0
        for other in range(segment.first_row + 1, row):
            calm = calm + 1 if self.baseline.normal[other] else 0
            if calm >= 3:
                return False
        return row - segment.first_row < 50

    @property
    def unprinted(self) -> bool:
        steps = self.run.steps
        same = np.diff(steps.segment) == 0
        return bool((np.diff(steps.step)[same] > 1).any())

    def _add_unprinted_steps(self) -> None:
        """Every step between two printed ones, at the level of its neighbours."""
        steps = self.run.steps
        if len(steps) < 2:
            return
        missing = np.where(np.diff(steps.segment) == 0, np.diff(steps.step) - 1, 0)
        missing = np.maximum(missing, 0)
        count = int(missing.sum())
        if not count:
            return
        usable = self.baseline.normal
        tempered = self._tempered()
        # Mean of the two printed neighbours' levels; a median would forget that slow-ish steps cost more.
        local = (tempered[:-1] + tempered[1:]) / 2
        total = float((missing * local).sum())
        normal = self.seconds[usable]
        noise = float(np.std(np.diff(normal)) / np.sqrt(2)) if len(normal) > 2 else float(self.baseline.jitter.mean())
        sd = noise * float(np.sqrt((missing.astype(float) ** 2 / 2 + missing).sum()))
        self.accounts["step"].add(total, "inferred", sd=sd, down=0.005 * total, up=0.005 * total, count=count)

    def _tempered(self) -> np.ndarray:
        """Per row, what a normal step near it takes on average: its own time where normal, else the level."""
        seconds = np.where(self.baseline.normal, self.seconds, self.baseline.level)
        if len(seconds) < 3:
            return seconds
        # Three-row mean: the neighbours of an unprinted step say more about it than one of them.
        padded = np.concatenate([seconds[:1], seconds, seconds[-1:]])
        smooth: np.ndarray = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
        same = np.diff(self.run.steps.segment) == 0
        keep = np.concatenate([[False], same]) & np.concatenate([same, [False]])
        return np.where(keep, smooth, seconds)

    def _add_unprinted_evaluation(self, evaluation: Evaluation) -> None:
        """An evaluation whose step was not printed: the price it has elsewhere."""
        if self.posterior is None:
            return
        level = float(self.baseline.level[min(evaluation.next_row, len(self.run) - 1)])
        least, middle, most = self._evaluation_at(level)
        basis: Basis = "assumed" if self.split == "model" else "inferred"
        self.accounts["evaluation"].add(
            middle,
            basis,
            sd=max(0.1, self.posterior.scatter) * middle,
            down=middle - least,
            up=most - middle,
        )
        if evaluation.saved:
            low, save_s, high = self.posterior.save_at(level)
            self.accounts["checkpoint"].add(save_s, basis, down=save_s - low, up=high - save_s)

    # -- stamps -------------------------------------------------------------------------------------------

    def _reconcile_with_stamps(self, wall_s: float) -> bool:
        """Where stamps can be trusted they give the total; what the lines leave over is start-up, gap or unlogged."""
        if self.stamps is None:
            return False
        for seconds, phase in self.stamps.outside:
            self.accounts[phase].add(seconds, "measured", sd=self.stamps.tick_s)
            wall_s += seconds
        rest = self.stamps.wall_s - wall_s
        if rest >= 0:
            if rest > self.stamps.tick_s:
                self.accounts["unlogged"].add(rest, "measured", sd=self.stamps.tick_s)
            else:
                self.accounts["step"].add(rest, "measured", count=0)
        else:
            self.accounts["step"].add(rest, "inferred", count=0, down=-rest, up=-rest)
        return True

    # -- results ------------------------------------------------------------------------------------------

    def _totals(self) -> tuple[tuple[PhaseTotal, ...], int]:
        used = [(phase, self.accounts[phase]) for phase in _ORDER if self.accounts[phase].count]
        nanos = {phase: seconds_to_ns(account.seconds) for phase, account in used}
        wall_ns = sum(nanos.values())
        totals = []
        for phase, account in used:
            low, high = account.interval(self.z)
            totals.append(
                PhaseTotal(
                    phase=phase,
                    seconds=nanos[phase] / NS,
                    low_s=min(low, nanos[phase] / NS),
                    high_s=max(high, nanos[phase] / NS),
                    basis=account.basis,
                    ns=nanos[phase],
                    count=account.count,
                    share=nanos[phase] / wall_ns if wall_ns else 0.0,
                )
            )
        return tuple(totals), wall_ns

    def _normal_step(self) -> NormalStep:
        seconds = self.seconds[self.baseline.normal]
        low = float(np.quantile(seconds, 0.05, method="lower"))
        high = float(np.quantile(seconds, 0.95, method="higher"))
        return NormalStep(
            typical_s=float(np.median(seconds)),
            low_s=low,
            high_s=high,
            count=len(seconds),
            rows=np.flatnonzero(self.baseline.normal),
            regimes=find_regimes(self.run, self.baseline),
        )

    def _slow_steps(self, timed: dict[int, Evaluation]) -> tuple[SlowStep, ...]:
        rows = [int(row) for row in np.flatnonzero(self.baseline.slow)]
        found = []
        for row in rows:
            parts = sorted(self.parts.get(row, []), key=lambda part: -part.seconds)
            cause = _cause(parts)
            evaluation = timed.get(row)
            lines = tuple(
                line
                for line in (evaluation.line if evaluation and evaluation.printed else None, evaluation.save_line if evaluation else None)
                if line is not None
            )
            found.append(
                SlowStep(
                    row=row,
                    step=int(self.run.steps.step[row]),
                    line=int(self.run.steps.line[row]),
                    seconds=float(self.seconds[row]),
                    cause=cause,
                    confidence=self._confidence(cause, parts, evaluation),
                    parts=tuple(parts),
                    evidence_lines=lines,
                )
            )
        return tuple(sorted(found, key=lambda slow: (-slow.seconds, slow.row)))

    def _confidence(self, cause: Cause, parts: list[Part], evaluation: Evaluation | None) -> float:
        """A printed marker is near certainty about *what* ran; the rest is how much of the excess it can explain."""
        if cause == "unexplained":
            return 0.0
        if cause == "warmup":
            return 0.9
        if evaluation is None or not evaluation.printed:
            return 0.7
        excess = sum(part.seconds for part in parts if part.phase != "step")
        known = sum(part.seconds for part in parts if part.phase in {"evaluation", "checkpoint", "warmup"})
        return round(0.98 * known / excess, 2) if excess > 0 else 0.5

    def _evaluation_price(self) -> Price | None:
        stamped = self.stamps.typical_evaluation() if self.stamps else None
        if stamped is not None:
            return Price(seconds=stamped[1], low_s=stamped[0], high_s=stamped[2], basis="measured")
        if self.posterior is None:
            return None
        level = self._recent_level()
        basis: Basis = "assumed" if self.split == "model" else "inferred"
        low, middle, high = self._evaluation_at(level)
        return Price(seconds=middle, low_s=low, high_s=high, basis=basis)

    def _checkpoint_price(self) -> Price | None:
        if self.posterior is None or not any(e.saved for e in self.evaluations):
            return None
        total = self.accounts["checkpoint"]
        if self.split == "stamps" and total.count:
            low, high = total.interval(self.z)
            return Price(seconds=total.seconds / total.count, low_s=low / total.count, high_s=high / total.count, basis="inferred")
        low, middle, high = self.posterior.save_at(self._recent_level())
        basis: Basis = "assumed" if self.split == "model" else "inferred"
        return Price(seconds=middle, low_s=low, high_s=high, basis=basis)

    def _recent_level(self) -> float:
        return float(np.median(self.seconds[self.baseline.normal][-100:]))


def _cause(parts: list[Part]) -> Cause:
    """The largest part that is not the step itself."""
    for part in parts:
        if part.phase == "stall":
            return "unexplained"
        if part.phase in {"evaluation", "checkpoint", "warmup"}:
            cause: Cause = part.phase  # type: ignore[assignment]
            return cause
    return "unexplained"


def _normal_quantile(p: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(min(max(p, 0.501), 0.9999))
