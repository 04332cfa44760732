"""No line takes long: every pattern looks at each character of a line a bounded number of times.

The bounds are worked out from the patterns (`lines/pattern_cost.py`), so nothing here is timed. With STEPSCOPE_FUZZ the
same is measured: strings are made from each pattern that repeat what it repeats and fail at the end.
"""

import functools
import importlib
import itertools
import math
import os
import pkgutil
import re
import time

import pytest

import stepscope
from stepscope.catalogue.detect import catalogue
from stepscope.core import redact
from stepscope.core.lazy_pattern import LazyPattern
from stepscope.lines.match import LOOKED_THROUGH
from stepscope.lines.pattern_cost import looks

# A megabyte of lines made for the worst pattern takes some seconds then, not hours.
MOST = 1_500
# Searched for in a text of limited length, from each of its characters.
MOST_OF_A_SEARCH = 12_000
# Read nothing that comes from a log.
OWN_TEXTS = {"stepscope.i18n", "stepscope.i18n._fluent", "stepscope.reading.bulk.recipe"}
# Searched for in quotes of at most 160 characters.
QUOTES = {"stepscope.reading.epoch_words", "stepscope.run.deaths"}
# Matched at one place only, never searched for.
MATCHED = {"stepscope.lines.match", "stepscope.lines.prefix", "stepscope.source.smi_table"}


@pytest.mark.parametrize(
    ("pattern", "least", "most"),
    [
        (r"iter (\d+): loss ([\d.]+)", 1, 1),
        (r"\s*\s*$", 10_000, math.inf),
        (r"\s*+\s*$", 1, 1),
        (r"\d+(?:\.\d+)?s", 1, 1),
        (r"\w*_\w*=", 10_000, math.inf),
        (r"(?=\w*_)\w++=", 1, 1),
        (r"a.{0,200}b.{0,200}c", 100, 400),
        (r"(?>a.{0,200}?b).{0,200}c", 1, 1),
        (r"[\w.]+\b[\w.]+x", 10_000, math.inf),
        (r"(?:\w+ )*x", 1, 1),
        (r"valid_loss +(?:[\w. ]{1,200} +)?time\s*$", 10_000, math.inf),
        (r"\d+ +[━ -]{3,200} +x", 10_000, math.inf),
        (r"[\d., -]+[,\])]*\s*$", 10_000, math.inf),
        (r"(\w+)\s*=\s*(.*)", 1, 1),
        (r"step:\d+(?=.{0,2000}? - x)", 2000, 2000),
        (r"step:\d++(?=.{0,2000}? - x)", 1, 1),
    ],
)
def test_how_often_a_pattern_looks_at_a_character(pattern, least, most):
    assert least <= looks(pattern) <= most


@pytest.mark.parametrize(
    "pattern", [r"(a+)+b", r"(?:a|a)*b", r"(?:\w+\s*)+x", r"(?:a?){20}a{20}b", r"(?:a|ab|b)*c", r"(?:\t| {2,}\s*)*x"]
)
def test_patterns_without_a_bound_are_found(pattern):
    assert looks(pattern) == math.inf


def test_a_search_begins_at_every_character():
    assert looks(r"\d+x") == 1
    assert looks(r"\d+x", starts=1000) == 1000
    assert looks(r"(?<!\d)\d+x", starts=1000) == 1
    assert looks(r"\b\w+x", starts=1000) == 1


def test_lines_of_formats_are_matched_in_bounded_time():
    slow = {
        (fmt.name, number): found
        for fmt in catalogue()
        for number, line in enumerate(fmt.lines)
        if (found := looks(line.pattern)) > MOST
    }
    assert not slow


@functools.cache
def helpers() -> dict[tuple[str, str], tuple[str, int]]:
    """Every pattern that a module of ours compiles, by the module and the pattern."""
    found = {}
    for info in pkgutil.walk_packages(stepscope.__path__, "stepscope."):
        # Those of other programs' processes, which import frameworks.
        others = ("stepscope.trainer", "stepscope.live.inject", "stepscope.integrations")
        if info.name.startswith(others) or info.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(info.name)).values():
            for pattern, flags in _compiled(value):
                found[info.name, pattern] = pattern, flags
    for name in ("_TOKENS", "_NAMED", "_FLAG", "_AUTH", "_URL_USER", "_URL_QUERY"):
        pattern = getattr(redact, name)
        found[redact.__name__, pattern] = pattern, 0
    return {key: value for key, value in found.items() if key[0] not in OWN_TEXTS}


