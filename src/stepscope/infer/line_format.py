"""The format of a kind of line that was found to be the step line: its patterns, its clock, and what else is known."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.infer.candidate import Candidate
from stepscope.infer.choice import Choice
from stepscope.infer.count_of_run import LEAST_ROWS
from stepscope.infer.epoch_line import EpochLine, find_epoch_line, stretches_between
from stepscope.infer.find_counter import find_counter
from stepscope.infer.kinds import EVALUATION, MAX_KINDS, SeenLine, SortedKinds
from stepscope.infer.line_parts import Field
from stepscope.infer.patterns import common_fields, has_key, write_pattern
from stepscope.infer.result_lines import StopLines, gaps_of
from stepscope.infer.step_rows import StepLines
from stepscope.infer.stop_lines import Stops
from stepscope.infer.time_figures import COST, Floats, Meaning
from stepscope.infer.two_totals import with_total
from stepscope.lines.figures import MEAN_RATE
from stepscope.lines.format import Assumption, Clock, Format, Inferred, Layout, Line, Sample

NAME = "generic"
# Below this confidence, an inferred format is no better than a guess.
LEAST_CONFIDENCE = 0.4
_SURE_WITH_TOTAL = 0.6
_SURE_WITHOUT_TIMES = 0.85
_NEARLY_EACH = 0.9  # of the step lines: the others cannot show how long a line without such an event takes
_OUTSIDE = 0.01  # of the time between two step lines may be in no printed time and still be nothing
_LONGER = 1.3  # times the usual: a step line that took longer holds an evaluation or a checkpoint
_DATA = re.compile(r"(?:^| )data(?: ?(?:load\w*|time|wait))?(?: time)?$")
_VAL_LOSS = re.compile(r"(?:^| )loss$")
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


def line_format(
    best: Candidate, stops: Stops, assumptions: list[Assumption], found: SortedKinds, *, has_total: bool = False
) -> Format | None:
    """The format with this kind of line as its step line; None where too little of it is sure.

    `has_total`: a line after the last of these says how long the whole took, which makes lines without times worth it.
    """
    counter, clock = best.counter, best.clock
    groups, numbered = _numbered_line(best)
    sample = next((entry.text for entry in reversed(best.kind.entries) if numbered.regex.match(entry.text)), None)
    if sample is None:
        return None
    own = _record(best, numbered)
    events = [event for event in stops.all if not any(line.regex.match(event.sample.text) for line in own)]
    confidence = math.prod(assumption.confidence for assumption in assumptions[:2])
    is_sure = counter.weight >= 0.9 or best.step_sure >= _SURE_WITHOUT_TIMES or _counts_all(best)
    if has_total and clock is None and best.step_sure >= _SURE_WITH_TOTAL:
        is_sure, confidence = True, max(confidence, LEAST_CONFIDENCE)
    if confidence < LEAST_CONFIDENCE or (clock is None and not is_sure):
        return None
    is_nameless = counter.batch is not None and counter.epoch is None
    epoch = None
    if counter.batch is not None and counter.epoch is None:
        epoch = find_epoch_line(best.numbers[0], stretches_between(best.kind, counter.batch), found, best.kind)
    is_running = isinstance(clock, Choice) and clock.covers == "cumulative"
    return Format(
        name=NAME,
        title=NAME,
        url="",
        lines=(
            *own,
            *((epoch.line,) if epoch is not None else ()),
            *(_other_step_lines(best, numbered, groups, found) if best.companion is None else ()),
            *(event.line for event in events),
            *((clock.work.line,) if isinstance(clock, Choice) and clock.work is not None else ()),
            *_timestamp_line(best),
        ),
        samples=(Sample(sample, "step"), *(event.sample for event in events)),
        clock=Clock(
            covers=clock.covers if isinstance(clock, Choice) else "stamp",
            includes=_includes(best, stops),
            note="",
            restarts_with="epoch" if is_nameless and is_running else None,
            is_sum=isinstance(clock, Choice) and clock.is_total,
        ),
        layout=Layout(
            first_step=1 if _has_batches(best) else counter.first_step,
            first_epoch=_first_epoch(best, epoch),
            # A drawn bar: others, of an evaluation, look alike but for their total.
            bars_nest=counter.total is not None and counter.step is not None and "\1" in best.kind.words,
            bars_are_epochs=is_nameless and epoch is None,
            counts_lines=counter.loss is not None,
        ),
        is_timed=isinstance(clock, Choice),
        inferred=Inferred(round(confidence, 2), tuple(assumptions)),
    )


def _counts_all(best: Candidate) -> bool:
    """Whether the lines count one by one up to their total: `Epoch 1/20` to `Epoch 20/20`."""
    at, numbers = best.counter.total, best.counter.numbers
    if at is None or len(numbers) < LEAST_ROWS or not bool((np.diff(numbers) == 1).all()):
        return False
    totals = {entry.shape.fields[at].text for entry in best.kind.entries}
    return totals == {str(int(numbers[-1]))} or totals == {str(int(numbers[-1]) + 1)}


def _first_epoch(best: Candidate, epoch: EpochLine | None) -> int:
    """The number of the first epoch."""
    if epoch is not None:
        return epoch.first
    return best.counter.first_step if _has_batches(best) else best.counter.first_epoch


def _has_batches(best: Candidate) -> bool:
    """Whether the lines that time the epochs also say how many batches they have."""
    return best.companion is not None and best.companion.batches is not None


def _numbered_line(best: Candidate) -> tuple[dict[int, str], Line]:
    """The line that numbers the step, and the groups of its fields."""
    counter, kind = best.counter, best.kind
    shapes = list({entry.shape.skeleton: entry.shape for entry in [kind.entries[0], *best.entries]}.values())
    common = max(counter.at + 1, common_fields(shapes))
    groups = {index: name for index, name in _step_groups(best).items() if index < common or has_key(kind.shape, index)}
    pattern = write_pattern(shapes, groups, anchor=counter.at, abbreviated=counter.is_abbreviated)
    return groups, Line("step", with_total(pattern, kind))


def _record(best: Candidate, numbered: Line) -> tuple[Line, ...]:
    """The lines of a record: the last one makes the row, with what the lines before it state."""
    companion = best.companion
    if companion is None or companion.clock.meaning is None:
        return (numbered,)
    meaning, shape = companion.clock.meaning, companion.kind.shape
    at = meaning.column.at
    groups = {at: _time_group(companion.clock, meaning)}
    if companion.batches is not None:
        groups |= {companion.batches[0]: "batch", companion.batches[0] + 1: "batches"}
        named = numbered.pattern.replace("(?P<step>", "(?P<epoch>").replace("(?P<total>", "(?P<epochs>")
        numbered = numbered._replace(pattern=named)
    loss = _loss_field(shape.fields)
    if loss is not None and loss not in groups and not companion.is_ahead and "(?P<loss>" not in numbered.pattern:
        groups[loss] = "loss"
    pattern = write_pattern([shape], groups, anchor=max(groups))
    if companion.batches is not None:
        # An evaluation draws the same line with another total.
        pattern = re.sub(r"(\(\?P<batches>)[^)]*\)", rf"\g<1>{companion.batches[1]})", pattern)
    if len(shape.fields) == 1 and not shape.texts[0]:
        pattern += r"\s*$"
    if companion.is_ahead:
        return numbered, Line("fact", pattern)
    return Line("step", pattern), numbered._replace(kind="fact")


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
    if counter.batch is not None:
        groups[counter.batch] = "batch"
    if counter.epoch is not None:
        groups[counter.epoch] = "epoch"
    if counter.total is not None:
        groups[counter.total] = "total" if counter.step is not None else "batches"
    if counter.epochs is not None:
        groups[counter.epochs] = "epochs"
    if best.moment is not None:
        groups[best.moment[0]] = best.moment[1]
    if isinstance(clock, Choice) and clock.meaning is not None and best.companion is None:
        groups[clock.meaning.column.at] = _time_group(clock, clock.meaning)
    fields = best.kind.shape.fields
    loss = _loss_field(fields) if counter.loss is None else counter.loss
    if loss is not None and loss == counter.step:
        loss += 1  # `Train loss 12 33.118`: the word names both
    if loss is not None and loss not in groups:
        groups[loss] = "loss"
    groups |= {index: name for index, name in _side_figures(best).items() if index not in groups}
    return groups


def _side_figures(best: Candidate) -> dict[int, str]:
    """What else a step line says: how long the step waited for its data, and what an evaluation found."""
    found: dict[int, str] = {}
    clock = best.clock
    is_plain = isinstance(clock, Choice) and clock.meaning is not None and clock.meaning.unit_s == 1.0
    for index, field in enumerate(best.kind.shape.fields):
        key = field.key.replace("_", " ")
        if field.kind != "number" or "(" in best.kind.shape.texts[index][:1]:
            continue
        if is_plain and _DATA.search(key) and field.unit in {"", "s", "sec"} and "data_s" not in found.values():
            found[index] = "data_s"
        elif EVALUATION.search(key) and _VAL_LOSS.search(key) and "val_loss" not in found.values():
            found[index] = "val_loss"
    return found


def _loss_field(fields: Sequence[Field]) -> int | None:
    """The first field that is the loss; None where there is none, or where it is no number."""
    found = [
        index
        for index, field in enumerate(fields)
        if re.search(r"(?:^|[_ ])(?:train_)?loss(?: is)?$", field.key)
        and not EVALUATION.search(field.key.replace("_", " "))
    ]
    found = found or [index for index, field in enumerate(fields) if COST.fullmatch(field.key) and not field.unit]
    return found[0] if found and fields[found[0]].kind == "number" else None


def _time_group(clock: Choice, meaning: Meaning) -> str:
    """The name of the group that holds the time."""
    if clock.work is not None:
        return "samples_per_s"
    if meaning.reading == "rate":
        return MEAN_RATE if clock.covers == "cumulative" else "it_per_s"
    if clock.covers == "stamp":
        return "stamp"
    stem = "elapsed" if meaning.reading == "clock" else "dur"
    if meaning.column.field.kind != "number":
        return f"{stem}_clock"
    return _GROUPS.get((stem, meaning.unit_s), "dur_s")


def _includes(best: Candidate, stops: Stops) -> tuple[str, ...]:
    """Whether the clock runs during evaluations and checkpoints: the step lines after them take longer, or do not."""
    clock = best.clock
    if not isinstance(clock, Choice) or clock.covers == "stamp":
        return ("evaluation", "checkpoint")
    if best.companion is not None or (clock.meaning is not None and clock.meaning.reading == "rate"):
        return ("evaluation", "checkpoint") if clock.is_total or clock.covers == "cumulative" else ()
    spent = _seconds_spent(clock, best.rows)
    evaluations = [stops.evaluation] if stops.evaluation else []
    runs_during = {
        name: _is_longer_after(events, best.entries, spent, clock, best.rows)
        for name, events in (("evaluation", evaluations), ("checkpoint", stops.checkpoints))
    }
    # Without a step line to judge by, a running clock is the only one that surely does not stop.
    is_cumulative = clock.covers == "cumulative"
    if is_cumulative and "val_loss" in _step_groups(best).values():
        runs_during["evaluation"] = True  # each line has the result of one, and the clock has run on to it
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


def _fill_timestamps(clock: Choice, rows: StepLines, spent: Floats, after: list[int]) -> bool | None:
    """Whether the printed times of some lines are all that passes up to them; None where nothing tells."""
    assert clock.meaning is not None
    elapsed = np.diff(rows.t_ns, prepend=math.nan) / NS
    covers_all = np.concatenate([[False], ~rows.resets & ((clock.covers == "window") | (rows.since <= 1))])
    known = np.isfinite(elapsed) & np.isfinite(spent) & (elapsed > 0) & covers_all
    own = [at for at in after if known[at]]
    if clock.covers == "cumulative" or not own:
        return None
    outside = median(elapsed[own] - spent[own] * clock.meaning.unit_s)
    return float(outside) <= max(_OUTSIDE * float(median(elapsed[own])), rows.resolution_ns / NS)


def _is_longer_after(
    events: list[StopLines], entries: list[SeenLine], spent: Floats, clock: Choice, rows: StepLines
) -> bool | None:
    """Whether the clock runs during such events, by the step lines right after them; None when nothing tells.

    It does where their printed times fill the timestamps, or are longer than usual.
    """
    numbers = [entry.number for entry in entries]
    seen = [number for event in events for number in event.numbers if number < numbers[-1]]
    after = sorted({gap for gap in gaps_of(seen, numbers) if 0 < gap < len(numbers)})
    times = spent[after] if after else np.array([])
    times = times[np.isfinite(times)]
    if not len(times):
        return None
    fill = _fill_timestamps(clock, rows, spent, after)
    if fill is not None or len(after) > _NEARLY_EACH * (len(numbers) - 1):
        return fill
    return float(median(times)) > _LONGER * float(np.nanmedian(spent))
