"""Named pipes, such as `<(grep …)` gives: read once from the beginning to the end. Devices are not read."""

from __future__ import annotations

import os
import select
import stat
from pathlib import Path
from typing import BinaryIO

from stepscope.core.boundary import open_file
from stepscope.core.errors import InputError

# A pipe that nobody has opened for writing by then is one that somebody left behind.
_WRITER_WAIT_S = 10.0
_STDIN = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})


def means_stdin(argument: str) -> bool:
    """Whether an argument is one of the names of standard input."""
    return argument in _STDIN


def is_pipe(mode: int, place: str) -> bool:
    """Whether a file of this mode is a pipe; an error when it is a device or a socket, which may never end."""
    is_device = stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISSOCK(mode)
    if is_device and place != os.devnull:
        raise InputError("unreadable", place=place, reason="it is a device or a socket, not a file")
    return stat.S_ISFIFO(mode)


def open_pipe(path: Path, place: str) -> BinaryIO:
    """A pipe opened for reading; an error when nobody writes to it within ten seconds."""
    # Opening a pipe without a writer waits for ever, unless it is opened like this.
    stream = open_file(path, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))
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


def _has_writer(stream: BinaryIO) -> bool:
    """Whether a pipe without anything to read is open for writing: then reading would wait."""
    try:
        os.read(stream.fileno(), 1)
    except BlockingIOError:
        return True
    return False
