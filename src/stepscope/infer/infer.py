"""A format for a log that no format of the catalogue claims, worked out from the log's own structure.

The result is an ordinary `Format` (patterns and a clock), so the whole log is then read the way every log is. It says
what it assumes and how sure it is. Where the log can be read in two ways and nothing in it decides, the steps are
read and their times are not; where nothing counts steps of a training, there is no format at all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from stepscope.columns.statistics import median
from stepscope.infer.assumptions import assumptions_of
from stepscope.infer.candidate import MAX_KINDS, Candidate, find_candidates
from stepscope.infer.clock_choice import Choice, Doubt, StepLines, as_one_step
from stepscope.infer.counter import LEAST_ROWS, find_counter
from stepscope.infer.kinds import SeenLine, SortedKinds, sort_lines
from stepscope.infer.patterns import common_fields, has_key, write_pattern
from stepscope.infer.stop_lines import StopLines, Stops, find_stops, gaps_of
from stepscope.infer.time_figures import Floats
from stepscope.lines.format import Assumption, Clock, Format, Inferred, Layout, Line, Sample

NAME = "generic"
# Below this confidence, an inferred format is no better than a guess.
LEAST_CONFIDENCE = 0.4
_LONGER = 1.3  # times the usual: a step line that took longer holds an evaluation or a checkpoint
_GROUPS = {
    ("dur", 1e-3): "dur_ms",
    ("dur", 1.0): "dur_s",
    ("dur", 1e-6): "dur_us",
    ("dur", 60.0): "dur_min",
    ("elapsed", 1e-3): "elapsed_ms",
    ("elapsed", 1.0): "elapsed_s",
    ("elapsed", 60.0): "elapsed_min",
    ("elapsed", 3600.0): "elapsed_h",
}


def infer(lines: Sequence[str], *, settle_doubts: bool = False) -> Format | None:
    """The format of a log by its lines; None when it does not look like the log of a training.

    `settle_doubts` reads a figure that may mean several things as the time of one step: a start for somebody who knows
    better, never an answer.
    """
    found = sort_lines(lines)
    candidates = find_candidates(found)
    if not candidates:
        return None
    best = max(candidates, key=lambda candidate: candidate.value)
    others = [kind for kind in found.kinds if kind is not best.kind]
    stops = find_stops(others, best.numbers, best.counter, best.kind.shape)
    assumptions = assumptions_of(best, stops)
    if settle_doubts and isinstance(best.clock, Doubt):
        best = best._replace(clock=as_one_step(best.clock))
    return _assemble(best, stops, assumptions, found)


def _assemble(best: Candidate, stops: Stops, assumptions: list[Assumption], found: SortedKinds) -> Format | None:
    counter, kind, clock = best.counter, best.kind, best.clock
    groups = _step_groups(best)
    shapes = list({entry.shape.skeleton: entry.shape for entry in [kind.entries[0], *best.entries]}.values())
    common = max(counter.at + 1, common_fields(shapes))
    groups = {index: name for index, name in groups.items() if index < common or has_key(kind.shape, index)}
    step = Line("step", write_pattern(shapes, groups, anchor=counter.at, abbreviated=counter.is_abbreviated))
    sample = next((entry.text for entry in reversed(kind.entries) if step.regex.match(entry.text)), None)
    if sample is None:
        return None
    events = [event for event in stops.all if step.regex.match(event.sample.text) is None]
    confidence = math.prod(assumption.confidence for assumption in assumptions[:2])
    if confidence < LEAST_CONFIDENCE or (clock is None and counter.weight < 0.9):
        return None
    covers = clock.covers if isinstance(clock, Choice) else "stamp"
    return Format(
        name=NAME,
        title=NAME,
        url="",
        lines=(
            step,
            *_other_step_lines(best, step, groups, found),
            *(event.line for event in events),
            *_timestamp_line(best),
        ),
        samples=(Sample(sample, "step"), *(event.sample for event in events)),
        clock=Clock(
            covers=covers,
            includes=_includes(best, stops),
            note="",
            is_sum=isinstance(clock, Choice) and clock.is_total,
        ),
        layout=Layout(
            first_step=counter.first_step,
            first_epoch=counter.first_epoch,
            # A drawn bar: others, of an evaluation, look alike but for their total.
            bars_nest=counter.total is not None and counter.step is not None and "\1" in kind.words,
        ),
        is_timed=isinstance(clock, Choice),
        inferred=Inferred(round(confidence, 2), tuple(assumptions)),
    )


def _other_step_lines(best: Candidate, step: Line, groups: dict[int, str], found: SortedKinds) -> list[Line]:
    """Step lines of another shape with the same counter and the same figures: another stage of the same program."""
    fields = best.kind.shape.fields
    lines = []
    for kind in found.kinds[:MAX_KINDS]:
        if step.regex.match(kind.entries[0].text):
            continue
        if len(kind.entries) < LEAST_ROWS or kind.is_evaluation or not kind.is_training:
            continue
        if kind.numbers[0] < best.numbers[-1] and kind.numbers[-1] > best.numbers[0]:
            continue  # printed among the step lines, not after them
        counter = find_counter(kind)
        if counter is None or counter.key != best.counter.key or (counter.step is None) != (best.counter.step is None):
            continue
        own = _step_groups(best._replace(kind=kind, counter=counter, clock=None, moment=None))
        for index, name in groups.items():
            if name in own.values() or name in {"total", "batches", "epochs"}:
                continue
            same = [
                other
                for other, field in enumerate(kind.shape.fields)
                if (field.key, field.unit, field.kind) == (fields[index].key, fields[index].unit, fields[index].kind)
            ]
            if not same:
                break
            own[same[0]] = name
        else:
            lines.append(Line("step", write_pattern([kind.shape], own, anchor=counter.at)))
    return lines[:3]


def _timestamp_line(best: Candidate) -> list[Line]:
    """Any other line that begins like the step line up to its timestamp: it gives at least the time."""
    if best.moment is None or best.moment[0] != 0:
        return []
    shape = best.kind.shape
    return [Line("fact", write_pattern([shape], {0: best.moment[1]}, anchor=0))]


def _step_groups(best: Candidate) -> dict[int, str]:
    """The named groups of the step line, by field."""
    counter, clock = best.counter, best.clock
    groups: dict[int, str] = {}
    if counter.step is not None:
        groups[counter.step] = "step"
    if counter.epoch is not None and counter.batch is not None:
        groups[counter.epoch], groups[counter.batch] = "epoch", "batch"
    if counter.total is not None:
        groups[counter.total] = "total" if counter.step is not None else "batches"
    if counter.epochs is not None:
        groups[counter.epochs] = "epochs"
    if best.moment is not None:
        groups[best.moment[0]] = best.moment[1]
    if isinstance(clock, Choice) and clock.meaning is not None:
        meaning = clock.meaning
        stem = "elapsed" if meaning.reading == "clock" else "dur"
        group = (
            f"{stem}_clock" if meaning.column.field.kind != "number" else _GROUPS.get((stem, meaning.unit_s), "dur_s")
        )
        groups[meaning.column.at] = "it_per_s" if meaning.reading == "rate" else group
    fields = best.kind.shape.fields
    losses = [
        index for index, field in enumerate(fields) if re.search(r"(?:^|[_ ])(?:train_)?loss(?: is)?$", field.key)
    ]
    if losses and losses[0] not in groups and fields[losses[0]].kind == "number":
        groups[losses[0]] = "loss"
    return groups


def _includes(best: Candidate, stops: Stops) -> tuple[str, ...]:
    """Whether the clock runs during evaluations and checkpoints: the step lines after them take longer, or do not."""
    clock = best.clock
    if not isinstance(clock, Choice) or clock.covers == "stamp":
        return ("evaluation", "checkpoint")
    spent = _seconds_spent(clock, best.rows)
    evaluations = [stops.evaluation] if stops.evaluation else []
    runs_during = {
        name: _is_longer_after(events, best.entries, spent)
        for name, events in (("evaluation", evaluations), ("checkpoint", stops.checkpoints))
    }
    # Without a step line to judge by, a running clock is the only one that surely does not stop.
    is_cumulative = clock.covers == "cumulative"
    return tuple(name for name, runs in runs_during.items() if (is_cumulative if runs is None else runs))


def _seconds_spent(clock: Choice, rows: StepLines) -> Floats:
    """The time of all steps of each line by the clock, in its own unit."""
    assert clock.meaning is not None
    values = clock.meaning.column.values
    if clock.covers == "cumulative":
        return np.concatenate([[math.nan], np.diff(values)])
    spent = values.copy()
    if clock.meaning.reading == "rate":
        with np.errstate(all="ignore"):
            spent = 1 / values
    if clock.covers == "window" and not clock.is_total:
        spent = spent * np.concatenate([[1.0], np.maximum(rows.since, 1)])
    return spent


def _is_longer_after(events: list[StopLines], entries: list[SeenLine], spent: Floats) -> bool | None:
    """Whether the step lines right after such events took longer than usual; None when there are none."""
    numbers = [entry.number for entry in entries]
    seen = [number for event in events for number in event.numbers if number < numbers[-1]]
    after = sorted({gap for gap in gaps_of(seen, numbers) if 0 < gap < len(numbers)})
    times = spent[after] if after else np.array([])
    times = times[np.isfinite(times)]
    if not len(times):
        return None
    return float(median(times)) > _LONGER * float(np.nanmedian(spent))
