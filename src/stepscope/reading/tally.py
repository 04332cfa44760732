"""How many lines of a log each format claims, counted by the shape of the lines: a cheap first look at all of them."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from typing import NamedTuple

from stepscope.catalogue import detect
from stepscope.lines.format import Format
from stepscope.lines.match import claim

_DIGITS = re.compile(r"\d+")
# A bar's strokes and blanks say how far it is, not what it is.
_STROKES = re.compile(r"[█▏▎▍▌▋▊▉━╸╺─#=>.\s-]{2,}")
_SHAPE_CHARS = 400
_MAX_SHAPES = 4096
_MOST_ASKED = 20


class LineClaim(NamedTuple):
    """A format that claims a line: its name, and which of its lines that is."""

    name: str
    which: int


class Claimed(NamedTuple):
    """What a format claims of a log: lines of steps, of them weak ones, of evaluations, and kinds of lines in all."""

    steps: int
    weak: int
    evaluations: int
    num_kinds: int

    @property
    def is_settling(self) -> bool:
        """Whether a line is there that only this trainer writes."""
        return self.steps > self.weak or self.evaluations > 0


class Tally:
    """Counts of the lines that each format claims, and of the shapes that no format takes for a step."""

    def __init__(self, taught: tuple[Format, ...]) -> None:
        self._taught = {fmt.name: fmt for fmt in taught}
        self._claims: dict[str, tuple[LineClaim, ...]] = {}  # by the shape of a line
        self._num: dict[LineClaim, int] = {}
        self._nobodys: Counter[str] = Counter()
        self._examples: dict[str, str] = {}  # of these shapes
        self._first_texts: dict[str, str] = {}  # of each format, the first line that only this trainer writes
        self.num_lines = 0
        self.num_claimed = 0

    def take(self, text: str) -> None:
        """Count a line, stripped and not empty."""
        self.num_lines += 1
        # A format that claims a line claims another that differs from it in its digits only.
        shape = _DIGITS.sub("0", text[:_SHAPE_CHARS])
        claims = self._claims.get(shape)
        if claims is None:
            is_new = len(self._claims) < _MAX_SHAPES
            claims = tuple(self._claims_of(text)) if is_new else ()
            if is_new:
                self._claims[shape] = claims
        self.num_claimed += bool(claims)
        for one in claims:
            self._num[one] = self._num.get(one, 0) + 1
        if "0" in shape and not any(self._is_step(one) for one in claims):
            key = _STROKES.sub(" ", shape)
            self._nobodys[key] += 1
            if len(self._examples) < _MAX_SHAPES:
                self._examples.setdefault(key, text)

    def _claims_of(self, text: str) -> list[LineClaim]:
        found = []
        for fmt in itertools.chain(self._taught.values(), detect.suspects(text)):
            which = detect.telling_line(fmt, text)
            if which is None:
                continue
            found.append(LineClaim(fmt.name, which))
            if fmt.lines[which].kind in detect.SETTLING and not fmt.lines[which].weak:
                self._first_texts.setdefault(fmt.name, text)
        return found

    def first_text(self, name: str) -> str:
        """The first line that only this trainer writes; empty without one."""
        return self._first_texts.get(name, "")

    def format(self, name: str) -> Format:
        """The format of that name, the user's own first."""
        return self._taught.get(name) or detect.load(name)

    def _is_step(self, one: LineClaim) -> bool:
        return self.format(one.name).lines[one.which].kind == "step"

    def claimed(self) -> dict[str, Claimed]:
        """What each format claims; formats that claim nothing are left out."""
        found: dict[str, Claimed] = {}
        for one, num in self._num.items():
            line = self.format(one.name).lines[one.which]
            so_far = found.get(one.name, Claimed(0, 0, 0, 0))
            is_step = line.kind == "step"
            is_evaluation = line.kind == "evaluation" and not line.weak
            found[one.name] = Claimed(
                so_far.steps + num * is_step,
                so_far.weak + num * (is_step and line.weak),
                so_far.evaluations + num * is_evaluation,
                so_far.num_kinds + 1,
            )
        return found

    def most_unclaimed(self, fmt: Format) -> int:
        """How many lines with numbers have the commonest shape that no format takes for a step, and `fmt` for nothing.

        What a format knows as chatter is understood, however often it comes.
        """
        for shape, num in self._nobodys.most_common(_MOST_ASKED):
            example = self._examples.get(shape)
            if example is None or claim(fmt, example).which is None:
                return num
        return 0
