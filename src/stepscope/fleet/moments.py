"""Moments as a store's questions give them back: seconds since the epoch."""

from __future__ import annotations

import datetime as dt


def moment(seconds: float | None) -> dt.datetime | None:
    """The moment, in this machine's time zone; None where it is not known."""
    return None if seconds is None else dt.datetime.fromtimestamp(seconds, dt.UTC).astimezone()
