"""A program's own source, printed at the top of its log: passed over, so that no line in it is taken for the log's.

Speed-run trainers print themselves first, then a rule of `====`. What looks like code but is not followed by such a
rule (an echoed config) is read as any other line.
"""

from __future__ import annotations

import ast
import re

_BEGIN = re.compile(
    r"(?:import (?:os|sys|time|math|torch|uuid|glob)\b|from __future__ import|from \w[\w.]* import |#!/)"
)
_RULE = re.compile(r"={20,}\s*$")
_TRIPLE = re.compile(r'"""|\'\'\'')
_MAX_HEAD_LINES = 50
_MAX_LINES = 20_000


class PrintedSource:
    """Takes lines, gives back those to read; a listing comes back as as many empty lines, so that numbers stay true."""

    def __init__(self) -> None:
        self._num_seen = 0
        self._held: list[str] | None = None
        self._is_over = False
        self._quote = ""
        self._depth = 0
        self.program: list[str] = []  # the source, once it is known to be one

    @property
    def is_over(self) -> bool:
        """Whether the log itself has begun: nothing more to do here."""
        return self._is_over

    def take(self, line: str) -> list[str]:
        """The lines to read now."""
        if self._is_over:
            return [line]
        self._num_seen += 1
        if self._held is None:
            if _BEGIN.match(line):
                self._held = []
            else:
                self._is_over = self._num_seen >= _MAX_HEAD_LINES
                return [line]
        if not self._quote and _RULE.match(line):
            hidden = [""] * len(self._held)
            self._is_over, self.program, self._held = True, self._held, None
            return [*hidden, line]
        self._held.append(line)
        if len(self._held) >= _MAX_LINES or not self._may_be_code(line):
            return self.close()
        return []

    def close(self) -> list[str]:
        """There is no listing, or none that ends: the lines held back."""
        held, self._held = self._held or [], None
        self._is_over = True
        return held

    def _may_be_code(self, line: str) -> bool:
        """Whether a line is possible in a Python file at this place."""
        was_inside = bool(self._quote) or self._depth > 0
        for mark in _TRIPLE.findall(line):
            self._quote = mark if not self._quote else ("" if mark == self._quote else self._quote)
        if was_inside or self._quote or not line.strip() or line[0] in " \t#)]}@":
            self._count(line)
            return True
        self._count(line)
        if self._depth > 0 or line.rstrip().endswith(("\\", ":")):
            return True
        try:
            ast.parse(line[:2000])
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return line.startswith(("elif ", "else", "except", "finally"))
        return True

    def _count(self, line: str) -> None:
        if not self._quote:
            code = re.sub(r"\"[^\"]*\"|'[^']*'|#.*", "", line[:2000])
            self._depth = max(0, self._depth + sum(code.count(char) for char in "([{") - sum(map(code.count, ")]}")))
