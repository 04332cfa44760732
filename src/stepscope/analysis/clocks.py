"""The clocks of a log side by side: what each says the whole took, and which one the answer rests on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.core.units import NS
from stepscope.ledger.outside import begin_ns
from stepscope.ledger.phases import Ledger
from stepscope.run.model import NO_TIME, Run

# A file written within a day of its last line was not copied since, as far as anybody can tell.
_FRESH_S = 86_400.0


class ClockReading(NamedTuple):
    """One clock: its name, the seconds it gives to the whole log, whether they are the answer's, what it covers."""

    name: str
    seconds: float
    used: bool
    note: str


def read_clocks(run: Run, ledger: Ledger) -> tuple[ClockReading, ...]:
    """Every clock that the log offers, the one that is used first."""
    if not (run.steps.span > 0).any():
        return ()
    found = []
    # The stamps are the clock where rows are stamped and agree with the printed times.
    stamped = int((run.steps.t_ns != NO_TIME).sum()) >= 2 and not ledger.stamps_unusable
    by_stamps = stamped and run.stamps is not None
    if run.stamps is not None:
        seconds = (run.stamps.last_ns - (begin_ns(run) if stamped else run.stamps.first_ns)) / NS
        note = "from the first to the last timestamp: everything in between"
        if any(step.is_hour for step in run.clock_steps):
            note += "; a jump of one hour was taken for daylight saving"
        if ledger.stamps_unusable:
            note = "the timestamps contradict the printed times and are not used"
        found.append(ClockReading("stamps", seconds, by_stamps, note))
    if run.clock.is_running:
        note = "the running clock of the log, restarts added up"
        found.append(ClockReading("elapsed", _elapsed_s(run), not by_stamps, note))
    elif not run.clock.is_wall:
        found.append(ClockReading("printed", _printed_s(run, ledger), not by_stamps, _printed_note(run)))
    for runtime in run.runtimes[-3:]:
        note = f"a total that line {runtime.line} prints"
        found.append(ClockReading(runtime.name, runtime.seconds, used=False, note=note))
    written = _written_s(run)
    if written is not None:
        found.append(
            ClockReading("mtime", written, used=False, note="from the first stamp to when the file was written")
        )
    return tuple(sorted(found, key=lambda clock: not clock.used))


def _printed_s(run: Run, ledger: Ledger) -> float:
    """All steps at the times that the lines print, unprinted ones at the typical step."""
    steps = run.steps
    silent = np.where(np.diff(steps.segment) == 0, np.maximum(np.diff(steps.step) - steps.span[1:], 0), 0)
    typical = ledger.step.typical_s if ledger.step is not None else 0.0
    return float(steps.seconds.sum() + silent.sum() * typical)


def _printed_note(run: Run) -> str:
    inside = ", ".join(phase for phase in run.clock.includes if phase in {"evaluation", "checkpoint", "data"})
    return f"the printed times of all steps, unprinted ones at the typical one; inside them: {inside or 'nothing else'}"


def _elapsed_s(run: Run) -> float:
    return float(run.steps.seconds.sum())


def _written_s(run: Run) -> float | None:
    """Seconds from the first stamp to the file's last change, where both are of this world."""
    stamps = run.stamps
    if stamps is None or not stamps.dated or not stamps.zoned or run.mtime is None:
        return None
    late = run.mtime - stamps.last_ns / NS
    return run.mtime - stamps.first_ns / NS if 0 <= late <= _FRESH_S else None
