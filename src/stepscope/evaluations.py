"""Evaluations as the log tells them: where each stands, whether a checkpoint followed, which row timed it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.run import NO_TIME, Run


class Evaluation(NamedTuple):
    """One evaluation. `row` is the step row whose time contains it, or None when that step was not printed.

    Stamps are None where the log has none: `begin_ns` is the line before, `end_ns` the evaluation's own line,
    `save_ns` the checkpoint's line.
    """

    step: int
    segment: int
    line: int
    row: int | None
    next_row: int
    saved: bool
    save_line: int | None
    begin_ns: int | None
    end_ns: int | None
    save_ns: int | None
    printed: bool = True  # False when the trainer's source says it happened but no line does


def find_evaluations(run: Run) -> list[Evaluation]:
    """Every evaluation of the run, in order; includes the one a pasted log left out of the first step."""
    events, steps = run.events, run.steps
    found: list[Evaluation] = []
    for index, kind in enumerate(events.kind):
        row = int(events.row[index])
        stamp = _stamp(events.t_ns[index])
        if kind == "evaluation":
            step = int(events.step[index])
            timed = row < len(steps) and int(steps.step[row]) == step
            found.append(
                Evaluation(
                    step=step,
                    segment=int(events.segment[index]),
                    line=int(events.line[index]),
                    row=row if timed else None,
                    next_row=row,
                    saved=False,
                    save_line=None,
                    begin_ns=_stamp(events.before_ns[index]),
                    end_ns=stamp,
                    save_ns=None,
                )
            )
        elif kind == "checkpoint" and found and not found[-1].saved and found[-1].next_row == row:
            last = found[-1]
            found[-1] = last._replace(saved=True, save_line=int(events.line[index]), save_ns=stamp)
    return _with_unprinted_first(run, found)


def _with_unprinted_first(run: Run, found: list[Evaluation]) -> list[Evaluation]:
    """A trainer that always evaluates at step 0 did so even where the line was not pasted."""
    steps = run.steps
    if not run.format.evaluates_first_step or not found or not len(steps) or int(steps.step[0]) != 0:
        return found
    if any(evaluation.next_row == 0 for evaluation in found):
        return found
    first = Evaluation(
        step=0,
        segment=0,
        line=int(steps.line[0]),
        row=0,
        next_row=0,
        saved=False,
        save_line=None,
        begin_ns=None,
        end_ns=None,
        save_ns=None,
        printed=False,
    )
    return [first, *found]


def _stamp(value: np.int64) -> int | None:
    return None if value == NO_TIME else int(value)
