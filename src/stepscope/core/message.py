"""A sentence before it is in any language: a key, and values that know what they are.

Analysis returns messages; only a renderer turns them into text, with the numbers, durations and clock times
of its language. Keys are those of `i18n/en.ftl`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from stepscope.core.outlets import outlet


class Seconds(NamedTuple):
    """A duration."""

    value: float


class Range(NamedTuple):
    """What a duration before it lies between: written as " (55–61 min)", as nothing where both ends print alike."""

    low: float
    high: float


class Span(NamedTuple):
    """A range of durations: written as "55–61 min", as one duration where both ends print alike."""

    low: float
    high: float


class About(NamedTuple):
    """A duration that is known to lie between `low` and `high`: with no more digits than that allows."""

    value: float
    low: float
    high: float


class Share(NamedTuple):
    """A part of a whole, 0 to 1."""

    value: float


class Money(NamedTuple):
    """An amount; the currency is a sign or three letters, or empty."""

    value: float
    currency: str = ""


class Moment(NamedTuple):
    """A clock time; with its date where that is not the day of `near`."""

    value: dt.datetime
    near: dt.datetime | None = None


class Decimal(NamedTuple):
    """A number with a fixed number of decimals."""

    value: float
    digits: int


Argument: TypeAlias = "str | int | Seconds | Range | Span | About | Share | Money | Moment | Decimal | Message"


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
