"""A format for a log that no format of the catalogue claims, worked out from the log's own structure.

The result is an ordinary `Format` (patterns and a clock), so the whole log is then read the way every log is. It says
what it assumes and how sure it is. Where the log can be read in two ways and nothing in it decides, the steps are
read and their times are not; where nothing counts steps of a training, there is no format at all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import pairwise

from stepscope.infer.assumptions import assumptions_of
from stepscope.infer.bar_format import bar_format
from stepscope.infer.bar_series import read_bars
from stepscope.infer.beside_bars import with_stops
from stepscope.infer.candidate import contradicted_by_epochs, find_candidates
from stepscope.infer.choice import Doubt, as_one_step
from stepscope.infer.drawn_bars import Bar, find_bars, find_endless
from stepscope.infer.epoch_line import find_epoch_line
from stepscope.infer.kinds import SortedKinds, sort_lines
from stepscope.infer.line_format import LEAST_CONFIDENCE, NAME, line_format
from stepscope.infer.stop_lines import find_stops
from stepscope.infer.two_totals import split_totals
from stepscope.infer.worded import worded_format
from stepscope.lines.format import Format
from stepscope.lines.match import behind_bar
from stepscope.lines.runtimes import parse_runtime

_UNCONFIRMED = frozenset({"infer-because-unit", "infer-because-name", "infer-because-size"})
_STOPS = frozenset({"evaluation", "checkpoint"})
_FINER = 3  # times the lines: then the bars show more than the lines between them


def infer(lines: Sequence[str], *, settle_doubts: bool = False) -> Format | None:
    """The format of a log by its lines; None when it does not look like the log of a training.

    `settle_doubts` reads a figure that may mean several things as the time of one step: a start for somebody who knows
    better, never an answer.
    """
    bars = find_bars(lines) or find_endless(lines)
    drawn = {bar.number for bar in bars}
    found = split_totals(sort_lines([_beside_bar(line, is_bar=number in drawn) for number, line in enumerate(lines)]))
    by_bars = _by_bars(bars, lines, found)
    by_lines = _by_lines(found, lines, settle_doubts=settle_doubts)
    return _by_words(lines, _better(by_bars, by_lines))


def _beside_bar(line: str, *, is_bar: bool) -> str:
    """What a line says besides the bar that it begins with: what was printed right behind it."""
    glued = behind_bar(line)
    return line[glued:] if glued is not None else "" if is_bar else line


def _by_words(lines: Sequence[str], best: Format | None) -> Format | None:
    """Of a few lines, what their words say, unless something in the log confirms what their structure gives."""
    if best is not None and best.is_timed and _is_confirmed(best):
        return best
    worded = worded_format(lines, NAME)
    if worded is None or (best is not None and _says_more(best, worded)):
        return best
    return worded


def _says_more(best: Format, worded: Format) -> bool:
    """Whether the structure gives the times that the words give, and the stops between the steps too.

    Or that a figure keeps growing as another one does, which is then no step's time: its word does not show that.
    """
    if best.is_timed and best.clock.is_running and worded.clock.is_per_step and _is_confirmed(best):
        return True
    clocks = [(fmt.clock.covers, fmt.clock.is_sum, fmt.clock.is_mean) for fmt in (best, worded)]
    return best.is_timed and clocks[0] == clocks[1] and any(line.kind in _STOPS for line in best.lines)


def _is_confirmed(fmt: Format) -> bool:
    """Whether more than a name, a unit or a size speaks for the times of an inferred format."""
    if fmt.inferred is None or len(fmt.inferred.assumptions) < 2:
        return True
    if any(line.kind == "fact" and "(?P<epoch>" in line.pattern for line in fmt.lines):
        return True  # a record of several lines, which words alone do not join
    because = fmt.inferred.assumptions[1].because
    return because is None or because.key not in _UNCONFIRMED


def _by_bars(bars: list[Bar], lines: Sequence[str], found: SortedKinds) -> tuple[Format, int] | None:
    """The format by drawn bars, and how many lines of it there are: 0 where the bars themselves say nothing of it."""
    reading = read_bars(bars, lines) if bars else None
    fmt = bar_format(reading, NAME) if reading is not None else None
    if reading is None or fmt is None or fmt.inferred is None or fmt.inferred.confidence < LEAST_CONFIDENCE - 0.05:
        return None
    fmt = with_stops(fmt, reading, found, lines)
    if fmt.layout.bars_are_epochs:
        fmt = _with_epoch_line(fmt, reading.training.runs, found)
    return fmt, len(reading.training.bars) * reading.training.is_named


def _with_epoch_line(fmt: Format, runs: list[list[Bar]], found: SortedKinds) -> Format:
    """The format of bars that start again with each epoch, with the line that numbers the epochs, if one does."""
    stretches = [(before[-1].number, after[0].number) for before, after in pairwise(runs)]
    epoch = find_epoch_line(runs[0][0].number, stretches, found, None)
    if epoch is None:
        return fmt
    layout = fmt.layout._replace(first_epoch=epoch.first, bars_are_epochs=False)
    return dataclasses.replace(fmt, lines=(*fmt.lines, epoch.line), layout=layout)


def _better(by_bars: tuple[Format, int] | None, by_lines: tuple[Format, int] | None) -> Format | None:
    """Of two accounts of one log the one with times; of two with times the one of more lines, bars by far."""
    if by_bars is None or by_lines is None:
        found = by_bars or by_lines
        return None if found is None else found[0]
    sure = by_bars[0].inferred.confidence if by_bars[0].inferred is not None else 0.0
    if sure < LEAST_CONFIDENCE:
        return by_lines[0]  # a bar that nothing says is the training's
    if not by_lines[0].is_timed or by_lines[0].layout.counts_lines:
        return by_bars[0]
    return by_bars[0] if by_bars[1] >= _FINER * by_lines[1] else by_lines[0]


def _by_lines(found: SortedKinds, lines: Sequence[str], *, settle_doubts: bool) -> tuple[Format, int] | None:
    candidates = find_candidates(found)
    if not candidates:
        return None
    best = contradicted_by_epochs(max(candidates, key=lambda candidate: candidate.value), candidates)
    others = [kind for kind in found.kinds if kind is not best.kind]
    stops = find_stops(others, best.numbers, best.counter, best.kind.shape)
    assumptions = assumptions_of(best, stops)
    if settle_doubts and isinstance(best.clock, Doubt):
        best = best._replace(clock=as_one_step(best.clock))
    has_total = any(parse_runtime(line) for line in lines[best.numbers[-1] + 1 :])
    fmt = line_format(best, stops, assumptions, found, has_total=has_total)
    return None if fmt is None else (fmt, len(best.numbers))
