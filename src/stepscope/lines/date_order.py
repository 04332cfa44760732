"""Whether a file writes the day or the month first, by the days that follow each other."""

from __future__ import annotations

from stepscope.lines.moment_forms import DAY_NS

# Neighbouring lines of one run are rarely further apart; a wrong reading is off by a month.
_NEAR_NS = 2 * DAY_NS


class DateOrder:
    """Places moments whose date can be read in two ways.

    The usual reading counts until a line is next to the one before it only by the other reading. The lines before keep
    their places, a constant away from the truth: `shift_ns` is that constant.
    """

    def __init__(self) -> None:
        self.is_swapped = False
        self.shift_ns = 0
        self._last: tuple[int, int] | None = None  # the usual and the other reading

    def place(self, t_ns: int, other_ns: int | None) -> int:
        """The moment of the next line, given both readings; `other_ns` is None where there is but one."""
        now = (t_ns, t_ns if other_ns is None else other_ns)
        if self._last is not None and (self._last[0] != self._last[1] or now[0] != now[1]):
            self._follow(self._last, now)
        self._last = now
        return now[self.is_swapped] + self.shift_ns

    def offset_ns(self, t_ns: int, other_ns: int | None) -> int:
        """What `place` adds to a moment of the same day as the last one."""
        return (other_ns - t_ns if self.is_swapped and other_ns is not None else 0) + self.shift_ns

    def _follow(self, last: tuple[int, int], now: tuple[int, int]) -> None:
        """Keep to the reading by which a line is next to the one before it; the present one comes first.

        Of `12/09/24` and `13/09/24` the usual readings differ: only the second shows that the day comes first.
        """
        own, other = (1, 0) if self.is_swapped else (0, 1)
        for before, after in ((own, own), (other, other), (other, own), (own, other)):
            if abs(now[after] - last[before]) <= _NEAR_NS:
                self.shift_ns += last[own] - last[before]
                self.is_swapped = after == 1
                return
