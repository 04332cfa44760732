"""The logs below one folder: found, read, remembered until they change. Nothing outside the folder is ever opened."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from stepscope.analysis.explain import explain
from stepscope.analysis.report import Report
from stepscope.core import clock
from stepscope.core.boundary import confined_to, is_readable
from stepscope.core.errors import InputError, StepscopeError
from stepscope.reading.log_reader import LogReader
from stepscope.reading.reader import read
from stepscope.source.files import resolve

_MOST_RUNS = 100
_MOST_REMEMBERED = 64
# The list must appear quickly: larger files are opened only on request.
_LISTED_BYTES = 32 << 20
# An archive of a few megabytes may hold terabytes: reading stops here.
MOST_EXPANDED_BYTES = 1 << 30


class ListedRun(NamedTuple):
    """A log in the folder. `report` is None for a file too large to read for a list."""

    name: str  # below the folder, as the file system has it: any characters, and bytes that are none
    size: int
    mtime: float
    report: Report | None

    @property
    def key(self) -> str:
        """The log's key in addresses and forms: its name, or a code for it where a browser would change it.

        A name below the folder never starts with a slash, so a code is never taken for a name.
        """
        return self.name if self.name.isprintable() else "/" + quote(self.name, errors="surrogateescape")


class _TooLargeError(InputError):
    """A file expands to more bytes than may be read."""


def _limit(path: Path, most_bytes: int) -> Callable[[int], None]:
    """A check that raises once a file has expanded to more than `most_bytes`, or its own size if that is larger."""
    most_bytes = max(most_bytes, path.stat().st_size)

    def check(num_bytes: int) -> None:
        if num_bytes > most_bytes:
            raise _TooLargeError("too-large-inside", place=path.name, size=f"{most_bytes >> 20} MiB")

    return check


class RunFolder:
    """Logs below a folder, or the one log it is given."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._home = self._root if self._root.is_dir() else self._root.parent
        self._remembered: OrderedDict[tuple[str, int, float], Report | None] = OrderedDict()
        self._lock = threading.Lock()

    def entries(self) -> list[ListedRun]:
        """The logs in the folder, newest first; other files are left out."""
        found = [entry for path in self._files() if (entry := self._entry(path)) is not None]
        return sorted(found, key=lambda entry: -entry.mtime)

    def _entry(self, path: Path) -> ListedRun | None:
        name = str(path.relative_to(self._root)) if path != self._root else path.name
        try:
            status = path.stat()
            too_large = status.st_size > _LISTED_BYTES
            report = None if too_large else self._report(path, _LISTED_BYTES * 8)
        except _TooLargeError:
            too_large, report = True, None
        except OSError:
            return None  # gone since the folder was searched
        except Exception:  # one log that breaks the reader must not take all the others away
            too_large, report = True, None
        return ListedRun(name, status.st_size, status.st_mtime, report) if too_large or report is not None else None

    def _files(self) -> list[Path]:
        """The newest files of the folder that may be logs."""
        with confined_to(self._home):
            try:
                sources = resolve(str(self._root))
            except InputError:
                return []
        newest = sorted(sources, key=lambda source: -(source.mtime or 0))
        return [source.path for source in newest if source.path is not None][:_MOST_RUNS]

    def path(self, key: str) -> Path:
        """The file of a key or a name; an error when it is not there or lies elsewhere."""
        name = unquote(key[1:], errors="surrogateescape") if key.startswith("/") else key
        path = self._home / name
        with confined_to(self._home):
            # Path.is_file raises for a name that is too long.
            if is_readable(path) and os.path.isfile(path):  # noqa: PTH113
                path = path.resolve()
                if self._root in (self._home, path):
                    return path
        raise InputError("no-such-file", place=name, nearby="none")

    def open(self, key: str) -> Report:
        """The report of a log, read again when it has changed."""
        path = self.path(key)
        report = self._report(path, MOST_EXPANDED_BYTES)
        if report is None:
            self._read(path, MOST_EXPANDED_BYTES)  # to raise its error
            raise InputError("not-a-training-log", place=path.name, path=path.name)
        return report

    def name(self, key: str) -> str:
        """The name of a log below the folder, as the file system has it."""
        return str(self.path(key).relative_to(self._home))

    def _read(self, path: Path, most_bytes: int) -> Report:
        with confined_to(self._home):
            return explain(read(str(path), progress=_limit(path, most_bytes)), fallback_now=clock.now())

    def _report(self, path: Path, most_bytes: int) -> Report | None:
        status = path.stat()
        key = (str(path), status.st_size, status.st_mtime)
        with self._lock:
            if key in self._remembered:
                self._remembered.move_to_end(key)
                return self._remembered[key]
        try:
            report: Report | None = self._read(path, most_bytes)
        except _TooLargeError:
            raise  # not remembered: opening the run may read more of it than the list does
        except StepscopeError:
            report = None
        with self._lock:
            self._remembered[key] = report
            while len(self._remembered) > _MOST_REMEMBERED:
                self._remembered.popitem(last=False)
        return report


def explain_bytes(data: bytes) -> Report:
    """The report of a log that was pasted or dropped; the log is not kept."""
    reader = LogReader(paths=["pasted"])
    reader.begin_file()
    reader.feed(data)
    reader.end_file()
    return explain(reader.run(), fallback_now=clock.now())