def _compiled(value):
    if isinstance(value, LazyPattern):
        yield value._pattern, value._flags
    elif isinstance(value, re.Pattern):
        text = value.pattern if isinstance(value.pattern, str) else value.pattern.decode("latin-1")
        yield text, value.flags & (re.IGNORECASE | re.DOTALL | re.MULTILINE | re.VERBOSE)
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _compiled(part)


def test_all_other_patterns_are_matched_in_bounded_time():
    assert len(helpers()) > 150
    slow = {key: found for key, (pattern, flags) in helpers().items() if (found := looks(pattern, flags)) > MOST}
    assert {module for module, _ in slow} <= QUOTES


def test_all_other_patterns_are_searched_for_in_bounded_time():
    slow = {}
    for (module, pattern), (_, flags) in helpers().items():
        size = 160 if module in QUOTES else LOOKED_THROUGH
        found = 0 if module in MATCHED else looks(pattern, flags, starts=size, longest=size)
        if found > MOST_OF_A_SEARCH:
            slow[module, pattern] = found
    assert not slow


# Measured

_PUMPED = (" ", "0", "a", ".", ",", "-", ":", "[", "=", "_", "━", "|", "0 ", "a ", "a=", "0, ", "a: 0 ", "- ", " |")


def attacks(pattern: str, size: int):
    """Lines that begin as the pattern wants, repeat one of its repeats or a usual piece, and fail at the end."""
    parsed = re._parser.parse(pattern)  # type: ignore[attr-defined]
    lead = ""
    for operation, argument in parsed:
        pumped = _example([(operation, argument)]) or "a"
        for piece in dict.fromkeys((pumped, *_PUMPED)):
            yield lead + piece * (size // len(piece)) + "!\x00"
        lead += pumped
    yield lead


def _example(parsed) -> str:
    """A short text that a part of a pattern reads."""
    text = ""
    for operation, argument in parsed:
        name = str(operation)
        if name == "LITERAL":
            text += chr(argument)
        elif name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
            text += _example(argument[2]) * max(1, argument[0])
        elif name == "SUBPATTERN":
            text += _example(argument[3])
        elif name == "ATOMIC_GROUP":
            text += _example(argument)
        elif name == "BRANCH":
            text += _example(argument[1][0])
        elif name == "IN":
            text += next((char for char in "0a .-:,|[]=_/━" if re.match(_class(argument), char)), "")
        elif name == "ANY":
            text += "x"
    return text


def _class(argument) -> re.Pattern[str]:
    state = re._parser.State()  # type: ignore[attr-defined]
    part = re._parser.SubPattern(state, [(re._constants.IN, argument)])  # type: ignore[attr-defined]
    return re._compiler.compile(part)  # type: ignore[attr-defined]


def _seconds(pattern: re.Pattern[str], text: str) -> float:
    begin = time.process_time()
    pattern.match(text)
    return time.process_time() - begin


def _grows(pattern: str, size: int) -> list[str]:
    """Attacks that took long, and about four times as long when they were twice as long."""
    compiled = re.compile(pattern)
    found = []
    for short, long in zip(attacks(pattern, size), attacks(pattern, 2 * size), strict=True):
        if _seconds(compiled, long) > 0.02 and _seconds(compiled, long) > 3 * max(0.003, _seconds(compiled, short)):
            found.append(long[:100])
    return found


def test_the_measurement_finds_what_the_analysis_finds():
    assert _grows(r"at\s*\s*$", 3000)
    assert not _grows(r"iter (\d+): loss ([\d.]+)", 3000)


@pytest.mark.skipif(not os.environ.get("STEPSCOPE_FUZZ"), reason="takes minutes; STEPSCOPE_FUZZ=1 runs it")
def test_lines_of_formats_take_no_longer_than_they_are_long():
    lines = itertools.chain.from_iterable(fmt.lines for fmt in catalogue())
    assert not {line.pattern: found for line in lines if (found := _grows(line.pattern, 4_000))}
