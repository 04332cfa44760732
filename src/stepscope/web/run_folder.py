"""The runs below one folder, found and opened. Nothing outside the folder is ever read.

What is a run is decided where it is for fleets (`reading/folder_runs.py`): the files of its ranks and parts are one. A
run is called by the first of them.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from stepscope.analysis.explain import explain
from stepscope.analysis.report import Report
from stepscope.core import clock
from stepscope.core.boundary import confined_to, is_readable
from stepscope.core.errors import InputError
from stepscope.reading.files import Head
from stepscope.reading.folder_runs import runs_of
from stepscope.reading.heads import read_heads
from stepscope.reading.log_reader import LogReader
from stepscope.reading.reader import read_sources
from stepscope.run.model import Run
from stepscope.source.candidates import Candidate, candidates
from stepscope.source.files import Source, resolve
from stepscope.source.listing import Listed, listings
from stepscope.web.facts import Facts

# An archive of a few megabytes may hold terabytes: reading stops here.
MOST_EXPANDED_BYTES = 1 << 30
# A log that was made to be slow to read holds nobody up for longer.
MOST_SECONDS = 300.0
# Reports that are open in a browser, as far as they are not too large together.
_MOST_REPORTS = 12
_MOST_ROWS = 3_000_000
_MOST_HEADS = 4096


class TooLargeError(InputError):
    """A file expands to more bytes than may be read, or takes longer."""


class RunFiles(NamedTuple):
    """A run: its files, the first of which names it, and what to read them as."""

    files: tuple[Listed, ...]
    sources: tuple[Source, ...]
    heads: tuple[Head, ...] | None = None

    @property
    def version(self) -> str:
        """What changes whenever any of its files does."""
        return "\0".join(part for file in self.files for part in (file.uri, file.version))

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(file.size for file in self.files)

    @property
    def mtime(self) -> float:
        """When the last of them was written."""
        return max(file.mtime for file in self.files)


class RunFolder:
    """Runs below a folder, or the one log it is given."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.home = self.root if self.root.is_dir() else self.root.parent
        self._reports: OrderedDict[tuple[str, Facts], Report] = OrderedDict()
        self._heads: OrderedDict[tuple[str, int | None, float | None], Head] = OrderedDict()
        self._lock = threading.Lock()

    def candidates(self, note: Callable[[str], None] = lambda _: None) -> Iterator[Candidate]:
        """The files that may be a run, a folder at a time; `note` is told of folders that cannot be read."""
        for listing in listings(str(self.root), note):
            yield from candidates(listing)

    def runs_of(self, candidate: Candidate) -> list[RunFiles]:
        """The runs of a candidate, by the beginnings of its files where there are several."""
        if str(self.root) == candidate.files[0].uri:  # the one log, which may have its own records beside it
            return [RunFiles(candidate.files, tuple(self._resolved(self.root)))]
        by_name = {file.uri: file for file in candidate.files}
        found = []
        with confined_to(self.home):
            for own in runs_of(candidate, self._look):
                files = tuple(by_name[source.name] for source in own.sources if source.name in by_name)
                found.append(RunFiles(files or candidate.files, own.sources, own.heads))
        return found

    def _look(self, sources: list[Source]) -> list[Head]:
        """The beginnings of files, of which only those are read that have changed since."""
        keys = [(source.name, source.size, source.mtime) for source in sources]
        with self._lock:
            known = {key: self._heads[key] for key in keys if key in self._heads}
        missing = [source for source, key in zip(sources, keys, strict=True) if key not in known]
        fresh = {(head.source.name, head.source.size, head.source.mtime): head for head in read_heads(missing)}
        with self._lock:
            self._heads.update(fresh)
            while len(self._heads) > _MOST_HEADS:
                self._heads.popitem(last=False)
        known |= fresh
        return [known[key] for key in keys]

    def name_of(self, run: RunFiles) -> str:
        """What a run is called below the folder: any characters, and bytes that are none."""
        path = Path(run.files[0].uri)
        if run.sources[0].is_mlflow:
            path = run.sources[0].path or path
        return str(path.relative_to(self.home)) if path != self.home else path.name

    def path(self, key: str) -> Path:
        """The file (or MLflow's folder) that a key or a name stands for; an error when it is none or lies elsewhere."""
        name = unquote(key[1:], errors="surrogateescape") if key.startswith("/") else key
        path = self.home / name
        with confined_to(self.home):
            # Path.is_file raises for a name that is too long.
            if name and is_readable(path) and (os.path.isfile(path) or os.path.isfile(path / "meta.yaml")):  # noqa: PTH113
                path = path.resolve()
                if self.root in (self.home, path):
                    return path
        raise InputError("no-such-file", place=name, nearby="none")

    def name(self, key: str) -> str:
        """The name of a run below the folder, as the file system has it."""
        return str(self.path(key).relative_to(self.home))

    def find(self, key: str) -> RunFiles:
        """The run that a key stands for: all its files, where it has several."""
        path = self.path(key)
        for candidate in self.candidates():
            if candidate.folder == str(path) or any(file.uri == str(path) for file in candidate.files):
                for run in self.runs_of(candidate):
                    if run.sources[0].is_mlflow or any(file.uri == str(path) for file in run.files):
                        return run
        status = path.stat()
        listed = Listed(str(path), status.st_size, status.st_mtime, f"{status.st_size}-{status.st_mtime_ns}")
        return RunFiles((listed,), tuple(self._resolved(path)))

    def _resolved(self, path: Path) -> list[Source]:
        with confined_to(self.home):
            return resolve(str(path))

    def open(self, key: str, facts: Facts | None = None) -> Report:
        """The report of a run, read again when it has changed."""
        facts = facts or Facts()
        run = self.find(key)
        known = (run.version, facts)
        with self._lock:
            if known in self._reports:
                self._reports.move_to_end(known)
                return self._reports[known]
        report = self.read(run, facts)
        with self._lock:
            self._reports[known] = report
            while len(self._reports) > 1 and self._is_too_much():
                self._reports.popitem(last=False)
        return report

    def _is_too_much(self) -> bool:
        rows = sum(len(report.run) for report in self._reports.values())
        return len(self._reports) > _MOST_REPORTS or rows > _MOST_ROWS

    def read(self, run: RunFiles, facts: Facts) -> Report:
        """The report of a run, from its files."""
        limit = _limit(run, MOST_EXPANDED_BYTES)
        with confined_to(self.home):
            return _explained(read_sources(list(run.sources), heads=run.heads, progress=limit), facts)


