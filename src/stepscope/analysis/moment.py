"""When the last line of a log was written, by the best evidence there is."""

from __future__ import annotations

import datetime as dt
from typing import Literal, NamedTuple

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.ledger.phases import Ledger
from stepscope.ledger.timestamps import has_stamped_rows
from stepscope.run.model import NO_TIME, Run, Stamps
from stepscope.source.hardware import Hardware

# The year used for a missing one: see `lines/moment_forms.py`.
_NO_YEAR = 2000
# A file written this close to the estimate was not copied since: its time is exact, the estimate is not.
_FRESH_SHARE, _FRESH_S = 0.2, 120.0
_LEAST_PLUS_S = 1.0
_MOST_PLUS_S = 1e9  # thirty years: such steps are something else
MomentFrom = Literal["flag", "stamp", "nvidia-smi", "mtime", "clock"]


class LastMoment(NamedTuple):
    """The moment of the last line and what it is from; None where nothing says.

    plus_s
        The seconds of steps that were printed after the last timestamp, which are in `time`.
    assumed
        What the timestamp does not print and the file's time supplies.
    """

    time: dt.datetime | None
    source: MomentFrom | None
    plus_s: float = 0.0
    assumed: Literal["year", "day"] | None = None


def find_moment(
    run: Run, ledger: Ledger, hardware: Hardware | None, now: dt.datetime | None, fallback: dt.datetime | None
) -> LastMoment:
    """The moment of the last line.

    now
        The moment as the user states it: taken as it is.
    fallback
        Taken where nothing else says.
    """
    if now is not None:
        return LastMoment(now, "flag")
    written = dt.datetime.fromtimestamp(run.mtime).astimezone() if run.mtime is not None else None
    if run.stamps is not None:
        found = _by_stamps(run.stamps, seconds_after(run, ledger), written or fallback)
        if found is not None:
            return _or_written(found, written)
    if hardware is not None and hardware.time is not None:
        return LastMoment(hardware.time, "nvidia-smi")
    if written is not None:
        return LastMoment(written, "mtime")
    return LastMoment(fallback, "clock" if fallback is not None else None)


def seconds_after(run: Run, ledger: Ledger) -> float:
    """The seconds of everything that was printed after the last timestamp."""
    assert run.stamps is not None
    steps = run.steps
    is_after = steps.line > run.stamps.last_line
    if len(steps.t_ns):
        is_after &= steps.t_ns == NO_TIME
    if not run.stamps.last_line or not is_after.any():
        return 0.0
    each = _seconds_of_rows(run)
    after, total = float(each[is_after].sum()), float(each.sum())
    if not has_stamped_rows(run) and total > 0:
        # The ledger's account is of the printed times: it has evaluations and checkpoints as well.
        after *= max(1.0, ledger.wall_s / total)
    return after if _LEAST_PLUS_S <= after < _MOST_PLUS_S else 0.0


def _seconds_of_rows(run: Run) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The seconds of each row and of the unprinted steps before it."""
    steps = run.steps
    silent = np.zeros(len(run))
    silent[1:] = np.where(np.diff(steps.segment) == 0, np.maximum(np.diff(steps.step) - steps.span[1:], 0), 0)
    timed = steps.span > 0
    typical = float(median(steps.dur_ns[timed])) / NS if timed.any() else 0.0
    return np.asarray(steps.seconds + silent * typical)


def _by_stamps(stamps: Stamps, plus_s: float, limit: dt.datetime | None) -> LastMoment | None:
    plus = dt.timedelta(seconds=plus_s)
    if stamps.dated:
        printed_ns = stamps.last_ns - stamps.shift_ns
        utc = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=printed_ns / 1000)
        # A timestamp without an offset is the writer's local time: taken to be ours.
        return LastMoment((utc if stamps.zoned else utc.replace(tzinfo=None)).astimezone() + plus, "stamp", plus_s)
    moment = _latest_before(stamps, limit - plus) if limit is not None else None
    if moment is None:
        return None
    return LastMoment(moment + plus, "stamp", plus_s, "day" if stamps.daily else "year")


def _or_written(found: LastMoment, written: dt.datetime | None) -> LastMoment:
    """The file's time where it confirms an estimate, which it is then more exact than."""
    if written is None or not found.plus_s or found.time is None:
        return found
    late = (written - found.time).total_seconds()
    is_fresh = -_FRESH_S <= late <= _FRESH_SHARE * found.plus_s + _FRESH_S
    return LastMoment(written, "mtime") if is_fresh else found


def _latest_before(stamps: Stamps, limit: dt.datetime) -> dt.datetime | None:
    """The last moment up to `limit` that a timestamp without a year, or without a date, can mean."""
    stated = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=(stamps.last_ns - stamps.shift_ns) / 1000)
    limit = limit.astimezone() + dt.timedelta(minutes=1)
    if stamps.daily:
        moment = dt.datetime.combine(limit.date(), stated.time()).astimezone()
        return moment if moment <= limit else moment - dt.timedelta(days=1)
    if stated.year != _NO_YEAR:
        return None  # seconds since some start
    for year in (limit.year, limit.year - 1):
        try:
            moment = stated.replace(year=year).astimezone()
        except ValueError:
            continue  # 29 February
        if moment <= limit:
            return moment
    return None
