"""What to do with all lines of one shape, found out by asking the ordinary reader about one of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Set
from functools import cache
from typing import NamedTuple

import numpy as np

from stepscope.columns.decimals import Nanos, Printed
from stepscope.core.units import NS
from stepscope.lines import notices
from stepscope.lines.figures import AHEAD, CLOCK_FIGURES, LINEAR_NS, SCALES, parse_clock
from stepscope.lines.format import Format
from stepscope.lines.match import Claim
from stepscope.lines.prefix import Prefix, split_prefix
from stepscope.lines.runtimes import parse_runtime
from stepscope.lines.sieve import certain_words
from stepscope.reading.bulk.line_shape import NAME_DIGITS, LineShape, free_digits, make_shape
from stepscope.reading.bulk.numbers import MAX_DIGITS, Floats, Ints, Number, find_windows
from stepscope.reading.bulk.target import BulkTarget
from stepscope.reading.step_line import NAMES_STEP
from stepscope.source.lines import ANSI

# What to do with a line: ask the ordinary reader; a row; the loss of the row before it; nothing; count it as unread.
SLOW, STEP, LOSS, NOTHING, UNREAD = range(5)
_NUMBER = re.compile(r"[+-]?[0-9][0-9,_]*(?:\.[0-9]*)?|[+-]?\.[0-9]+")
_POWER = re.compile(r"([+-]?[0-9]+(?:\.[0-9]*)?)[eE]([+-]?)([0-9]{1,2})")
_CONSTANT = re.compile(r"[+-]?(?:nan|inf)", re.IGNORECASE)
_QUANTIFIER = re.compile(r"\\?\{\d*,?\d*\}|0-9")
_OWN_DIGIT = re.compile(r"(?<![A-Za-z_@0-9])[0-9]|(?<=\\d)[0-9]|\(\?P=")
_MOMENTS = ("unix_s", "unix_ms")
_NOT_HERE = ("per_steps", "samples_per_s")

# Below this many nanoseconds whole numbers and the ordinary reader's floats give the same, to the last one.
MAX_NS = 10**15
Whole = list[Ints]
AsFloats = Callable[[int], Floats]
Figure = Callable[[Whole, AsFloats], Printed | Ints]


class Loss(NamedTuple):
    """A number of the line, or the same in all lines."""

    number: int = -1
    constant: float | None = None


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
    stamp: Callable[[Whole], Ints] | None
    prefix: Prefix | None  # that the stamp is like
    tag: Prefix | None  # that stood before the line
    total: int | None
    batches: int | None
    epochs: int | None


class Plan(NamedTuple):
    """What is done with every line of a shape."""

    kind: int
    shape: LineShape
    row: RowRecipe | None = None
    text: str = ""


class Recipe(NamedTuple):
    """An event's line: which line of the format it is, and where its groups stand."""

    which: int
    groups: tuple[tuple[str, int, int], ...]
    missing: dict[str, str | None]
    start: int
    end: int


class _NotPlainError(Exception):
    """A number of this line is not plain digits: read it the ordinary way."""


class Sight(NamedTuple):
    """A line as the ordinary reader sees it, and where its characters stand among the bytes."""

    text: str
    found: Claim
    kept: list[int]
    offset: int  # of the claimed text among `kept`
    lead: int  # of the stripped text among `kept`


def look_at(target: BulkTarget, line: bytes) -> Sight | None:
    """Ask the ordinary reader about a line; None when it is blank or no plain text."""
    try:
        raw = line.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if "\x08" in raw or "\0" in raw:
        return None
    kept = list(range(len(raw))) if len(raw) == len(line) else _byte_places(raw)
    if "\x1b" in raw:
        hidden = {index for code in ANSI.finditer(raw) for index in range(*code.span())}
        raw = "".join(char for index, char in enumerate(raw) if index not in hidden)
        kept = [place for index, place in enumerate(kept) if index not in hidden]
    text = raw.strip()
    if not text:
        return None
    found = target.claim(text)
    lead = len(raw) - len(raw.lstrip())
    return Sight(text, found, kept, lead + len(text) - len(found.text), lead)


def _byte_places(text: str) -> list[int]:
    places, place = [], 0
    for char in text:
        places.append(place)
        place += len(char.encode("utf-8"))
    return places


