"""How the numbers of a step line are found and computed, for all lines of its shape at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from stepscope.columns.decimals import Nanos, Printed
from stepscope.core.units import NS
from stepscope.lines.figures import (
    CLOCK_FIGURES,
    CLOCK_LEFT,
    LINEAR_NS,
    MINUTES_LEFT,
    OWN_EVENTS,
    SCALES,
    WORK,
    parse_clock,
)
from stepscope.lines.format import Format
from stepscope.lines.prefix import Prefix, split_prefix
from stepscope.lines.skipped import count_place
from stepscope.reading.bulk.line_shape import LineShape, free_digits, make_shape
from stepscope.reading.bulk.numbers import MAX_DIGITS, Floats, Ints, Number, find_windows
from stepscope.reading.bulk.sight import Sight
from stepscope.reading.epoch_means import DATA_MEAN, MEAN, tick_of
from stepscope.reading.rest_of_epoch import EPOCH_TIME
from stepscope.reading.step_line import EVALUATED

MOMENTS = ("unix_s", "unix_ms")
_NUMBER = re.compile(r"[+-]?[0-9][0-9,_]*(?:\.[0-9]*)?|[+-]?\.[0-9]+")
_POWER = re.compile(r"([+-]?[0-9]+(?:\.[0-9]*)?)[eE]([+-]?)([0-9]{1,2})")
_CONSTANT = re.compile(r"[+-]?(?:nan|inf)", re.IGNORECASE)
_NOT_HERE = (
    MINUTES_LEFT,
    CLOCK_LEFT,
    "percent",
    "epochs_done",
    "per_steps",
    "samples_per_s",
    "samples_done",
    "of_samples",
    "mean_steps_per_s",
    EPOCH_TIME,
    *EVALUATED,
    *OWN_EVENTS,
)

# Below this many nanoseconds whole numbers and the ordinary reader's floats give the same, to the last one.
MAX_NS = 10**15
Whole = list[Ints]
AsFloats = Callable[[int], Floats]
Figure = Callable[[Whole, AsFloats], Printed | Ints]


class Loss(NamedTuple):
    """A number of the line, or the same in all lines."""

    number: int = -1
    constant: float | None = None


class EpochFigures(NamedTuple):
    """The means since an epoch began, by the numbers they are, and the last digit of the one of its steps."""

    epoch: int | None
    mean: int
    wait: int | None
    tick_s: float


class RowRecipe(NamedTuple):
    """What a step line is made of; indices are those of `numbers`."""

    numbers: tuple[Number, ...]
    step: Callable[[Whole], Ints]
    figure: Figure | None  # in nanoseconds; -1 where it is none
    loss: Loss | None
    mfu: int | None
    data: int | None
    tokens: int | None
    tokens_per_s: int | None
    means: EpochFigures | None
    stamp: Callable[[Whole], Ints] | None
    prefix: Prefix | None  # that the stamp is like
    tag: Prefix | None  # that stood before the line
    total: int | None
    batches: int | None
    epochs: int | None


class NotPlainError(Exception):
    """A number of this line is not plain digits: read it the ordinary way."""


class RowPlanner:
    """Finds the places of a line's numbers."""

    def __init__(self, fmt: Format, sight: Sight, line: bytes) -> None:
        assert sight.found.match is not None
        self._format = fmt
        self._sight = sight
        self._line = line
        self._match = sight.found.match
        self._groups = sight.found.match.groupdict()
        self._texts: list[tuple[int, str]] = []  # where each number begins among the kept characters, and its text
        self._fixed: set[int] = set()
        self._sure: set[int] = set()

    def shape(self) -> LineShape:
        """The shape of the line, its fixed digits fixed."""
        return make_shape(self._line, self._free())

    def _free(self) -> frozenset[int]:
        return free_digits(self._line, frozenset(self._fixed), frozenset(self._sure))

    def loss_only(self) -> RowRecipe:
        """A line that holds nothing but the loss of the row before it."""
        if self._format.layout.bars_nest and self._sight.found.prefix is not None:
            raise NotPlainError
        loss = self._loss()
        if loss is None or loss.constant is not None or self._groups.get("stamp") or self._sight.found.prefix:
            raise NotPlainError
        return self._finish(step=lambda whole: whole[0], loss=loss)

    def row(self) -> RowRecipe:
        """A line that is a row of the table."""
        groups = self._groups
        self._fix_skipped()
        if any(groups.get(name) for name in (*MOMENTS, *_NOT_HERE)):
            raise NotPlainError
        if groups.get("epoch") and groups.get("batch") and not groups.get("batches"):
            raise NotPlainError  # how long an epoch is shows only line by line
        totals = {name: self._constant(name) for name in ("total", "batches", "epochs")}
        step = self._step(totals["batches"])
        figure = self._figure()
        loss = self._loss()
        mfu = None
        if groups.get("mfu_pct") and not _CONSTANT.fullmatch(groups["mfu_pct"] or ""):
            mfu = self._number("mfu_pct")
        data, tokens, rate = (
            self._number(name) if groups.get(name) else None for name in ("data_s", "tokens", "tokens_per_s")
        )
        if figure is None and tokens is not None and rate is not None:
            raise NotPlainError  # its time is the quotient of two numbers
        prefix, stamp = self._stamp()
        self._fix_prefix()
        if figure is None and prefix is None and self._format.clock.covers != "stamp":
            raise NotPlainError  # a step without any time counts only after a timestamp
        return self._finish(
            step=step,
            figure=figure,
            loss=loss,
            mfu=mfu,
            data=data,
            tokens=tokens,
            tokens_per_s=rate,
            means=self._means(),
            stamp=stamp,
            prefix=prefix,
            **totals,
        )

    def _fix_skipped(self) -> None:
        """Lines that say that no step was skipped are of one shape; others are read one by one."""
        place = count_place(self._sight.text)
        if place is None:
            return
        text = self._sight.text[slice(*place)]
        if int(text):
            raise NotPlainError
        self._fix(self._sight.lead + place[0], text)

    def _finish(
        self,
        *,
        step: Callable[[Whole], Ints],
        figure: Figure | None = None,
        loss: Loss | None = None,
        mfu: int | None = None,
        data: int | None = None,
        tokens: int | None = None,
        tokens_per_s: int | None = None,
        means: EpochFigures | None = None,
        stamp: Callable[[Whole], Ints] | None = None,
        prefix: Prefix | None = None,
        total: int | None = None,
        batches: int | None = None,
        epochs: int | None = None,
    ) -> RowRecipe:
        free = self._free()
        return RowRecipe(
            numbers=tuple(self._locate(start, text, free) for start, text in self._texts),
            step=step,
            figure=figure,
            loss=loss,
            mfu=mfu,
            data=data,
            tokens=tokens,
            tokens_per_s=tokens_per_s,
            means=means,
            stamp=stamp,
            prefix=prefix and prefix._replace(match=None),  # what rows carry may go from process to process
            tag=self._sight.found.prefix,
            total=total,
            batches=batches,
            epochs=epochs,
        )

    def _locate(self, start: int, text: str, free: frozenset[int]) -> Number:
        kept = self._sight.kept
        power = _POWER.fullmatch(text)
        digits = power[1] if power else text
        places = [kept[start + index] for index, char in enumerate(digits) if char in "0123456789"]
        if not 0 < len(places) <= MAX_DIGITS or not free.issuperset(places):
            raise NotPlainError
        point = kept[start + digits.index(".")] if "." in digits else None
        windows, decimals = find_windows(places, point, free)
        exponent = None
        if power:
            behind = [kept[start + index] for index in range(power.start(3), power.end(3))]
            if not free.issuperset(behind):
                raise NotPlainError
            exponent = find_windows(behind, None, free)[0][0], -1 if power[2] == "-" else 1
        return Number(windows, decimals, -1 if text.startswith("-") else 1, exponent)

    def _number(self, name: str, *, commas: bool = False, power: bool = False) -> int:
        text = self._groups[name] or ""
        is_plain = _NUMBER.fullmatch(text) and (commas or not ("," in text or "_" in text))
        if not is_plain and not (power and _POWER.fullmatch(text)):
            raise NotPlainError
        return self._add(self._sight.offset + self._match.start(name), text)

    def _add(self, start: int, text: str) -> int:
        """Remember a number that begins at this one of the kept characters; its index."""
        self._texts.append((start, text))
        self._sure.update(self._sight.kept[start + index] for index, char in enumerate(text) if char in "0123456789")
        return len(self._texts) - 1

    def _fix(self, start: int, text: str) -> None:
        self._fixed.update(self._sight.kept[start : start + len(text)])

    def _constant(self, name: str) -> int | None:
        """A number that must stay what it is, such as the total: with another one the shape is another."""
        text = self._groups.get(name)
        if not text:
            return None
        if not text.replace(",", "").isdecimal() or len(text) > MAX_DIGITS:
            raise NotPlainError
        self._fix(self._sight.offset + self._match.start(name), text)
        return int(text.replace(",", ""))

    def _step(self, batches: int | None) -> Callable[[Whole], Ints]:
        if self._groups.get("step"):
            index = self._unsigned("step")
            return lambda whole: whole[index]
        if not self._groups.get("batch"):
            raise NotPlainError
        batch = self._unsigned("batch")
        if not self._groups.get("epoch"):
            return lambda whole: whole[batch]
        if batches is None:
            raise NotPlainError
        epoch, first, length = self._unsigned("epoch"), self._format.layout.first_epoch, batches
        return lambda whole: (whole[epoch] - first) * length + whole[batch]

    def _means(self) -> EpochFigures | None:
        """The means that the line prints beside its figures."""
        groups = self._groups
        if not groups.get(MEAN):
            return None
        if not groups.get("dur_s"):
            raise NotPlainError
        return EpochFigures(
            epoch=self._unsigned("epoch") if groups.get("epoch") else None,
            mean=self._number(MEAN),
            wait=self._number(DATA_MEAN) if groups.get(DATA_MEAN) else None,
            tick_s=tick_of(groups[MEAN] or ""),
        )

    def _fix_prefix(self) -> None:
        """What is before the line besides its timestamp, such as a rank, must stay what it is."""
        prefix, lead = self._sight.found.prefix, self._sight.lead
        if prefix is None:
            return
        stamp = range(*prefix.match.span()) if prefix.match is not None else ()
        self._fixed.update(self._sight.kept[lead + at] for at in range(prefix.length) if at not in stamp)

    def _unsigned(self, name: str) -> int:
        if not re.fullmatch(r"[0-9][0-9,_]*", self._groups[name] or ""):
            raise NotPlainError
        return self._number(name, commas=True)

    def _figure(self) -> Figure | None:
        """How the time figure is computed."""
        for name, scale in SCALES.items():
            text = self._groups.get(name)
            if not text:
                continue
            if name in CLOCK_FIGURES:
                return self._clock(name, text)
            if text.startswith("-"):
                raise NotPlainError
            index = self._number(name, commas=True)
            nanos, one = LINEAR_NS.get(name), 10 ** self._decimals(index)
            if nanos is None or nanos % one:
                return lambda _, as_floats: _scaled(scale, as_floats(index))
            factor = nanos // one
            return lambda whole, _: Printed(whole[index], Nanos(factor))
        return self._parts() if self._groups.get(WORK) else None

    def _parts(self) -> Figure:
        """A step's time as the sum of its work and of the wait for its batch."""
        terms = []
        for name in (WORK, "data_s"):
            if self._groups.get(name):
                index = self._number(name)
                terms.append((index, NS // 10 ** self._decimals(index)))

        def total(whole: Whole, _: AsFloats) -> Ints:
            nanos: Ints = np.sum([whole[index] * factor for index, factor in terms], axis=0, dtype=np.int64)
            return nanos

        return total

    def _decimals(self, index: int) -> int:
        """How many decimals the number will have as its windows give it."""
        start, text = self._texts[index]
        places = [self._sight.kept[start + at] for at, char in enumerate(text) if char in "0123456789"]
        point = self._sight.kept[start + text.index(".")] if "." in text else None
        return find_windows(places, point, frozenset())[1]

    def _clock(self, name: str, text: str) -> Figure:
        """A clock such as 1:02:03 is a sum of its numbers; what each counts is found by asking with one of them."""
        zero = re.sub(r"[0-9]", "0", text)
        terms = []
        for token in re.finditer(r"[0-9]+(?:\.[0-9]+)?", text):
            written = len(token[0].partition(".")[2])
            end = token.end() - (written + 1 if written else 0)
            seconds = parse_clock(zero[: end - 1] + "1" + zero[end:])
            index = self._add(self._sight.offset + self._match.start(name) + token.start(), token[0])
            one = 10 ** self._decimals(index)
            if seconds is None or seconds * 1e9 % one:
                raise NotPlainError
            terms.append((index, int(seconds * 1e9) // one))
        if not terms:
            raise NotPlainError

        def total(whole: Whole, _: AsFloats) -> Ints:
            nanos: Ints = whole[terms[0][0]] * terms[0][1]
            for index, factor in terms[1:]:
                nanos += whole[index] * factor
            return nanos

        return total

    def _loss(self) -> Loss | None:
        text = self._groups.get("loss")
        if not text:
            return None
        if _CONSTANT.fullmatch(text):
            return Loss(constant=float(text))
        return Loss(number=self._number("loss", power=True))

    def _stamp(self) -> tuple[Prefix | None, Callable[[Whole], Ints] | None]:
        """The stamp before the line or inside it, and how it is computed."""
        prefix, start = self._sight.found.prefix, self._sight.lead
        inside = self._groups.get("stamp")
        if inside:
            if prefix is not None and prefix.t_ns is not None:
                raise NotPlainError
            prefix = split_prefix(f"{inside} ")
            start = self._sight.offset + self._match.start("stamp")
        if prefix is None or prefix.t_ns is None:
            return None, None
        match = prefix.match
        if match is None:
            raise NotPlainError
        parts = {name: text for name, text in match.groupdict().items() if text and name != "m"}
        # A new day is a new shape: then the rest of a stamp is a plain sum. By a clock of twelve hours, so is an hour.
        for name in ("y", "y2", "mo", "d", "a", "b", "c", "z", *(["h"] if "half" in parts else [])):
            if name in parts:
                self._fix(start + match.start(name), parts[name])
                parts.pop(name)
        units = {"h": 3600 * NS, "mi": 60 * NS, "s": NS, "e": NS, "f": NS // 10 ** len(parts.get("f", ""))}
        base, terms = prefix.t_ns, []
        for name, unit in units.items():
            text = parts.get(name)
            if not text:
                continue
            first = 1 if name == "e" and prefix.dated else 0
            if first:
                self._fix(start + match.start(name), text[:1])  # a moment begins with a 1, or it is none
            base -= int(text[first:]) * unit
            terms.append((self._add(start + match.start(name) + first, text[first:]), unit))

        def stamp(whole: Whole) -> Ints:
            t_ns: Ints = whole[terms[0][0]] * terms[0][1] + base
            for index, unit in terms[1:]:
                t_ns += whole[index] * unit
            return t_ns

        return prefix, stamp


def _scaled(scale: Callable[[Floats], Floats], numbers: Floats) -> Ints:
    """Whole nanoseconds of figures that need more than a factor; -1 where they are none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        nanos = scale(numbers) * NS
    known = (nanos >= 0) & (nanos < MAX_NS)
    return np.where(known, np.rint(np.where(known, nanos, 0)), -1).astype(np.int64)
