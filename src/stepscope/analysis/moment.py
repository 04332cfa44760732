"""When the last line of a log was written, by the best evidence there is."""

from __future__ import annotations

import datetime as dt
from typing import Literal

from stepscope.run.model import Run, Stamps
from stepscope.source.hardware import Hardware

# The year that stands for a missing one: see `lines/prefix.py`.
_NO_YEAR = 2000
MomentFrom = Literal["flag", "stamp", "nvidia-smi", "mtime", "clock"]


def find_moment(
    run: Run, hardware: Hardware | None, now: dt.datetime | None, fallback: dt.datetime | None
) -> tuple[dt.datetime | None, MomentFrom | None]:
    """The moment of the last line and where it is from; None where nothing says.

    now
        The moment as the user states it: taken as it is.
    fallback
        Taken where nothing else says.
    """
    if now is not None:
        return now, "flag"
    if run.stamps is not None and run.stamps.dated:
        printed_ns = run.stamps.last_ns - run.stamps.shift_ns
        utc = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=printed_ns / 1000)
        # A timestamp without an offset is the writer's local time: taken to be ours.
        return (utc if run.stamps.zoned else utc.replace(tzinfo=None)).astimezone(), "stamp"
    if run.stamps is not None:
        written = dt.datetime.fromtimestamp(run.mtime).astimezone() if run.mtime is not None else fallback
        moment = _latest_before(run.stamps, written) if written is not None else None
        if moment is not None:
            return moment, "stamp"
    if hardware is not None and hardware.time is not None:
        return hardware.time, "nvidia-smi"
    if run.mtime is not None:
        return dt.datetime.fromtimestamp(run.mtime).astimezone(), "mtime"
    return fallback, "clock" if fallback is not None else None


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
