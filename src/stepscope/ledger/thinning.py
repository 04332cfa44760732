"""Rows of a very long run → fewer: ordinary ones merged, so that its memory does not grow with every iteration.

What the ledger asks of a single row is whether it is out of the ordinary: slow, holding an evaluation or a checkpoint,
at the edge of a process. Such rows stay as they are, and so do those next to them, which are their level. Of the rest
every stretch begins with rows that stay, the sample that noise and levels are measured on, and what follows is one row
with the sum of their seconds. So totals, counts and stops are those of all rows; what is estimated from ordinary rows
is estimated from a sample of more than half a million.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from stepscope.columns.decimals import take, unpack
from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.ledger.baseline import LEAST_EXCESS, SIDE, SIGMAS, spread
from stepscope.ledger.unprinted import every_kth
from stepscope.run.model import Floats, Ints, Run, StepTable

# Runs with more rows than this are thinned, to about half as many.
MOST_ROWS = 2_000_000
# Ordinary rows in a row that stay, at the beginning of each stretch.
_SAMPLE = 64
# Rows that make up the level that tells ordinary rows from others; a row next to one that is out of the ordinary.
_LEVEL_ROWS, _NEAR = 64, SIDE + 1
# Rows at either end of the run and of each process.
_END_ROWS, _EDGE_ROWS = 2_048, 64
# A row this far towards being slow stays: the level here is a little different from the one that decides.
_TOWARDS_SLOW = 0.7
# The highest rows stay whether they are slow or not: they show what comes back. So do the highest losses.
_MOST_RAISED, _LEAST_RAISED, _MOST_LOSSES = 1_024, 0.03, 512
_BLOCK = 1 << 18  # rows worked on together
_EVERY = 16  # of the rows that show how far they scatter
_LONGEST_NS = 10**15  # a row of eleven days is not ordinary, and sums stay whole numbers of 64 bits

Bools = npt.NDArray[np.bool_]


def thinned(run: Run, *, most: int = MOST_ROWS) -> Run:
    """The run with at most about `most` rows; itself where it has no more, or where no row has a time."""
    if len(run) <= most:
        return run
    stays = _staying(run)
    if stays is None:
        return run
    stretch = _SAMPLE * -(-len(run) // (most // 2))
    return _with_rows(run, _starts(run.steps, stays, stretch, _spacing(run)))


def _spacing(run: Run) -> int:
    """How many steps printed ones are usually apart, where each stands for those between them; else 1."""
    first = take(run.steps.kept_step, slice(_END_ROWS)).astype(np.int64)
    is_drawn = every_kth(unpack(take(run.steps.kept_dur, slice(_END_ROWS))) / NS).any()
    return 1 if is_drawn else max(1, int(median(np.diff(first))))


def _blocks(num: int) -> Iterator[slice]:
    return (slice(at, min(num, at + _BLOCK)) for at in range(0, num, _BLOCK))


def _spans(steps: StepTable, rows: slice) -> Ints:
    """How many steps some rows cover, without a column of those of all."""
    if steps.spans is not None:
        return steps.spans[rows].astype(np.int64)
    before = max(0, rows.start - 1)
    step = take(steps.kept_step, slice(before, rows.stop)).astype(np.int64)
    spans: Ints = np.diff(step, prepend=step[:1] - 1)[rows.start - before :]
    own = steps.first_rows[(steps.first_rows >= rows.start) & (steps.first_rows < rows.stop)]
    spans[own - rows.start] = 1
    return spans


def _levels(values: npt.NDArray[np.generic]) -> Floats:
    """For each value, the median of the `_LEVEL_ROWS` that it is one of."""
    whole = len(values) - len(values) % _LEVEL_ROWS
    levels = [median(values[:whole].reshape(-1, _LEVEL_ROWS), axis=1)] if whole else []
    if whole < len(values):
        levels.append(np.array([median(values[-_LEVEL_ROWS:])]))
    return np.repeat(np.concatenate(levels), _LEVEL_ROWS)[: len(values)]


def _ratios(steps: StepTable) -> Iterator[tuple[slice, Floats]]:
    """Block by block, each row's seconds over those of the rows around it; NaN where it has none."""
    for rows in _blocks(len(steps)):
        own = unpack(take(steps.kept_dur, rows)).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            yield rows, np.where(_spans(steps, rows) > 0, own / _levels(own), np.nan)