def make_plan(fmt: Format, target: BulkTarget, line: bytes) -> Plan:
    """What to do with all lines like this one."""
    shape = make_shape(line, free_digits(line))
    sight = look_at(target, line)
    if sight is None:
        is_blank = line.isascii() and not line.strip() and b"\x08" not in line and b"\0" not in line
        return Plan(NOTHING if is_blank else SLOW, shape)
    found = sight.found
    if _digits_may_matter(fmt, sight.text, found.which):
        return Plan(SLOW, shape)
    if found.which is None or found.match is None:
        return Plan(UNREAD if _is_surely_foreign(sight) else SLOW, shape, text=found.text)
    kind = fmt.lines[found.which].kind
    if fmt.lines[found.which].sets:
        return Plan(SLOW, shape)
    if kind == "chatter":
        is_silent = notices.closing_words(found.text) is None and not _may_tell_runtime(found.text)
        return Plan(NOTHING if found.prefix is None and is_silent else SLOW, shape)
    if (
        kind != "step"
        or fmt.clock.restarts_with == "epoch"
        or _tells_ahead(_patterns(fmt, {"fact", "start", "resume"}))
    ):
        return Plan(SLOW, shape)
    try:
        planner = _Planner(fmt, sight, line)
        row = planner.loss_only() if not found.match.groupdict().keys() & NAMES_STEP else planner.row()
    except _NotPlainError:
        return Plan(SLOW, shape)
    kind_of_plan = STEP if found.match.groupdict().keys() & NAMES_STEP else LOSS
    return Plan(kind_of_plan, planner.shape(), row)


def make_recipe(fmt: Format, target: BulkTarget, line: bytes) -> Recipe | None:
    """How to read an event's line without searching it; None where it must be searched."""
    sight = look_at(target, line) if line.isascii() and b"\x1b" not in line else None
    if sight is None or sight.found.which is None or sight.found.match is None or sight.found.prefix is not None:
        return None
    which, match = sight.found.which, sight.found.match
    groups = match.groupdict()
    if fmt.lines[which].kind not in {"evaluation", "checkpoint", "gc", "data"} or fmt.lines[which].sets:
        return None
    if any(groups.get(name) for name in ("stamp", *_MOMENTS, *SCALES)) or _digits_may_matter(fmt, sight.text, which):
        return None
    shift = sight.offset
    spans = tuple((name, shift + match.start(name), shift + match.end(name)) for name in groups if groups[name])
    names = [found.span() for found in NAME_DIGITS.finditer(line)]
    if not all(any(start <= first and last <= end for _, start, end in spans) for first, last in names):
        return None
    return Recipe(
        which=which,
        groups=spans,
        missing={name: text for name, text in groups.items() if not text},
        start=shift,
        end=shift + len(match.string),
    )


def _is_surely_foreign(sight: Sight) -> bool:
    """Whether no other digits could make this a line of somebody's: with a stamp, or one that tells of the end."""
    text = sight.text
    if sight.found.prefix is not None or any(char.isdigit() for char in text[:2]):
        return False
    is_told = notices.classify(text) is not None or notices.is_ignored(text) or _may_tell_runtime(text)
    return not is_told and notices.EXCEPTION.match(text) is None and "ignal" not in text


def _may_tell_runtime(text: str) -> bool:
    """Whether a line may say how long the whole took, with these or other digits."""
    return parse_runtime(re.sub(r"[0-9]", "1", text)) is not None or parse_runtime(text) is not None


def _patterns(fmt: Format, kinds: Set[str] | None = None) -> tuple[str, ...]:
    return tuple(line.pattern for line in fmt.lines if kinds is None or line.kind in kinds)


@cache
def _tells_ahead(patterns: tuple[str, ...]) -> bool:
    """Whether a line before a step line may tell a part of it: then no step line stands for itself."""
    return any(f"?P<{name}>" in pattern for pattern in patterns for name in AHEAD)


@cache
def _odd_patterns(patterns: tuple[str, ...]) -> dict[int, frozenset[str]]:
    """The patterns that ask for particular digits, with words one of which each of their lines contains."""
    return {
        index: frozenset(certain_words(pattern))
        for index, pattern in enumerate(patterns)
        if _OWN_DIGIT.search(_QUANTIFIER.sub("", pattern))
    }


def _digits_may_matter(fmt: Format, text: str, which: int | None) -> bool:
    """Whether a line with other digits could be another line of the format."""
    odd = _odd_patterns(_patterns(fmt))
    return any(index == which or any(word in text for word in words) for index, words in odd.items())


