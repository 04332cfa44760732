"""Recurring costs: the spacing of the slow rows, found without knowing any interval.

A comb is a spacing and a place to start; the spacing may be a fraction (a data shard of 190.73 steps), and two combs
may run side by side and drift apart (two ranks that reach the end of their shard a step apart). A comb is believed when
the rows on it are slow far more often than the others: the gain in likelihood is the evidence, less what the search
itself would find in noise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.columns.statistics import median, quantile
from stepscope.ledger.baseline import Baseline
from stepscope.run.model import Floats, Ints, Run

# A row is raised when it is this many robust deviations above its level, and by at least this share of it.
_SIGMAS = 6.0
_LEAST_EXCESS = 0.03
_LEAST_SCALE = 0.002
# A printed wait that takes this share of a step explains the row.
NOTABLE_WAIT = 0.03
# What a comb needs: raised rows on it, their share of its rows, and a gain in log likelihood over chance. 450 logs
# without any period exceeded that gain in one of fifty cases.
_LEAST_HITS = 5
_LEAST_RATE = 0.8
_LEAST_GAIN = 10.0
_MAX_COMBS = 4
_MAX_RAISED = 400  # more raised rows than this are a mixture of levels, not events; only the highest are used
_MAX_SPACINGS = 60
_FRACTIONS = (4, 300)  # how many whole spacings are looked around, and how finely
_WIDEST = 100_000  # steps: what is further apart is no fraction of a step off
# A whole spacing that holds this much of the raised rows, and few others, needs no fraction tried next to it.
_MOST = 0.9
_EXACT = 8
_MULTIPLES = (2, 3, 4, 5, 6, 8, 10)
# A second cost on a multiple was found in 98 % of the cases from this many events on, in 12 % with half as many.
ENOUGH_EVENTS = 20


class Period(NamedTuple):
    """A cost that comes back every `every` steps, at `offset` + n x `every`; `each_s` is its mean excess."""

    every: float
    offset: float
    each_s: float
    spread: float  # robust standard deviation of the excess, as a share of its median
    num_events: int
    num_hits: int
    gain: float
    rows: tuple[int, ...]  # the raised rows on the comb
    nested_in: float | None = None

    @property
    def is_whole(self) -> bool:
        """Whether every spacing is the same whole number of steps."""
        return float(self.every).is_integer()

    def moved(self, offset: int) -> Period:
        """The same comb in a run with `offset` rows before."""
        return self._replace(rows=tuple(row + offset for row in self.rows))


class Periods(NamedTuple):
    """What was found, and how many raised rows no comb holds."""

    found: tuple[Period, ...]
    unresolved: int  # raised rows alike in height that fit no comb, too few to judge
    raised: tuple[int, ...]

    def moved(self, offset: int) -> Periods:
        """The same periods in a run with `offset` rows before."""
        found = tuple(period.moved(offset) for period in self.found)
        return self._replace(found=found, raised=tuple(row + offset for row in self.raised))


def find_periods(run: Run, baseline: Baseline, known: np.ndarray) -> Periods:
    """The combs of the raised rows. `known` marks rows whose cost has a name already: they neither count nor miss."""
    steps = run.steps
    usable = (steps.span > 0) & ~known
    if steps.merged is not None:
        usable &= steps.merged == 1
    for segment in run.segments:
        if segment.fresh:
            usable[segment.first_row : segment.first_row + min(3, segment.num_rows)] = False
    rows = np.flatnonzero(usable)
    if len(rows) < 3 * _LEAST_HITS:
        return Periods((), 0, ())
    excess = (run.steps.dur_ns / 1e9 - baseline.level) * steps.span
    raised = _raised(run, baseline, rows)
    if len(raised) < _LEAST_HITS:
        return Periods((), 0, tuple(raised.tolist()))
    search = _Search(steps.step, steps.span, steps.segment, rows, excess)
    found: list[Period] = []
    left = raised
    while len(found) < _MAX_COMBS and len(left) >= _LEAST_HITS:
        comb = search.best(left)
        if comb is None:
            break
        found.append(comb)
        left = left[~np.isin(left, comb.rows)]
    nested = [inner for comb in found for inner in _nested(comb, steps.step, excess)]
    return Periods((*found, *nested), _alike(left, excess), tuple(raised.tolist()))


def _raised(run: Run, baseline: Baseline, rows: Ints) -> Ints:
    """Rows above their level by more than the noise; of very many, the highest."""
    share = (run.steps.dur_ns[rows] / 1e9) / np.maximum(baseline.level[rows], 1e-12) - 1
    calm = share[baseline.normal[rows]]
    scale = max(_LEAST_SCALE, 1.4826 * float(median(np.abs(calm)))) if len(calm) else _LEAST_SCALE
    # A log with one sharp figure and heavy tails has raised rows everywhere: its tail is its noise.
    tail = quantile(calm, 0.99) / 2.33 if len(calm) > 100 else 0.0
    bar = max(_SIGMAS * scale, 3 * min(tail, 4 * scale), _LEAST_EXCESS)
    high = np.flatnonzero(share > bar)
    if len(high) > _MAX_RAISED:
        high = np.sort(high[np.argsort(share[high])[-_MAX_RAISED:]])
    found: Ints = rows[high]
    return found


def _on_comb(step: Ints, span: Ints, every: float, offset: float) -> np.ndarray:
    before = np.floor((step - span - offset) / every + 1e-9)
    on: np.ndarray = np.floor((step - offset) / every + 1e-9) > before
    return on


class _Search:
    """One search: the rows that count, and how a comb fares on them."""

    def __init__(self, step: Ints, span: Ints, segment: Ints, rows: Ints, excess: Floats) -> None:
        self.step, self.span, self.segment, self.rows, self.excess = step, span, segment, rows, excess
        self.width = max(1, int(median(span[rows])))

    def best(self, raised: Ints) -> Period | None:
        """The comb with the largest gain, or None when none is believed."""
        places = self.step[raised]
        is_raised = np.zeros(len(self.step), dtype=bool)
        is_raised[raised] = True
        spacings = self._spacings(places)
        whole = self._scored(places, np.array(spacings, dtype=np.float64))
        best = self._believed(is_raised[self.rows], whole)
        if best is None or best.num_hits < _MOST * max(len(raised), best.num_events):
            fraction = self._believed(is_raised[self.rows], self._fractions(places, spacings))
            # A fraction has to explain more than the whole number next to it.
            if fraction is not None and (best is None or fraction.gain > best.gain):
                best = fraction
        return best

    def _believed(self, is_raised: np.ndarray, tried: list[tuple[float, float, float]]) -> Period | None:
        # The exact count takes all rows: only for the best by the places alone.
        tried = sorted(tried, key=lambda entry: (-entry[0], entry[2]))[:_EXACT]
        combs = [comb for _, offset, every in tried if (comb := self._comb(is_raised, every, offset)) is not None]
        return max(combs, key=lambda comb: (round(comb.gain, 6), -comb.every), default=None)

    def _spacings(self, places: Ints) -> list[int]:
        """Whole spacings that occur among the raised rows, and their divisors; the commonest first."""
        reach = min(len(places) - 1, 24)
        gaps = np.concatenate([places[lag:] - places[:-lag] for lag in range(1, reach + 1)])
        gaps = gaps[gaps > self.width]
        if not len(gaps):
            return []
        values, counts = np.unique(gaps, return_counts=True)
        common = values[np.argsort(-counts, kind="stable")][:_MAX_SPACINGS].tolist()
        extra = [
            gap // part
            for gap in common[: _MAX_SPACINGS // 4]
            for part in (2, 3, 4, 5, 6, 8, 10)
            if gap % part == 0 and gap // part > self.width
        ]
        return list(dict.fromkeys([*common, *extra]))[: 2 * _MAX_SPACINGS]

    def _concentration(self, places: Ints, every: float) -> tuple[float, float]:
        """How many places fall on one comb of this spacing beyond what they would by chance, and its offset."""
        phases = np.sort(np.mod(places.astype(float), every))
        around = np.concatenate([phases, phases + every])
        reach = self.width - 1 + 0.999
        ends = np.searchsorted(around, phases + reach, side="right")
        hits = ends - np.arange(len(phases))
        best = int(np.argmax(hits))
        expected = len(phases) * min(1.0, (reach + 1e-3) / every)
        span = max(float(places[-1] - places[0]), every)
        # A spacing that leaves most of its teeth empty explains little.
        teeth = span / every + 1
        offset = phases[best] if float(every).is_integer() else float(phases[best]) - 1e-6
        filled = min(1.0, int(hits[best]) / teeth)
        return float((hits[best] - expected) * filled), float(offset)

    def _fractions(self, places: Ints, spacings: list[int]) -> list[tuple[float, float, float]]:
        """Spacings that are no whole number: a finer and finer look around the commonest whole ones."""
        found = []
        length = max(float(places[-1] - places[0]), 1.0)
        most, fine = _FRACTIONS
        # A fractional spacing alternates between two neighbouring whole numbers, so only gaps to the very next event
        # count.
        nearest, counts = np.unique(np.diff(places), return_counts=True)
        gaps = nearest[np.argsort(-counts, kind="stable")][: most // 2].tolist()
        for spacing in list(dict.fromkeys([*gaps, *spacings]))[:most]:
            if not 8 <= spacing <= _WIDEST or length < 4 * spacing:
                continue
            fine_step = max(0.25 * spacing / length, 2.0 / fine)
            grid = spacing + np.arange(-1.0, 1.0, fine_step)
            rough = self._crowded(places, grid[grid % 1 != 0])
            closer = (rough[:, None] + np.linspace(-fine_step, fine_step, 21)).ravel()
            found.append(max(self._scored(places, closer[closer % 1 != 0])))
        return found

    def _crowded(self, places: Ints, grid: Floats) -> Floats:
        """The spacings of a grid that put most places side by side: counted in bins, all spacings at once."""
        bin_width = (self.width - 1 + 0.999) / 2
        bins = np.floor(np.mod(places.astype(float), grid[:, None]) / bin_width).astype(np.int64)
        most = int(bins.max()) + 2
        counts = np.bincount((bins + most * np.arange(len(grid))[:, None]).ravel(), minlength=most * len(grid))
        counts = counts.reshape(len(grid), most)
        crowd = (counts[:, :-1] + counts[:, 1:]).max(axis=1)
        return grid[np.argsort(-crowd, kind="stable")[:3]]

    def _scored(self, places: Ints, grid: Floats) -> list[tuple[float, float, float]]:
        return [(*self._concentration(places, float(every)), float(every)) for every in grid]

    def _comb(self, is_raised: np.ndarray, every: float, offset: float) -> Period | None:
        rows = self.rows
        on = _on_comb(self.step[rows], self.span[rows], every, offset)
        hits, num = int((on & is_raised).sum()), int(on.sum())
        off_hits, off_num = int((~on & is_raised).sum()), int((~on).sum())
        if hits < _LEAST_HITS or not off_num:
            return None
        rate, background = hits / num, (off_hits + 0.5) / (off_num + 1)
        if rate < _LEAST_RATE or background >= rate:
            return None
        certain = min(rate, 1 - 0.5 / (num + 1))
        gain = hits * np.log(certain / background) + (num - hits) * np.log((1 - certain) / (1 - background))
        # The offset, and a fraction's decimals, were chosen after looking: that costs likelihood.
        gain -= np.log(every / self.width)
        if not float(every).is_integer():
            gain -= np.log(max(2.0, float(self.step[rows[-1]] - self.step[rows[0]]) / every)) + 2.0
        if gain < _LEAST_GAIN:
            return None
        own = rows[on & is_raised]
        middle = float(median(self.excess[own]))
        spread = 1.4826 * float(median(np.abs(self.excess[own] - middle))) / middle if middle > 0 else 0.0
        return Period(
            every=every,
            offset=offset,
            each_s=float(np.mean(np.minimum(self.excess[own], 5 * middle))),
            spread=spread,
            num_events=num,
            num_hits=hits,
            gain=float(gain),
            rows=tuple(own.tolist()),
        )


def _nested(comb: Period, step: Ints, excess: Floats) -> list[Period]:
    """A second cost on a multiple of the comb, by regression that forgives outliers (least absolute deviations)."""
    rows = np.array(comb.rows)
    if len(rows) < ENOUGH_EVENTS:
        return []
    tooth = np.floor((step[rows] - comb.offset) / comb.every + 1e-9).astype(np.int64)
    values = excess[rows]
    alone = float(np.abs(values - median(values)).mean())
    best: tuple[float, int, int, float] | None = None
    for multiple in _MULTIPLES:
        for phase in range(multiple):
            own = (tooth % multiple) == phase
            if own.sum() < _LEAST_HITS or (~own).sum() < _LEAST_HITS:
                continue
            low, high = float(median(values[~own])), float(median(values[own]))
            both = float(np.abs(values - np.where(own, high, low)).mean())
            gain = len(values) * np.log(max(alone, 1e-12) / max(both, 1e-12))
            if high > low and gain > 1.5 * np.log(len(values)) + 2 * np.log(6 * multiple):
                better = best is None or gain > best[0]
                best = (gain, multiple, phase, high - low) if better else best
    if best is None:
        return []
    gain, multiple, phase, each_s = best
    own = (tooth % multiple) == phase
    return [
        Period(
            every=comb.every * multiple,
            offset=comb.offset + phase * comb.every,
            each_s=each_s,
            spread=comb.spread,
            num_events=int(own.sum()),
            num_hits=int(own.sum()),
            gain=float(gain),
            rows=tuple(rows[own].tolist()),
            nested_in=comb.every,
        )
    ]


def _alike(left: Ints, excess: Floats) -> int:
    """How many of the rows that fit no comb are of one height: they may be the beginning of one."""
    if len(left) < 3:
        return 0
    middle = float(median(excess[left]))
    return int((np.abs(excess[left] - middle) <= 0.2 * middle).sum())
