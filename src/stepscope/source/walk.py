"""The files below a folder, each once, however links lead around in it, and never very many.

Links are followed last: a file or folder that is also there by itself is not found a second time through them. A link
to a folder that holds this one (`/` holds them all) is not followed, nor one out of the folder that may be read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from stepscope.core.boundary import is_readable

_DEPTH = 3
# Names looked at in all: a folder of data is not searched to its end.
_MOST_NAMES = 200_000


class FoundFile(NamedTuple):
    """A file, how many folders down it is, and its status."""

    path: Path
    depth: int
    status: os.stat_result


def files_below(folder: Path) -> Iterator[FoundFile]:
    """The files in a folder and in the folders of it, three levels in all, the upper ones first."""
    walk = _Walk(folder)
    level = [(folder, 0)]
    while level or walk.links:
        if not level:
            yield from walk.follow(level)
            continue
        below: list[tuple[Path, int]] = []
        for parent, depth in level:
            yield from walk.look_into(parent, depth, below)
        level = below


class _Walk:
    def __init__(self, folder: Path) -> None:
        self.links: list[tuple[Path, int]] = []
        real = folder.resolve()
        self._seen = {_identity(above.stat()) for above in (real, *real.parents)}
        self._num_left = _MOST_NAMES

    def look_into(self, folder: Path, depth: int, below: list[tuple[Path, int]]) -> Iterator[FoundFile]:
        """The files of one folder; its folders are added to `below`, its links are kept for later."""
        try:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in islice(entries, self._num_left))
        except OSError:
            return  # gone, or not ours to read
        self._num_left -= len(names)
        for path in (folder / name for name in names):
            if path.is_symlink():
                self.links.append((path, depth))
            else:
                yield from self._take(path, depth, below)

    def follow(self, below: list[tuple[Path, int]]) -> Iterator[FoundFile]:
        """The next link's file; its folder is added to `below`."""
        path, depth = self.links.pop(0)
        if is_readable(path):
            yield from self._take(path, depth, below)

    def _take(self, path: Path, depth: int, below: list[tuple[Path, int]]) -> Iterator[FoundFile]:
        with suppress(OSError):  # gone, or a link to nothing
            status = path.stat()
            if _identity(status) in self._seen:
                return
            if stat.S_ISREG(status.st_mode):
                self._seen.add(_identity(status))
                yield FoundFile(path, depth, status)
            elif stat.S_ISDIR(status.st_mode) and depth + 1 < _DEPTH:
                self._seen.add(_identity(status))
                below.append((path, depth + 1))


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
