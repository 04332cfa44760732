"""Read the part of Project Fluent's syntax that our `.ftl` files use: text, `{ $holes }`, selects, one attribute.

A dependency-free reader of some sixty lines instead of `fluent.runtime`: that costs a quarter of the start-up time of
`stepscope eta` (it brings attrs, pytz and a parser for all of Fluent). The files stay plain Fluent: the tests render
every message with `fluent.runtime` too and compare.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_HEAD = re.compile(r"(?P<key>[a-z][\w-]*) = ?")
_HOLE = re.compile(r"\{\s*\$(?P<name>\w+)\s*\}")
_SELECT = re.compile(r"\{\s*\$(?P<name>\w+)\s*->\s*\n(?P<variants>(?:\s*\*?\[[^\]]+\][^\n]*\n)+)\s*\}")
_VARIANT = re.compile(r"\s*(?P<default>\*)?\[(?P<key>[^\]]+)\] (?P<text>[^\n]*)\n")

# What a hole's value looks like, and which variant it picks.
Write = Callable[[object], str]
Category = Callable[[object], str]


class Pattern:
    """One value of a message: pieces of text and what fills the gaps between them."""

    def __init__(self, source: str) -> None:
        self._source = source.strip()

    def render(self, args: Mapping[str, object], write: Write, category: Category) -> str:
        """The text with every hole filled; a missing argument is a defect of ours and raises KeyError."""

        def choose(match: re.Match[str]) -> str:
            value = args[match["name"]]
            variants = {variant["key"]: variant["text"] for variant in _VARIANT.finditer(match["variants"])}
            default = next(v["key"] for v in _VARIANT.finditer(match["variants"]) if v["default"])
            for key in (str(value), category(value), default):
                if key in variants:
                    return variants[key].strip()
            raise AssertionError("a select without a default")

        text = _SELECT.sub(choose, self._source)
        return _HOLE.sub(lambda match: write(args[match["name"]]), text)


class Entry:
    """A message: its value, and its `.hint` where it has one."""

    def __init__(self, source: str) -> None:
        head = _HEAD.match(source)
        assert head is not None, source
        value, _, hint = source[head.end() :].partition("\n    .hint = ")
        self.value = Pattern(value)
        self.hint = Pattern(hint) if hint else None
