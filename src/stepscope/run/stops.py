"""Stops: where training paused for an evaluation, a checkpoint or both, as far as the log shows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.core.units import NS
from stepscope.run.late_results import with_late_results
from stepscope.run.model import NO_TIME, Run
from stepscope.run.stop_places import placed

_MAX_HOLES = 1000


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


def find_stops(run: Run) -> tuple[Stop, ...]:
    """Every stop of the run, in order; ask `Run.stops`, which keeps them.

    Includes the evaluation that a pasted log left out of the first step.
    """
    found: list[Stop] = []
    for index, kind in enumerate(run.events.kind):
        if kind not in {"evaluation", "checkpoint"}:
            continue
        event = _read_event(run, index)
        last = found[-1] if found and found[-1].next_row == event.row else None
        extended = None if last is None else _extended(run, last, event)
        if extended is None:
            found.append(_new_stop(run, event))
        else:
            found[-1] = extended
    found = _with_hidden(run, _with_unprinted_first(run, found))
    return tuple(with_late_results(run, placed(run, found)))


def find_evaluations(run: Run) -> list[Stop]:
    """The stops at which the model was evaluated, of the last training where the log holds several."""
    return [stop for stop in last_stops(run) if stop.evaluated]


def last_stops(run: Run) -> list[Stop]:
    """The stops of the last training."""
    first = next((index for index, own in enumerate(run.segments) if own.training == run.num_trainings - 1), 0)
    return [stop for stop in run.stops if stop.segment >= first]


def _read_event(run: Run, index: int) -> _EventLine:
    events = run.events
    took_ns = _time_or_none(events.took_ns[index])
    return _EventLine(
        is_evaluation=events.kind[index] == "evaluation",
        row=int(events.row[index]),
        step=int(events.step[index]),
        segment=int(events.segment[index]),
        line=int(events.line[index]),
        before_ns=_time_or_none(events.before_ns[index]),
        t_ns=_time_or_none(events.t_ns[index]),
        took_s=None if took_ns is None else took_ns / NS,
    )


def _extended(run: Run, last: Stop, event: _EventLine) -> Stop | None:
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
            line=event.line,
            row=_timed_row(run, event.row, event.step, event.segment),
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


def _new_stop(run: Run, event: _EventLine) -> Stop:
    stop = Stop(
        step=event.step if event.step >= 0 else _step_near(run, event.row),
        segment=event.segment,
        line=event.line,
        row=_timed_row(run, event.row, event.step, event.segment),
        next_row=event.row,
        evaluated=event.is_evaluation,
        saved=not event.is_evaluation,
        evaluation_inside=run.clock.runs_during("evaluation"),
        save_inside=run.clock.runs_during("checkpoint"),
        begin_ns=event.before_ns,
    )
    if event.is_evaluation:
        return stop._replace(end_ns=event.t_ns, evaluation_took_s=event.took_s)
    return stop._replace(save_line=event.line, save_ns=event.t_ns, save_took_s=event.took_s)


def _timed_row(run: Run, row: int, step: int, segment: int) -> int | None:
    """The row whose time contains an event printed before row `row`."""
    steps = run.steps
    if run.format.layout.events_follow_step and not run.clock.is_per_step:
        row += 1  # the event is printed after its own step's line, so the next row's time contains it
    if row >= len(steps) or int(steps.segment[row]) != segment:
        return None
    if run.clock.is_per_step:
        return row if step in {-1, int(steps.step[row])} else None
    return row if steps.span[row] else None


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


def _with_hidden(run: Run, found: list[Stop]) -> list[Stop]:
    """Evaluations inside a hole of the log, where lines are missing that the trainer must have printed."""
    every, printed = run.settings.count("eval_interval"), run.settings.count("log_interval")
    steps = run.steps
    if not every or not printed or not run.clock.is_per_step or len(steps) < 2:
        return found
    if not run.format.habits.evaluates_at_first_step:
        return found
    holes = np.flatnonzero((np.diff(steps.step) > 2 * printed) & (np.diff(steps.segment) == 0))
    known = {(stop.segment, stop.step) for stop in found}
    hidden = []
    for row in (holes[:_MAX_HOLES] + 1).tolist():
        segment = int(steps.segment[row])
        first = (int(steps.step[row - 1]) // every + 1) * every
        for step in range(first, min(int(steps.step[row]), first + _MAX_HOLES * every), every):
            if (segment, step) not in known:
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
    return sorted([*found, *hidden], key=lambda stop: (stop.next_row, stop.segment)) if hidden else found


def _time_or_none(value: np.int64) -> int | None:
    return None if value == NO_TIME else int(value)


def _sum(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else one + other
