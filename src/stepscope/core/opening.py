"""Opening files for reading: which kinds of file are read at all, and how much of them.

A file found next to a log may be a pipe that nobody writes to or a device without an end: only regular files are
opened. A file that somebody named may also be a pipe (`--config <(…)`), and is read up to a limit.
"""

from __future__ import annotations

import errno
import os
import select
import stat
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from stepscope.core.errors import InputError

# A pipe that nobody has opened for writing by then is one that somebody left behind.
_WRITER_WAIT_S = 10.0
# Opening a pipe waits for a writer, and opening a terminal may make it ours, unless opened like this.
_CAREFUL = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_CHUNK_BYTES = 1 << 20


def is_pipe(mode: int, place: str) -> bool:
    """Whether a file of this mode is a pipe; an error when it is a device or a socket, which may never end."""
    is_device = stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISSOCK(mode)
    if is_device and place != os.devnull:
        raise InputError("unreadable", place=place, reason="it is a device or a socket, not a file")
    return stat.S_ISFIFO(mode)


def open_regular(path: Path) -> BufferedReader:
    """A regular file opened for reading; `OSError` for everything else, without ever waiting for it."""
    # Some devices do something when they are opened, so look first.
    if stat.S_ISREG(path.stat().st_mode) or str(path) == os.devnull:
        stream = _open(path)
        if stat.S_ISREG(os.fstat(stream.fileno()).st_mode) or str(path) == os.devnull:
            return stream
        stream.close()  # exchanged in between
    raise OSError(errno.EINVAL, "not a regular file", str(path))


def open_pipe(path: Path, place: str) -> BinaryIO:
    """A pipe opened for reading; an error when nobody writes to it within ten seconds."""
    stream = _open(path)
    try:
        waiting = select.poll()
        waiting.register(stream.fileno(), select.POLLIN | select.POLLHUP)
        if not waiting.poll(_WRITER_WAIT_S * 1000) and not _has_writer(stream):
            raise InputError("unreadable", place=place, reason="nobody writes to this pipe")
        os.set_blocking(stream.fileno(), True)
    except BaseException:
        stream.close()
        raise
    return stream


def read_named(path: Path, most_bytes: int, *, only_end: bool = False) -> bytes | None:
    """The bytes of a file or a pipe that somebody named; None when there are more than `most_bytes` of them.

    With `only_end`, the last `most_bytes` of a longer file count; a pipe has no end that could be read alone.
    """
    place = str(path)
    status = path.stat()
    comes_by_pipe = is_pipe(status.st_mode, place)
    stream = open_pipe(path, place) if comes_by_pipe else open_regular(path)
    data = bytearray()
    with stream:
        if only_end and not comes_by_pipe:
            stream.seek(max(0, status.st_size - most_bytes))
            return stream.read(most_bytes)
        while chunk := stream.read(min(_CHUNK_BYTES, most_bytes + 1 - len(data))):
            data += chunk
            if len(data) > most_bytes:
                return None
    return bytes(data)


def _open(path: Path) -> BufferedReader:
    return open(path, "rb", opener=lambda name, flags: os.open(name, flags | _CAREFUL))


def _has_writer(stream: BinaryIO) -> bool:
    """Whether a pipe without anything to read is open for writing: then reading would wait."""
    try:
        os.read(stream.fileno(), 1)
    except BlockingIOError:
        return True
    return False
