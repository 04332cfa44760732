"""A sentence before it is in any language: a key, and values that know what they are.

Analysis returns messages; only a renderer turns them into text, with the numbers, durations and clock times
of its language. Keys are those of `i18n/en.ftl`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import NamedTuple

from stepscope.core.outlets import outlet


class Seconds(NamedTuple):
    """A duration."""

    value: float


class Share(NamedTuple):
    """A part of a whole, 0 to 1."""

    value: float


class Moment(NamedTuple):
    """A clock time; with its date where that is not the day of `near`."""

    value: dt.datetime
    near: dt.datetime | None = None


class Decimal(NamedTuple):
    """A number with a fixed number of decimals."""

    value: float
    digits: int


Argument = str | int | Seconds | Share | Moment | Decimal


class Message(NamedTuple):
    """What to say."""

    key: str
    args: Mapping[str, Argument] = {}

    def __str__(self) -> str:
        """The message in English."""
        text: str = outlet("message")(self)
        return text


def say(key: str, **args: Argument) -> Message:
    """A message, written as a call."""
    return Message(key, args)
