"""Which of a log's progress bars is the training's, where bars of other things are drawn between them."""

from __future__ import annotations


class Bars:
    """The total that the training's bar counts up to, and the bar that was drawn last."""

    def __init__(self) -> None:
        self.total: int | None = None  # of the training's bar
        self.is_stated = False  # a line said so
        self.last: int | None = None
        self.has_loss = False  # a line with the loss confirmed the present segment

    def begin(self) -> None:
        """A process starts: its bars are not known yet."""
        self.total, self.is_stated = None, False

    def state(self, total: int | None) -> None:
        """A line states the total."""
        self.total, self.is_stated = total, True

    def draw(self, total: int | None) -> bool:
        """A bar was drawn; whether it is another one than the training's. The first is taken to be it."""
        self.last = total
        if self.total is None:
            self.total = total
        return self.last != self.total

    def draw_own(self) -> None:
        """The training's bar was drawn."""
        self.last = self.total

    @property
    def is_on_own(self) -> bool:
        """Whether the bar drawn last is the training's, as far as is known."""
        return self.last is None or self.last == self.total

    def take_last(self) -> None:
        """The bar drawn last turns out to be the training's."""
        self.total = self.last
