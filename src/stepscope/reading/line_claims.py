"""Which line of the format a line of the log is, and what has been claimed of late."""

from __future__ import annotations

import re

from stepscope.lines.format import Format
from stepscope.lines.match import Claim, behind_bar, claim

_MAX_CLAIMS = 64


class LineClaims:
    """Asks a format for lines, the kind that came last first, and remembers those that are printed again and again."""

    def __init__(self, fmt: Format) -> None:
        self.format = fmt
        self.last_kind = 0  # the line of the format that was matched last
        self._prefix_shape: re.Pattern[str] | None = None
        self._claims: dict[str, Claim] = {}  # of the last lines: some are printed again and again

    def expect_prefix(self, shape: re.Pattern[str] | None) -> None:
        """Take lines that begin like this for the trainer's own behind a prefix of a kind we do not know."""
        self._prefix_shape = shape
        self._claims.clear()

    @property
    def has_own_prefix(self) -> bool:
        """Whether lines are expected behind a prefix of a kind we do not know."""
        return self._prefix_shape is not None

    def claim(self, text: str) -> Claim:
        """Which line of the format a stripped line is."""
        known = self._claims.get(text)
        if known is None:
            known = self._find_claim(text)
            if known.prefix is None:
                if len(self._claims) >= _MAX_CLAIMS:
                    self._claims.clear()
                self._claims[text] = known
        return known

    def _find_claim(self, text: str) -> Claim:
        found = claim(self.format, text, self.last_kind)
        if found.which is None and self._prefix_shape is not None:
            known = self._prefix_shape.match(found.text)
            if known is not None and known.end() < len(found.text):
                found = claim(self.format, found.text[known.end() :], self.last_kind)._replace(prefix=found.prefix)
        is_inside = found.match is not None and (found.match.start() > 0 or found.text != text)
        if is_inside and found.prefix is None and behind_bar(text) is not None:
            return Claim(None, None, None, text)  # the bar is taken off first: a timestamp may come behind it
        return found
