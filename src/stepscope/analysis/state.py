"""The state of a run: what its log says of its end and, where it says nothing, how long ago it was written.

How a run ended is decided in `run/ending.py`, for the forecast and the alarms too. Here the clock is asked as well.
"""

from __future__ import annotations

import datetime as dt
from typing import Literal, NamedTuple

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.message import Message, Moment, Seconds, say
from stepscope.run.ending import Ending, EndKind, last_step, silent_end
from stepscope.run.model import NO_TIME, Run

StateKind = EndKind | Literal["running", "unknown"]

# A silence of this many usual gaps between lines, and of at least these seconds, is no pause of a training.
_LONG_FACTOR = 20.0
_LONG_LEAST_S = 1800.0
_RECENT_FACTOR = 3.0
_RECENT_LEAST_S = 120.0


class State(NamedTuple):
    """How the run is, its last step, and the line and words that say so."""

    value: StateKind
    step: int | None
    line: int | None
    evidence: Message


class Silence(NamedTuple):
    """What a log that just stops is taken for: running for so many seconds, then over, if it looks like that.

    Where it does not, it has stopped after `long_s`, and cannot be told before.
    """

    recent_s: float
    long_s: float
    over: Ending | None

    def value(self, silent_s: float) -> StateKind:
        """The state after a silence."""
        if silent_s <= self.recent_s:
            return "running"
        if self.over is not None:
            return self.over.value
        return "stopped" if silent_s > self.long_s else "unknown"


def find_state(
    run: Run, ending: Ending | None, *, written: dt.datetime | None, present: dt.datetime | None, level_s: float | None
) -> State:
    """The state of a run whose last line was written at `written`, asked at `present`."""
    if ending is not None:
        return State(*ending)
    step = last_step(run)
    line = int(run.steps.line[-1]) if len(run) else None
    if present is None or written is None:
        return State("unknown", step, line, say("state-silent"))
    silent_s = max(0.0, (present - written).total_seconds())
    usual_s = _usual_gap(run, level_s)
    at = Moment(written, present)
    # Stamps in whole seconds may be too coarse to tell what is usual.
    evidence = (
        say("state-last-written", at=at, usual=Seconds(usual_s)) if usual_s else say("state-last-written-only", at=at)
    )
    silence = _silence(run, usual_s)
    value = silence.value(silent_s)
    if silence.over is not None and value != "running":
        return State(*silence.over)
    return State(value, step, line, evidence)


def silence_of(run: Run, level_s: float | None) -> Silence:
    """What the silence of a log means whose end nothing tells."""
    return _silence(run, _usual_gap(run, level_s))


def _silence(run: Run, usual_s: float | None) -> Silence:
    recent_s = max(_RECENT_LEAST_S, _RECENT_FACTOR * (usual_s or 0.0))
    return Silence(recent_s, max(_LONG_LEAST_S, _LONG_FACTOR * (usual_s or 0.0)), silent_end(run))


def _usual_gap(run: Run, level_s: float | None) -> float | None:
    """Seconds between two lines: by the timestamps, else by the rows' own times."""
    stamps = run.steps.t_ns
    known = stamps[stamps != NO_TIME]
    # Where only some rows have a timestamp, as one line of each epoch, lines come more often than those.
    if len(known) > 2 and 2 * len(known) >= len(stamps):
        return float(median(np.diff(known))) / 1e9
    seconds = run.steps.seconds[run.steps.span > 0]
    return float(median(seconds)) if len(seconds) else level_s