def key_of(name: str) -> str:
    """What stands for a run in addresses and forms: its name, or a code for it where a browser would change it.

    A name below the folder never starts with a slash, so a code is never taken for a name.
    """
    return name if name.isprintable() else "/" + quote(name, errors="surrogateescape")


def explain_bytes(data: bytes, facts: Facts | None = None) -> Report:
    """The report of a log that was pasted or dropped; the log is not kept."""
    reader = LogReader(paths=["pasted"])
    reader.begin_file()
    reader.feed(data)
    reader.end_file()
    return _explained(reader.run(), facts or Facts())


def _explained(run: Run, facts: Facts) -> Report:
    return explain(run, flags=facts.settings(), gpu=facts.gpu or None, fallback_now=clock.now())


def _limit(run: RunFiles, most_bytes: int) -> Callable[[int], None]:
    """A check that raises once a file has expanded to more than `most_bytes` (or its size), or takes too long."""
    most_bytes = max(most_bytes, run.size)
    ends = time.monotonic() + MOST_SECONDS

    def check(num_bytes: int) -> None:
        if num_bytes > most_bytes or time.monotonic() > ends:
            name = Path(run.files[0].uri).name
            raise TooLargeError("too-large-inside", place=name, size=f"{most_bytes >> 20} MiB")

    return check
