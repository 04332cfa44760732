"""How many steps a training has, where its lines only say which share of it is done: `step 120 (16.3%)`."""

from __future__ import annotations

# Shares are printed to a hundredth or a tenth of a percent: over one percent the rate is known to a few percent.
_LEAST_PERCENT = 1.0
_ALL = 100.0
# One share of two decimals leaves a total open by this; among those the roundest was meant, if they are this near.
_HALF_A_DIGIT, _SURE = 0.005, 0.005


class Shares:
    """The first and the last share that the lines of a training state."""

    def __init__(self) -> None:
        self._first: tuple[int, float] | None = None
        self._last: tuple[int, float] | None = None

    def forget(self) -> None:
        """Another training begins."""
        self._first = self._last = None

    def note(self, step: int, percent: float) -> None:
        """A step's line states its share, in percent."""
        if not 0.0 <= percent <= _ALL:
            return
        if self._last is None or step <= self._last[0] or percent < self._last[1]:
            self._first = (step, percent)  # another training began
        self._last = (step, percent)

    @property
    def last_step(self) -> int | None:
        """The step at which all is done, at the rate so far; None while that is not known."""
        if self._first is None or self._last is None:
            return None
        (first, begun), (last, done) = self._first, self._last
        if done >= _ALL:
            return last
        if last == first:
            return _roundest(last, done)
        if done - begun < _LEAST_PERCENT:
            return None
        return last + max(1, round((_ALL - done) * (last - first) / (done - begun)))


def _roundest(step: int, percent: float) -> int | None:
    """The roundest total that `step` is this share of: `8380 (27.93%)` is of 30,000. None where many would do."""
    if percent <= _HALF_A_DIGIT:
        return None
    low, high = (step / (percent + off) * _ALL for off in (_HALF_A_DIGIT, -_HALF_A_DIGIT))
    if high > (1 + _SURE) * low:
        return None
    power = 10 ** len(str(step))
    while power > 1 and -(-low // power) * power > high:
        power //= 10
    total = round(-(-low // power) * power)
    return total if step <= total <= high else None
