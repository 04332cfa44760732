"""The time of day, as something to hand over: only the outermost layer asks for it."""

from __future__ import annotations

import datetime as dt


def now() -> dt.datetime:
    """This moment, local, with its offset."""
    return dt.datetime.now().astimezone()
