"""What is printed between the drawn bars of an unknown log: results of evaluations, checkpoints.

A bar of an evaluation that is drawn to its end says how long it took, so it comes first; many are wiped away before.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from stepscope.core.message import say
from stepscope.core.redact import redact
from stepscope.infer.bar_series import BarReading, BarSeries
from stepscope.infer.counter import Counter
from stepscope.infer.drawn_bars import ENDLESS
from stepscope.infer.kinds import SortedKinds
from stepscope.infer.line_parts import LineParts
from stepscope.infer.result_lines import StopLines, gaps_of
from stepscope.infer.stop_lines import find_checkpoints, find_evaluation, find_result
from stepscope.lines.format import Assumption, Format

# Bars of evaluations that are drawn to their ends this many times as often as lines say what came out, or more.
_AS_OFTEN = 0.7
_SURE = 0.85
_INSIDE = ("evaluation", "checkpoint")
_BEHIND = r"[^|]{0,120}?"  # the prefix of a logger


def with_stops(fmt: Format, reading: BarReading, found: SortedKinds, lines: Sequence[str]) -> Format:
    """The format of bars with the lines between them that report an evaluation or a checkpoint."""
    rows = [bar.number for bar in reading.training.bars]
    counter = Counter(None, None, None, None, None, np.array(rows), first_step=1, first_epoch=0, key="", weight=0.0)
    evaluation = find_evaluation(found.kinds, rows, counter, LineParts((), ("",)))
    if evaluation is not None and _num_full(reading) >= _AS_OFTEN * len(set(gaps_of(evaluation.numbers, rows))):
        evaluation = None
    if evaluation is None and not _num_full(reading):
        evaluation = _result(reading, found, lines)
    stops = find_checkpoints(found.kinds, rows, counts_epochs=False)
    kept = list(fmt.lines)
    if evaluation is not None:
        kept = [line for line in kept if line.kind != "evaluation"]
        stops = [evaluation, *stops]
    if not stops or fmt.inferred is None:
        return fmt
    is_inside = any(_is_within(reading.training, stop) for stop in stops)
    includes = (*fmt.clock.includes, *(kind for kind in _INSIDE if is_inside and kind not in fmt.clock.includes))
    assumptions = (
        *fmt.inferred.assumptions,
        *(Assumption(say(f"infer-{stop.line.kind}", text=redact(stop.sample.text, 60)), None, _SURE) for stop in stops),
    )
    return dataclasses.replace(
        fmt,
        lines=(*kept, *(stop.line for stop in stops)),
        clock=fmt.clock._replace(includes=includes),
        inferred=fmt.inferred._replace(assumptions=assumptions),
    )


def _result(reading: BarReading, found: SortedKinds, lines: Sequence[str]) -> StopLines | None:
    """The line with what an evaluation found, where none of the evaluations' own bars is ever full."""
    runs = reading.training.runs
    rows = [run[-1].number for run in runs] if len(runs) > 1 else [bar.number for bar in runs[0]]
    result = find_result(found.kinds, rows)
    if result is None or not result.numbers:
        return None
    if result.line.regex.match(lines[result.numbers[0]].strip()) is not None:
        return result
    # The bars have no prefix, and these lines do.
    return result._replace(line=result.line._replace(pattern=_BEHIND + result.line.pattern))


def _num_full(reading: BarReading) -> int:
    """How many bars of evaluations were drawn to their ends."""
    runs = [run for one in reading.evaluations for run in one.runs]
    return sum(run[-1].n == run[-1].total or run[-1].style == ENDLESS for run in runs)


def _is_within(series: BarSeries, stop: StopLines) -> bool:
    """Whether a line was printed while a bar of the training was not at its end."""
    return any(run[0].number < number < run[-1].number for run in series.runs for number in stop.numbers)
