"""The folder that may be read, if one is set: a log, and each file next to it, is opened with `open_file`.

`stepscope mcp` answers for the files below its root. A link below the root may lead out of it, and a log's folder is
searched for more files than the one that was asked for, so the check is made at every opening.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

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
    root = _root.get()
    return root is None or path.resolve().is_relative_to(root)


def open_file(path: Path, opener: Callable[[str, int], int] | None = None) -> BinaryIO:
    """Open a file for reading its bytes; `PermissionError` when it lies outside the folder that may be read."""
    if not is_readable(path):
        raise PermissionError(errno.EACCES, "outside the folder that may be read", str(path))
    return path.open("rb") if opener is None else open(path, "rb", opener=opener)