class _Planner:
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
            raise _NotPlainError
        loss = self._loss()
        if loss is None or loss.constant is not None or self._groups.get("stamp") or self._sight.found.prefix:
            raise _NotPlainError
        return self._finish(step=lambda whole: whole[0], loss=loss)

    def row(self) -> RowRecipe:
        """A line that is a row of the table."""
        groups = self._groups
        if any(groups.get(name) for name in (*_MOMENTS, *_NOT_HERE)):
            raise _NotPlainError
        if groups.get("epoch") and groups.get("batch") and not groups.get("batches"):
            raise _NotPlainError  # how long an epoch is shows only line by line
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
        prefix, stamp = self._stamp()
        self._fix_prefix()
        if figure is None and prefix is None and self._format.clock.covers != "stamp":
            raise _NotPlainError  # a step without any time counts only behind a stamp
        return self._finish(
            step=step,
            figure=figure,
            loss=loss,
            mfu=mfu,
            data=data,
            tokens=tokens,
            tokens_per_s=rate,
            stamp=stamp,
            prefix=prefix,
            **totals,
        )

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
            raise _NotPlainError
        point = kept[start + digits.index(".")] if "." in digits else None
        windows, decimals = find_windows(places, point, free)
        exponent = None
        if power:
            behind = [kept[start + index] for index in range(power.start(3), power.end(3))]
            if not free.issuperset(behind):
                raise _NotPlainError
            exponent = find_windows(behind, None, free)[0][0], -1 if power[2] == "-" else 1
        return Number(windows, len(places), decimals, -1 if text.startswith("-") else 1, exponent)

    def _number(self, name: str, *, commas: bool = False, power: bool = False) -> int:
        text = self._groups[name] or ""
        is_plain = _NUMBER.fullmatch(text) and (commas or not ("," in text or "_" in text))
        if not is_plain and not (power and _POWER.fullmatch(text)):
            raise _NotPlainError
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
            raise _NotPlainError
        self._fix(self._sight.offset + self._match.start(name), text)
        return int(text.replace(",", ""))

    def _step(self, batches: int | None) -> Callable[[Whole], Ints]:
        if self._groups.get("step"):
            index = self._unsigned("step")
            return lambda whole: whole[index]
        if not self._groups.get("batch"):
            raise _NotPlainError
        batch = self._unsigned("batch")
        if not self._groups.get("epoch"):
            return lambda whole: whole[batch]
        if batches is None:
            raise _NotPlainError
        epoch, first, length = self._unsigned("epoch"), self._format.layout.first_epoch, batches
        return lambda whole: (whole[epoch] - first) * length + whole[batch]

    def _fix_prefix(self) -> None:
        """What stands before the line beside its stamp, such as a rank, must stay what it is."""
        prefix, lead = self._sight.found.prefix, self._sight.lead
        if prefix is None:
            return
        stamp = range(*prefix.match.span()) if prefix.match is not None else ()
        self._fixed.update(self._sight.kept[lead + at] for at in range(prefix.length) if at not in stamp)

    def _unsigned(self, name: str) -> int:
        if not re.fullmatch(r"[0-9][0-9,_]*", self._groups[name] or ""):
            raise _NotPlainError
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
                raise _NotPlainError
            index = self._number(name, commas=True)
            nanos, one = LINEAR_NS.get(name), 10 ** self._decimals(index)
            if nanos is None or nanos % one:
                return lambda _, as_floats: _scaled(scale, as_floats(index))
            factor = nanos // one
            return lambda whole, _: Printed(whole[index], Nanos(factor))
        return None

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
                raise _NotPlainError
            terms.append((index, int(seconds * 1e9) // one))
        if not terms:
            raise _NotPlainError

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
                raise _NotPlainError
            prefix = split_prefix(f"{inside} ")
            start = self._sight.offset + self._match.start("stamp")
        if prefix is None or prefix.t_ns is None:
            return None, None
        match = prefix.match
        if match is None or match.groupdict().get("half"):
            raise _NotPlainError
        parts = {name: text for name, text in match.groupdict().items() if text and name != "m"}
        for name in ("y", "mo", "d", "z"):
            if name in parts:  # a new day is a new shape: then the rest of a stamp is a plain sum
                self._fix(start + match.start(name), parts[name])
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
