"""Stops: where training paused for an evaluation, a checkpoint or both, as far as the log shows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import repeat
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from stepscope.core.units import NS
from stepscope.run.late_results import with_late_results
from stepscope.run.model import NO_TIME, Ints, Run
from stepscope.run.stop_places import placed

_STOPS = frozenset({"evaluation", "checkpoint"})
_MAX_HOLES = 1000
_MAX_HIDDEN = 10_000  # in all of them: a line takes 30 bytes, a hole as many evaluations as it likes


class Stop(NamedTuple):
    """One stop. `row` is the step row whose time contains it, None when no printed time does.

    `evaluation_inside` and `save_inside` say whether the log's clock runs during them at all. Timestamps are None where
    the log has none: `begin_ns` is the line before, `end_ns` the evaluation's own line, `save_ns` the checkpoint's.
    """

    step: int
    segment: int
    line: int
    row: int | None
    next_row: int
    evaluated: bool
    saved: bool
    evaluation_inside: bool
    save_inside: bool
    save_line: int | None = None
    begin_ns: int | None = None
    end_ns: int | None = None
    save_ns: int | None = None
    evaluation_took_s: float | None = None
    save_took_s: float | None = None
    printed: bool = True  # False when the trainer's source says it happened but no line does
    is_numbered: bool = True  # False when no line of it says at which step, and `step` is the next row's

    @property
    def is_inside(self) -> bool:
        """Whether the log's clock runs during any part of it."""
        return (self.evaluated and self.evaluation_inside) or (self.saved and self.save_inside)

    @property
    def outside_s(self) -> float:
        """The printed seconds of its parts during which the log's clock was stopped."""
        evaluation_s = 0.0 if self.evaluation_inside else self.evaluation_took_s or 0.0
        save_s = 0.0 if self.save_inside else self.save_took_s or 0.0
        return evaluation_s + save_s


class _EventLine(NamedTuple):
    """The line of an evaluation or a checkpoint. `step` is -1 where the line does not state it."""

    is_evaluation: bool
    row: int  # the first row after it
    step: int
    segment: int
    line: int
    before_ns: int | None  # timestamp of the line before
    t_ns: int | None
    took_s: float | None
    timed_row: int | None  # the row whose time contains it


def find_stops(run: Run) -> tuple[Stop, ...]:
    """Every stop of the run, in order; ask `Run.stops`, which keeps them.

    Includes the evaluation that a pasted log left out of the first step.
    """
    holes = _holes(run)
    if not len(holes):
        return run.shown_stops
    found = _with_unprinted_first(run, _printed(run))
    hidden = _hidden(run, holes, known={(stop.segment, stop.step) for stop in found})
    if not hidden:
        return run.shown_stops
    found = sorted([*found, *hidden], key=lambda stop: (stop.next_row, stop.segment))
    return tuple(with_late_results(run, placed(run, found)))


def find_shown_stops(run: Run) -> tuple[Stop, ...]:
    """The stops without those in holes of the log: whatever the settings, they are the same."""
    return tuple(with_late_results(run, placed(run, _with_unprinted_first(run, _printed(run)))))


def _printed(run: Run) -> list[Stop]:
    """The stops that lines of the log speak of."""
    found: list[Stop] = []
    evaluation_inside, save_inside = (run.clock.runs_during(kind) for kind in ("evaluation", "checkpoint"))
    for event in _event_lines(run):
        last = found[-1] if found and found[-1].next_row == event.row else None
        extended = None if last is None else _extended(last, event)
        if extended is not None:
            found[-1] = extended
            continue
        is_evaluation, line = event.is_evaluation, event.line
        found.append(
            Stop(
                event.step if event.step >= 0 else _step_near(run, event.row),
                event.segment,
                line,
                event.timed_row,
                event.row,
                is_evaluation,
                not is_evaluation,
                evaluation_inside,
                save_inside,
                None if is_evaluation else line,
                event.before_ns,
                event.t_ns if is_evaluation else None,
                None if is_evaluation else event.t_ns,
                event.took_s if is_evaluation else None,
                None if is_evaluation else event.took_s,
                is_numbered=event.step >= 0,
            )
        )
    return found


def find_evaluations(run: Run) -> list[Stop]:
    """The stops at which the model was evaluated, of the last training where the log holds several."""
    return [stop for stop in last_stops(run) if stop.evaluated]


def last_stops(run: Run) -> Sequence[Stop]:
    """The stops of the last training."""
    first = bisect_left(run.segments, run.num_trainings - 1, key=attrgetter("training"))
    return [stop for stop in run.stops if stop.segment >= first] if first else run.stops