def _staying(run: Run) -> Bools | None:
    """The rows that stay because something is out of the ordinary with them or next to them; None without any time."""
    steps, num = run.steps, len(run)
    sampled = np.concatenate([ratio[::_EVERY] for _, ratio in _ratios(steps)])
    sampled = sampled[np.isfinite(sampled)]
    if not len(sampled):
        return None
    bar = 1 + _TOWARDS_SLOW * max(SIGMAS * spread(sampled - 1, 0.0), LEAST_EXCESS)
    odd, raised, high = [], [], []
    for rows, ratio in _ratios(steps):
        odd.append(rows.start + np.flatnonzero(~(ratio <= bar)))
        above = np.flatnonzero(ratio > 1 + _LEAST_RAISED)
        raised.append(_highest(rows.start + above, ratio[above], _MOST_RAISED))
        loss = unpack(take(steps.kept_loss, rows))
        known = np.flatnonzero(np.isfinite(loss))
        if len(known):
            own = loss[known]
            high.append(_highest(rows.start + known, own - _levels(own), _MOST_LOSSES))
    places = [
        *odd,
        _highest(*_joined(raised), _MOST_RAISED)[0],
        _highest(*_joined(high), _MOST_LOSSES)[0],
        run.events.row,
        np.arange(_END_ROWS),
        np.arange(num - _END_ROWS, num),
    ]
    for segment in run.segments:
        end = segment.first_row + segment.num_rows
        places += [np.arange(segment.first_row, min(end, segment.first_row + _EDGE_ROWS)), np.arange(end - SIDE, end)]
    stays = np.zeros(num, dtype=bool)
    marked = np.concatenate(places)
    for shift in range(-_NEAR, _NEAR + 1):
        stays[np.clip(marked + shift, 0, num - 1)] = True
    return stays


def _highest(rows: Ints, heights: Floats, most: int) -> tuple[Ints, Floats]:
    """The rows of the greatest heights."""
    if len(rows) <= most:
        return rows, heights
    own = np.argpartition(heights, len(heights) - most)[-most:]
    return rows[own], heights[own]


def _joined(parts: list[tuple[Ints, Floats]]) -> tuple[Ints, Floats]:
    if not parts:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    return np.concatenate([rows for rows, _ in parts]), np.concatenate([heights for _, heights in parts])


def _starts(steps: StepTable, stays: Bools, stretch: int, spacing: int) -> Ints:
    """The rows that begin a row of the thinned table."""
    found = []
    for rows in _blocks(len(steps)):
        at = np.arange(rows.start, rows.stop) % stretch
        stays[rows] |= at < _SAMPLE
        before = max(0, rows.start - 1)
        # A row joins the one before it where it covers all steps since, or where as many as always are not printed.
        step = take(steps.kept_step, slice(before, rows.stop)).astype(np.int64)
        since = np.diff(step, prepend=0)[rows.start - before :]
        spans = _spans(steps, rows)
        is_long = unpack(take(steps.kept_dur, rows)) > _LONGEST_NS // np.maximum(spans, 1)
        after_one = np.concatenate([stays[before:1], stays[before : rows.stop - 1]])[-len(at) :]
        joins = (since == spans) | ((spans == 1) & (since == spacing))
        is_start = stays[rows] | after_one | (spans <= 0) | ~joins | is_long
        found.append(rows.start + np.flatnonzero(is_start))
    starts: Ints = np.union1d(np.concatenate(found), steps.first_rows)
    return starts


