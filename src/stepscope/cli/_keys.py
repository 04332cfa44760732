"""Keys on the screen of `watch` and `attach`. Those of `run` are the command's own.

The view waits between two looks at the log; the keys are read in that wait, so that nothing else has to know of them.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.core.clock import SystemClock

if TYPE_CHECKING:
    from stepscope.cli._live import PlainShow, ScreenShow

_QUIT, _PAUSE, _HELP = b"q", (b"p", b" "), (b"?", b"h")
_WIDER, _NARROWER = (b"+", b"="), (b"-", b"_")
_PANELS = {b"l": "has_log", b"c": "has_charts", b"a": "has_advice"}


class KeyClock(SystemClock):
    """The machine's clock; while it waits, keys are read and done."""

    def __init__(self) -> None:
        self._screen: ScreenShow | None = None

    def sleep(self, seconds: float) -> None:
        """Wait, and do what is asked for meanwhile."""
        if self._screen is None:
            super().sleep(seconds)
            return
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([sys.stdin.fileno()], [], [], left)[0]:
                key = os.read(sys.stdin.fileno(), 1)
                if not key:  # the terminal went away
                    self._screen = None
                    return
                self._do(key, self._screen)

    def _do(self, key: bytes, screen: ScreenShow) -> None:
        if key == _QUIT:
            raise KeyboardInterrupt
        if key in _PAUSE:
            screen.is_held = not screen.is_held
        elif key in _PANELS:
            name = _PANELS[key]
            screen.panels = screen.panels._replace(**{name: not getattr(screen.panels, name)})
        elif key in _WIDER:
            screen.widen()
        elif key in _NARROWER:
            screen.panels = screen.panels.narrower()
        elif key in _HELP:
            screen.has_help = not screen.has_help
        else:
            return
        screen.redraw()

    @contextlib.contextmanager
    def reading(self, show: PlainShow | ScreenShow) -> Iterator[None]:
        """Read keys while a screen is shown, where there is somebody to press them."""
        from stepscope.cli._live import ScreenShow

        if not isinstance(show, ScreenShow) or sys.stdin is None or not sys.stdin.isatty():
            yield
            return
        try:
            import termios
            import tty
        except ImportError:  # Windows has no such terminals
            yield
            return
        number = sys.stdin.fileno()
        before = termios.tcgetattr(number)
        tty.setcbreak(number)
        self._screen, show.has_keys = show, True
        try:
            yield
        finally:
            self._screen = None
            termios.tcsetattr(number, termios.TCSADRAIN, before)
