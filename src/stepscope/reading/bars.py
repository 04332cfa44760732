"""Which of a log's progress bars is the training's, where bars of other things are drawn between them."""

from __future__ import annotations


class Bars:
    """The total that the training's bar counts up to, and the bar that was drawn last."""

    def __init__(self) -> None:
        self.total: int | None = None  # of the training's bar
        self.is_stated = False  # a line said so
        self.last: int | None = None
        self.has_loss = False  # a line with the loss confirmed the present segment
        self._disowned: set[int | None] = set()  # totals of bars that turned out to be those of evaluations

    def begin(self) -> None:
        """A process starts: its bars are not known yet."""
        self.total, self.is_stated = None, False

    def state(self, total: int | None) -> None:
        """A line states the total."""
        self.total, self.is_stated = total, True

    def draw(self, total: int | None) -> bool:
        """A bar was drawn; whether it is another one than the training's. The first is taken to be it."""
        self.last = total
        if self.total is None and total not in self._disowned:
            self.total = total
        return self.last != self.total

    @property
    def is_assumed(self) -> bool:
        """Whether nothing but its coming first says that the bar is the training's."""
        return self.total is not None and not self.is_stated and not self.has_loss

    def disown(self) -> None:
        """The bar taken for the training's is an evaluation's: the result of one came right behind it."""
        self._disowned.add(self.total)
        self.total = None

    def draw_own(self) -> None:
        """The training's bar was drawn."""
        self.last = self.total

    @property
    def is_on_own(self) -> bool:
        """Whether the bar drawn last is the training's, as far as is known."""
        return self.last is None or self.last == self.total

    @property
    def is_on_disowned(self) -> bool:
        """Whether the bar drawn last is known to be an evaluation's."""
        return self.total is not None and self.last in self._disowned

    def take_last(self) -> None:
        """The bar drawn last turns out to be the training's."""
        self.total = self.last
