"""How far reading a large log got, on a terminal."""

from __future__ import annotations

import stat
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from stepscope.core.redact import redact


class Progress:
    """Says on a terminal how far reading got, once it takes more than a second."""

    def __init__(self, paths: Sequence[str], now: Callable[[], float] = time.monotonic) -> None:
        self._path, self._now = paths[0], now
        self._start = self._last = now()
        self._is_shown = False
        sizes = [_size(path) for path in paths]
        self._total = sum(sizes) if all(sizes) else 0  # 0 where nobody knows: a pipe, a folder

    def __call__(self, num_bytes: int) -> None:
        now = self._now()
        if now - self._start < 1 or now - self._last < 0.2 or not sys.stderr.isatty():
            return
        self._last, self._is_shown = now, True
        share = ""
        if num_bytes <= self._total:  # an archive gives more bytes than its file has
            share = f" / {self._total / 1e6:.0f} MB ({100 * num_bytes / self._total:.0f} %)"
        text = f"{redact(self._path)}: {num_bytes / 1e6:.0f} MB{share}"
        print(f"\r{text}", end="\x1b[K", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the line away again."""
        if self._is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _size(path: str) -> int:
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return 0  # what is wrong with it is said by who reads it
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
