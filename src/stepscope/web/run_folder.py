"""The logs below one folder: found, read, remembered until they change. Nothing outside the folder is ever opened."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from stepscope.analysis.explain import explain
from stepscope.analysis.report import Report
from stepscope.core import clock
from stepscope.core.errors import InputError, StepscopeError
from stepscope.reading.log_reader import LogReader
from stepscope.reading.reader import read
from stepscope.source.boundary import confined_to
from stepscope.source.files import resolve

_MOST_RUNS = 100
_MOST_REMEMBERED = 64
# The list must appear quickly: larger files are opened only on request.
_LISTED_BYTES = 32 << 20
# An archive of a few megabytes may hold terabytes: reading stops here.
MOST_EXPANDED_BYTES = 1 << 30


class ListedRun(NamedTuple):
    """A log in the folder. `report` is None for a file too large to read for a list."""

    name: str
    size: int
    mtime: float
    report: Report | None


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
        self._remembered: OrderedDict[tuple[str, int, float], Report | None] = OrderedDict()
        self._lock = threading.Lock()

    def entries(self) -> list[ListedRun]:
        """The logs in the folder, newest first; other files are left out."""
        found = []
        for path in self._files():
            status = path.stat()
            name = str(path.relative_to(self._root)) if path != self._root else path.name
            if status.st_size > _LISTED_BYTES:
                found.append(ListedRun(name, status.st_size, status.st_mtime, None))
                continue
            try:
                report = self._report(path, _LISTED_BYTES * 8)
            except _TooLargeError:
                found.append(ListedRun(name, status.st_size, status.st_mtime, None))
                continue
            if report is not None:
                found.append(ListedRun(name, status.st_size, status.st_mtime, report))
        return sorted(found, key=lambda entry: -entry.mtime)

    def _files(self) -> list[Path]:
        if self._root.is_file():
            return [self._root]
        try:
            sources = resolve(str(self._root))
        except InputError:
            return []
        paths = [source.path for source in sources if source.path is not None]
        inside = [path for path in paths if path.resolve().is_relative_to(self._root)]
        return sorted(inside, key=lambda path: -path.stat().st_mtime)[:_MOST_RUNS]

    def path(self, name: str) -> Path:
        """The file of that name below the folder; an error when it is not there or lies elsewhere."""
        if "\0" not in name:
            path = self._root if self._root.is_file() else (self._root / name).resolve()
            # A link that leads out of the folder is outside, and so is "..".
            is_ours = name == path.name if self._root.is_file() else path.is_relative_to(self._root)
            if is_ours and path.is_file():
                return path
        raise InputError("no-such-file", place=name, nearby="none")

    def open(self, name: str) -> Report:
        """The report of a log, read again when it has changed."""
        path = self.path(name)
        report = self._report(path, MOST_EXPANDED_BYTES)
        if report is None:
            read(str(path), progress=_limit(path, MOST_EXPANDED_BYTES))  # to raise its error
            raise InputError("not-a-training-log", place=name, path=name)
        return report

    def _report(self, path: Path, most_bytes: int) -> Report | None:
        status = path.stat()
        key = (str(path), status.st_size, status.st_mtime)
        with self._lock:
            if key in self._remembered:
                self._remembered.move_to_end(key)
                return self._remembered[key]
        try:
            with confined_to(self._root if self._root.is_dir() else self._root.parent):
                run = read(str(path), progress=_limit(path, most_bytes))
                report: Report | None = explain(run, fallback_now=clock.now())
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