def _with_rows(run: Run, starts: Ints) -> Run:
    """The run with a row for each stretch that begins at one of `starts`."""

    def placed(rows: Ints) -> Ints:
        found: Ints = np.searchsorted(starts, rows, side="right") - 1
        found[rows >= len(run)] = len(starts)
        return found

    def place(row: int) -> int:
        return int(placed(np.array([row]))[0])

    edges = placed(np.array([segment.first_row for segment in run.segments] + [len(run)])).tolist()
    return dataclasses.replace(
        run,
        steps=_merged(run.steps, starts, placed(run.steps.first_rows)),
        events=dataclasses.replace(run.events, row=placed(run.events.row)),
        segments=tuple(
            segment._replace(first_row=first, num_rows=end - first)
            for segment, first, end in zip(run.segments, edges, edges[1:], strict=False)
        ),
        notices=tuple(notice._replace(row=place(notice.row)) for notice in run.notices),
        remarks=tuple(remark._replace(row=placed(remark.row)) for remark in run.remarks),
        runtimes=tuple(runtime._replace(row=place(runtime.row)) for runtime in run.runtimes),
    )


def _merged(steps: StepTable, starts: Ints, first_rows: Ints) -> StepTable:
    """A table of which each row is those from one start to the next: their sums, and what the last of them prints."""
    ends = np.append(starts[1:], len(steps)) - 1
    sizes = ends - starts + 1
    dur, spans = np.empty(len(starts), dtype=np.int64), np.empty(len(starts), dtype=np.int64)
    data_s, work = (np.broadcast_to(np.nan, len(starts)) if _is_empty(own) else own[ends] for own in _extras(steps))
    cuts = np.unique(np.append(np.searchsorted(starts, np.arange(0, len(steps), _BLOCK)), len(starts))).tolist()
    for first, end in pairwise(cuts):
        rows, own = slice(int(starts[first]), int(ends[end - 1]) + 1), slice(first, end)
        places = starts[own] - rows.start
        durs, covered = unpack(take(steps.kept_dur, rows)).astype(np.int64), _spans(steps, rows)
        spans[own] = np.add.reduceat(covered, places)
        is_merged = sizes[own] > 1
        means = np.rint(np.add.reduceat(durs * covered, places) / np.maximum(spans[own], 1)).astype(np.int64)
        dur[own] = np.where(is_merged, means, durs[places])
        for column, kept in zip(_extras(steps), (data_s, work), strict=True):
            if not _is_empty(column):
                values = np.minimum(column[rows], durs / NS) if kept is data_s else column[rows]
                kept[own] = np.where(is_merged, _means(values, covered, places), kept[own])
    return StepTable(
        kept_step=take(steps.kept_step, ends),
        kept_dur=dur,
        spans=spans,
        kept_loss=unpack(take(steps.kept_loss, ends)),
        kept_mfu_pct=unpack(take(steps.kept_mfu_pct, ends)),
        data_s=data_s,
        work=work,
        kept_line=take(steps.kept_line, ends),
        t_ns=steps.t_ns[ends] if len(steps.t_ns) else steps.t_ns,
        first_rows=first_rows,
        merged=sizes,
    )


def _extras(steps: StepTable) -> tuple[Floats, Floats]:
    return steps.data_s, steps.work


def _is_empty(column: Floats) -> bool:
    """Whether a column is one missing number for all rows."""
    return column.strides == (0,)


def _means(values: Floats, spans: Ints, places: Ints) -> Floats:
    """The means of the known values of each stretch, weighted by their steps."""
    known = np.isfinite(values)
    weights = np.add.reduceat(np.where(known, spans, 0), places)
    sums = np.add.reduceat(np.where(known, values * spans, 0.0), places)
    return np.where(weights > 0, sums / np.maximum(weights, 1), np.nan)
