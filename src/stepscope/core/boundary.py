"""The folder that may be read, if one is set: the only place that decides it.

`stepscope mcp` and `stepscope serve` answer for the files below one folder. A link below it may lead out of it, and
more files are read than the one that was asked for (those next to a log, previous runs, settings), so the check is made
at every opening: whatever a stranger's request can reach is opened with `open_file`.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from stepscope.core.opening import open_pipe, open_regular, read_named

_root: ContextVar[Path | None] = ContextVar("root", default=None)


@contextmanager
def confined_to(root: Path) -> Iterator[None]:
    """Within this block, in this thread, only files that resolve below `root` (a resolved path) are opened."""
    token = _root.set(root)
    try:
        yield
    finally:
        _root.reset(token)


def is_readable(path: Path) -> bool:
    """Whether a path may be read: it resolves below the folder, links followed, or there is no such folder."""
    return _permitted(path) is not None


def open_file(path: Path) -> BufferedReader:
    """Open a regular file for reading its bytes; `PermissionError` when it lies outside the folder that may be read."""
    return open_regular(_checked(path))


def open_named_pipe(path: Path, place: str) -> BinaryIO:
    """Open a pipe for reading, under the same condition."""
    return open_pipe(_checked(path), place)


def read_file(path: Path, most_bytes: int, *, only_end: bool = False) -> bytes | None:
    """The bytes of a file or a pipe that somebody named, under the same condition: see `read_named`."""
    return read_named(_checked(path), most_bytes, only_end=only_end)


def _checked(path: Path) -> Path:
    # What was checked is what is opened: a link that is changed in between leads nowhere else.
    permitted = _permitted(path)
    if permitted is None:
        raise PermissionError(errno.EACCES, "outside the folder that may be read", str(path))
    return permitted


def _permitted(path: Path) -> Path | None:
    """The path to open; None for one that may not be read, or that no file can have."""
    root = _root.get()
    if root is None:
        return path
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError):  # too long, links in a circle, a NUL or half a character
        return None
    return real if real.is_relative_to(root) else None
