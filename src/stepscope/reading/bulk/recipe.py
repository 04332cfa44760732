"""What to do with all lines of one shape, found out by asking the ordinary reader about one of them."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import cache
from typing import NamedTuple

from stepscope.lines import notices
from stepscope.lines.figures import AHEAD, SCALES
from stepscope.lines.format import Format
from stepscope.lines.prefix import digits_may_be_prefix
from stepscope.lines.runtimes import parse_runtime
from stepscope.lines.sieve import certain_words
from stepscope.reading.bulk.line_shape import NAME_DIGITS, LineShape, free_digits, make_shape
from stepscope.reading.bulk.row_recipe import MOMENTS, NotPlainError, RowPlanner, RowRecipe
from stepscope.reading.bulk.sight import Sight, look_at
from stepscope.reading.bulk.target import BulkTarget
from stepscope.reading.events import KINDS as EVENTS
from stepscope.reading.step_line import NAMES_STEP

# What to do with a line: ask the ordinary reader; a row; the loss of the row before it; nothing; count it as unread;
# count it as passed over.
SLOW, STEP, LOSS, NOTHING, UNREAD, PASSED = range(6)
_DIGIT = re.compile("[1-9]")
_QUANTIFIER = re.compile(r"\\?\{\d*,?\d*\}|0-9")
_OWN_DIGIT = re.compile(r"(?<![A-Za-z_@0-9])[0-9]|(?<=\\d)[0-9]|\(\?P=")


class Plan(NamedTuple):
    """What is done with every line of a shape."""

    kind: int
    shape: LineShape
    row: RowRecipe | None = None
    text: str = ""


class Recipe(NamedTuple):
    """An event's line: which line of the format it is, and where its groups are."""

    which: int
    groups: tuple[tuple[str, int, int], ...]
    missing: dict[str, str | None]
    start: int
    end: int


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
        is_silent = notices.classify(found.text) is None and not _may_state_runtime(found.text)
        is_moment = fmt.clock.is_wall and bool(found.match.groupdict().get("stamp"))
        return Plan(PASSED if found.prefix is None and is_silent and not is_moment else SLOW, shape, text=found.text)
    if kind != "step" or fmt.clock.restarts_with == "epoch" or fmt.layout.counts_lines or fmt.clock.is_mean:
        return Plan(SLOW, shape)
    if _states_ahead(_patterns(fmt, {"fact", "start", "resume"})):
        return Plan(SLOW, shape)
    return _plan_of_step(fmt, sight, line) or Plan(SLOW, shape)


def _plan_of_step(fmt: Format, sight: Sight, line: bytes) -> Plan | None:
    """What to do with step lines like this one; None where a number of it is not plain digits."""
    assert sight.found.match is not None
    has_step = bool(sight.found.match.groupdict().keys() & NAMES_STEP)
    try:
        planner = RowPlanner(fmt, sight, line)
        row = planner.row() if has_step else planner.loss_only()
    except NotPlainError:
        return None
    return Plan(STEP if has_step else LOSS, planner.shape(), row)


def make_recipe(fmt: Format, target: BulkTarget, line: bytes) -> Recipe | None:
    """How to read an event's line without searching it; None where it must be searched."""
    sight = look_at(target, line) if line.isascii() and b"\x1b" not in line else None
    if sight is None or sight.found.which is None or sight.found.match is None or sight.found.prefix is not None:
        return None
    which, match = sight.found.which, sight.found.match
    groups = match.groupdict()
    if not _is_plain_event(fmt, which, groups) or _digits_may_matter(fmt, sight.text, which):
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


def _is_plain_event(fmt: Format, which: int, groups: dict[str, str | None]) -> bool:
    """Whether a line is an event's and holds neither a moment nor a time of its own."""
    line = fmt.lines[which]
    has_time = any(groups.get(name) for name in ("stamp", *MOMENTS, *SCALES))
    return line.kind in EVENTS and not line.sets and not has_time


def _is_surely_foreign(sight: Sight) -> bool:
    """Whether no other digits could make this a line of somebody's: with a timestamp, or one that speaks of the end."""
    text = sight.text
    if sight.found.prefix is not None or digits_may_be_prefix(text):
        return False
    return not may_be_notice(text) and notices.EXCEPTION.match(text) is None


def may_be_notice(text: str, *, has_digits: bool = True) -> bool:
    """Whether a line may say how the run went or how long it took, with these or other digits."""
    is_notice = notices.classify(text) is not None or notices.is_ignored(text)
    return is_notice or "ignal" in text or (has_digits and _may_state_runtime(text))


def _may_state_runtime(text: str) -> bool:
    """Whether a line may say how long the whole took, with these or other digits."""
    return parse_runtime(re.sub(r"[0-9]", "1", text)) is not None or parse_runtime(text) is not None


def _patterns(fmt: Format, kinds: Set[str] | None = None) -> tuple[str, ...]:
    return tuple(line.pattern for line in fmt.lines if kinds is None or line.kind in kinds)


@cache
def _states_ahead(patterns: tuple[str, ...]) -> bool:
    """Whether a line before a step line may state a part of it: then no step line can be read by itself."""
    return any(f"?P<{name}>" in pattern for pattern in patterns for name in AHEAD)


@cache
def _odd_patterns(patterns: tuple[str, ...]) -> dict[int, frozenset[str]]:
    """The patterns that ask for particular digits, with words one of which each of their lines contains.

    The digits of a line may be others: in the words they are all 0.
    """
    return {
        index: frozenset(_DIGIT.sub("0", word) for word in certain_words(pattern))
        for index, pattern in enumerate(patterns)
        if _OWN_DIGIT.search(_QUANTIFIER.sub("", pattern))
    }


def _digits_may_matter(fmt: Format, text: str, which: int | None) -> bool:
    """Whether a line with other digits could be another line of the format."""
    odd, text = _odd_patterns(_patterns(fmt)), _DIGIT.sub("0", text)
    return any(index == which or any(word in text for word in words) for index, words in odd.items())
