"""Writing a file that somebody named: whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from stepscope.core.errors import InputError

# Names of open files: what is written there goes to whatever is open, also where that is a regular file.
_OPEN_FILES = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")


def write_file(place: str | Path, answer: str | bytes) -> None:
    """Write `answer` to a file; when that fails, the file that was there is still there, and nothing else is.

    A pipe or a device is written to directly. A link is followed. The permissions of an existing file are kept.
    """
    data = answer if isinstance(answer, bytes) else answer.encode("utf-8")
    try:
        if _is_stream(place):
            _write_directly(Path(place), data)
        else:
            _replace(Path(os.path.realpath(place)), data)
    except OSError as problem:
        raise InputError("cannot-write", place=str(place), reason=problem.strerror or str(problem)) from None


def make_folder(folder: Path) -> None:
    """Make a folder for files, unless it is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError("cannot-write", place=str(folder), reason=problem.strerror or str(problem)) from None


def _is_stream(place: str | Path) -> bool:
    """Whether a place is written to as it is: a pipe, a device, standard output under one of its names."""
    if str(place).startswith(_OPEN_FILES):
        return True
    try:
        mode = Path(place).stat().st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _write_directly(path: Path, data: bytes) -> None:
    # Appended, so that `-o /dev/stdout >> notes.md` keeps the notes. Pipes and devices have no end to append to.
    number = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOCTTY", 0))
    with os.fdopen(number, "wb") as stream:
        stream.write(data)


def _replace(path: Path, data: bytes) -> None:
    """Write to a file next to it, then give that its name."""
    import tempfile

    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    before = path.stat() if path.exists() else None
    if before is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    number, aside = tempfile.mkstemp(prefix=".stepscope-", dir=path.parent)
    try:
        with os.fdopen(number, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if before is not None:
            with contextlib.suppress(OSError):  # a file of somebody else's that we may write becomes ours
                os.chown(aside, before.st_uid, before.st_gid)
        Path(aside).chmod(stat.S_IMODE(before.st_mode) if before is not None else 0o666 & ~_umask())
        Path(aside).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(aside).unlink()
        raise


def _umask() -> int:
    """The bits that new files do not get; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
