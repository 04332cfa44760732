"""Follow a file that grows: what came since the last look, whether it was cut or replaced, when it was last written.

By looking, not by notifications: those do not come from remote file systems. Half lines are the reader's business.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import BinaryIO, NamedTuple

from stepscope.core.boundary import open_file, open_named_pipe
from stepscope.core.errors import InputError

_CHUNK_BYTES = 1 << 20
# A file that is replaced (rotation) is away for a moment; after this it is gone.
_GONE_S = 5.0


class News(NamedTuple):
    """What one look found. `is_new_file`: the bytes begin another file. `is_over`: nothing more will come."""

    data: bytes = b""
    is_new_file: bool = False
    is_over: bool = False


class FileTail:
    """The end of a growing file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file: BinaryIO = open_file(path)
        except FileNotFoundError:
            raise InputError("no-such-file", place=str(path), nearby="none") from None
        except OSError as problem:
            raise InputError("unreadable", place=str(path), reason=problem.strerror or str(problem)) from None
        self._inode = os.fstat(self._file.fileno()).st_ino
        self._missing_since: float | None = None

    @property
    def mtime(self) -> float:
        """When the file was last written."""
        return os.fstat(self._file.fileno()).st_mtime

    def look(self) -> News:
        """The next bytes, at most a megabyte of them; none when nothing came."""
        data = self._file.read(_CHUNK_BYTES)
        if data:
            return News(data)
        if os.fstat(self._file.fileno()).st_size < self._file.tell():
            # Truncated and rewritten in place (`> train.log`): the lines already read are kept.
            self._file.seek(0)
            return News(self._file.read(_CHUNK_BYTES), is_new_file=True)
        return self._look_for_successor()

    def _look_for_successor(self) -> News:
        """Rotation: another file under the same name, once this one has been read to its end."""
        try:
            status = self._path.stat()
        except OSError:
            now = time.monotonic()
            self._missing_since = self._missing_since or now
            return News(is_over=now - self._missing_since > _GONE_S)
        self._missing_since = None
        if status.st_ino == self._inode:
            return News()
        try:
            successor = open_file(self._path)
        except OSError:
            return News()
        self._file.close()
        self._file, self._inode = successor, status.st_ino
        return News(self._file.read(_CHUNK_BYTES), is_new_file=True)

    def rewind(self) -> bool:
        """Start again at the first byte of the file that has the name now."""
        try:
            file = open_file(self._path)
        except OSError:
            return False
        self._file.close()
        self._file, self._inode = file, os.fstat(file.fileno()).st_ino
        return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class PipeTail:
    """A pipe as it comes, without ever blocking: standard input (`stepscope watch -`), or a named one."""

    def __init__(self, pipe: Path | None = None) -> None:
        self._file: BinaryIO | None = None
        if pipe is not None:
            self._file = open_named_pipe(pipe, str(pipe))
        elif sys.stdin is None:
            raise InputError("unreadable", place="-", reason="standard input is closed")
        self._number = sys.stdin.fileno() if self._file is None else self._file.fileno()
        self._last = time.time()

    @property
    def mtime(self) -> float:
        """When something last came."""
        return self._last

    def look(self) -> News:
        """The next bytes; none when nothing came."""
        import select

        if not select.select([self._number], [], [], 0)[0]:
            return News()
        data = os.read(self._number, _CHUNK_BYTES)
        if not data:
            return News(is_over=True)
        self._last = time.time()
        return News(data)

    def rewind(self) -> bool:
        """Not possible: bytes that came through a pipe are gone."""
        return False

    def close(self) -> None:
        """Close a named pipe; standard input stays open."""
        if self._file is not None:
            self._file.close()