def _event_lines(run: Run) -> Iterator[_EventLine]:
    """The evaluations and checkpoints of the log. A log may hold a million: columns are taken as wholes."""
    events = run.events
    took_s = (None if took_ns is None else took_ns / NS for took_ns in _times(events.took_ns))
    columns = (events.row, events.step, events.segment, events.line)
    times = (_times(events.before_ns), _times(events.t_ns), took_s)
    every = zip(events.kind, *(column.tolist() for column in columns), *times, _timed_rows(run), strict=True)
    for kind, row, step, segment, line, before_ns, t_ns, took, timed in every:
        if kind in _STOPS:
            # Of a million stops, a number that is there twice takes 32 MB.
            timed_row = row if timed == row else timed
            yield _EventLine(kind == "evaluation", row, step, segment, line, before_ns, t_ns, took, timed_row)


def _extended(last: Stop, event: _EventLine) -> Stop | None:
    """The stop `last` with one more of its lines; None where `event` begins another stop before the same row."""
    if not event.is_evaluation:
        return last._replace(
            saved=True,
            save_line=last.save_line or event.line,
            save_ns=last.save_ns or event.t_ns,
            save_took_s=event.took_s if event.took_s is not None else last.save_took_s,
        )
    if not last.evaluated:
        # The checkpoint came first, then the evaluation: still one stop.
        return last._replace(
            step=event.step if event.step >= 0 else last.step,
            is_numbered=event.step >= 0 or last.is_numbered,
            line=event.line,
            row=event.timed_row,
            evaluated=True,
            begin_ns=event.before_ns,
            end_ns=event.t_ns,
            evaluation_took_s=event.took_s,
        )
    saved_first = last.saved and last.save_line is not None and last.save_line < last.line
    if event.step in {-1, last.step} and (not last.saved or saved_first):
        # Several lines of one evaluation: it ends with the last of them.
        total = _sum(last.evaluation_took_s, event.took_s)
        return last._replace(end_ns=event.t_ns or last.end_ns, evaluation_took_s=total)
    return None


def _timed_rows(run: Run) -> Iterable[int | None]:
    """For each event, the row whose time contains it; None where no printed time does."""
    steps, events = run.steps, run.events
    row = events.row
    if run.format.layout.events_follow_step and not run.clock.is_per_step:
        row = row + 1  # the event is printed after its own step's line, so the next row's time contains it
    if not len(steps):
        return repeat(None, len(events))
    near = np.minimum(row, len(steps) - 1)
    is_timed = (row < len(steps)) & (steps.segment[near] == events.segment)
    if run.clock.is_per_step:
        is_timed &= (events.step == -1) | (events.step == steps.step[near])
    else:
        is_timed &= steps.span[near] != 0
    return (own if timed else None for own, timed in zip(row.tolist(), is_timed.tolist(), strict=True))


def _step_near(run: Run, row: int) -> int:
    steps = run.steps
    if not len(steps):
        return 0
    return int(steps.step[min(row, len(steps) - 1)])


def _with_unprinted_first(run: Run, found: list[Stop]) -> list[Stop]:
    """A trainer that always evaluates at step 0 did so even where the line was not pasted."""
    steps = run.steps
    if not run.format.habits.evaluates_at_first_step or not found or not len(steps) or int(steps.step[0]) != 0:
        return found
    if any(stop.next_row == 0 for stop in found):
        return found
    first = Stop(
        step=0,
        segment=0,
        line=int(steps.line[0]),
        row=0,
        next_row=0,
        evaluated=True,
        saved=False,
        evaluation_inside=True,
        save_inside=True,
        printed=False,
    )
    return [first, *found]


def _holes(run: Run) -> Ints:
    """The rows before which lines are missing that a trainer printed which evaluates at intervals."""
    every, printed = run.settings.count("eval_interval"), run.settings.count("log_interval")
    steps = run.steps
    if not every or not printed or not run.clock.is_per_step or not run.format.habits.evaluates_at_first_step:
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero((np.diff(steps.step) > 2 * printed) & (np.diff(steps.segment) == 0))[:_MAX_HOLES] + 1


def _hidden(run: Run, holes: Ints, known: Set[tuple[int, int]]) -> list[Stop]:
    """Evaluations inside holes of the log that are not among the known ones, by segment and step."""
    steps, every = run.steps, run.settings.count("eval_interval") or 1
    hidden: list[Stop] = []
    for row in holes.tolist():
        segment = int(steps.segment[row])
        first = (int(steps.step[row - 1]) // every + 1) * every
        for step in range(first, min(int(steps.step[row]), first + _MAX_HOLES * every), every):
            if (segment, step) not in known and len(hidden) < _MAX_HIDDEN:
                hidden.append(
                    Stop(
                        step=step,
                        segment=segment,
                        line=int(steps.line[row]),
                        row=None,
                        next_row=row,
                        evaluated=True,
                        saved=bool(run.settings.truth("always_save_checkpoint")),
                        evaluation_inside=True,
                        save_inside=True,
                        printed=False,
                    )
                )
    return hidden


def _times(column: Ints) -> Iterable[int | None]:
    """The times of a column; None where there is none."""
    is_missing = column == NO_TIME
    if is_missing.all():
        return repeat(None, len(column))
    return (None if missing else time for time, missing in zip(column.tolist(), is_missing.tolist(), strict=True))


def _sum(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else one + other
