"""What `stepscope run` shows on a terminal: a screen about the run, or the command's own output where it asks for keys.

A program that asks something prints the beginning of a line and waits. Then the screen gives way to the output itself,
so that a prompt, a debugger and what is typed look as without us; it comes back when the lines go on.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepscope.cli._live import ScreenShow
    from stepscope.live.keyboard import Keyboard
    from stepscope.live.output import PrintedOutput
    from stepscope.live.streams import Ways
    from stepscope.live.watch import View, Watch

# The beginning of a line that stays this long is a prompt.
_PROMPT_S = 0.5
# The screen comes back this long after the last key, if whole lines come again.
_RETURN_S = 3.0
_KEPT_BYTES = 4096
_KEPT_LINES = 20
_PAUSE_S = 0.02
_CODES = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")


class PassThrough:
    """The command's output on its way to ours. `is_shown` False: it is only remembered."""

    def __init__(self, printed: PrintedOutput, ways: Ways, *, is_shown: bool = True) -> None:
        self._printed, self._ways = printed, ways
        self._closed: set[int] = set()
        self._recent = b""
        self._last = time.monotonic()
        self.is_shown = is_shown

    def look(self) -> bool:
        """Pass on what has come; whether anything had."""
        has_come = False
        while piece := self._printed.read():
            has_come = True
            number = self._ways.shown_on(piece.source)
            self._recent = (self._recent + piece.data)[-_KEPT_BYTES:]
            if self.is_shown:
                self._write(number, piece.data)
        if has_come:
            self._last = time.monotonic()
        return has_come

    def show_recent(self) -> None:
        """Show the last lines again, with the one that has only begun."""
        self.is_shown = True
        self._write(1, b"".join(self._recent.splitlines(keepends=True)[-_KEPT_LINES:]))

    @property
    def has_begun_line(self) -> bool:
        """Whether the output ends within a line. A bar begins with a return, and is a line of its own."""
        line = self._recent[self._recent.rfind(b"\n") + 1 :]
        return b"\r" not in line and bool(_CODES.sub(b"", line).strip())

    @property
    def has_prompt(self) -> bool:
        """Whether it has ended within a line for a while."""
        return self.has_begun_line and time.monotonic() - self._last > _PROMPT_S

    def to_end(self, is_alive: Callable[[], bool], meanwhile: Callable[[], object]) -> None:
        """Pass everything on until the command has ended."""
        while True:
            going = is_alive()
            self.look()
            meanwhile()
            if not going:
                return
            time.sleep(_PAUSE_S)

    def _write(self, number: int, data: bytes) -> None:
        """Write to one of our own streams; one that nobody reads any more is left alone, the command goes on."""
        if number in self._closed:
            return
        try:
            while data:
                data = data[os.write(number, data) :]
        except OSError:
            self._closed.add(number)


def follow(watch: Watch, show: Callable[[View], None]) -> None:
    """Show the views of a run until its source is closed."""
    while not watch.is_over:
        show_next(watch, show)
        time.sleep(0.05)


def show_next(watch: Watch, show: Callable[[View], None]) -> None:
    """Show the next view, if one is due."""
    view = watch.step()
    if view is not None:
        show(view)


def follow_on_screen(
    watch: Watch,
    screen: ScreenShow,
    passing: PassThrough,
    keyboard: Keyboard,
    completed: Callable[[View], View],
) -> None:
    """Show a screen until the run has ended, and the command's own output while it asks for something."""
    passing.is_shown = False

    def stop() -> None:
        if not passing.is_shown:
            screen.pause()

    def go_on() -> None:
        if not passing.is_shown:
            screen.resume()

    keyboard.on_stop, keyboard.on_return = stop, go_on
    while not watch.is_over:
        keyboard.look()
        passing.look()
        if not passing.is_shown and keyboard.reads and passing.has_prompt:
            screen.pause()
            passing.show_recent()
        elif passing.is_shown and not passing.has_begun_line and time.monotonic() - keyboard.last_key > _RETURN_S:
            passing.is_shown = False
            screen.resume()
        view = watch.step()
        if view is not None:
            screen.show(completed(view), is_drawn=not passing.is_shown)
        time.sleep(_PAUSE_S)
