"""The list of runs as it grows: found, looked up or read by a thread of its own, newest first, and kept up to date.

The page that shows the list asks for what has changed since it last asked. The thread works while somebody does, and
only as often as its own cost allows: a folder that is slow to search is searched less often, a log that is slow to
read is read again less often.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from stepscope import __version__
from stepscope.core.errors import InputError, StepscopeError
from stepscope.core.redact import redact
from stepscope.i18n import Language
from stepscope.source.candidates import Candidate, number_of
from stepscope.web.facts import Facts
from stepscope.web.run_folder import RunFiles, RunFolder, TooLargeError, key_of
from stepscope.web.summary import SHAPE, Summary, from_plain, summarize
from stepscope.web.summary_store import SummaryStore

# A search of the folder, and a log that is read again, may take this share of the time.
_SHARE = 0.1
_LEAST_S = 2.0
# Without a question for so long, nobody is looking.
_IDLE_S = 15.0
# Larger ones come last; nobody waits for a row because of them.
_LARGE_BYTES = 32 << 20
# Candidates whose summaries are looked up together.
_TOGETHER = 200


class ListedRun(NamedTuple):
    """A run in the list. `summary` is None for one that could not be read, and `problem` says why."""

    key: str
    name: str  # below the folder, as the file system has it
    size: int
    mtime: float
    num_files: int
    summary: Summary | None
    problem: str | None
    version: int  # of the list, when it became so


class Progress(NamedTuple):
    """How far the reading is: files found and read, those that hold no training log, folders not readable."""

    num_found: int
    num_read: int
    num_others: int
    num_unreadable: int
    is_searched: bool


class Changes(NamedTuple):
    """What has changed in the list since a version of it."""

    version: int
    runs: list[ListedRun]
    gone: list[str]
    progress: Progress


class _Known(NamedTuple):
    """What was made of a candidate."""

    digest: int
    num_others: int  # its files that hold no training log
    keys: tuple[str, ...]
    cost_s: float
    at: float


class RunList:
    """The runs below a folder, with their summaries."""

    def __init__(self, folder: RunFolder, store: SummaryStore, language: Language) -> None:
        self._folder, self._store, self._language = folder, store, language
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._wanted = threading.Event()
        self._asked_at = 0.0
        self._thread: threading.Thread | None = None
        self._version = 0
        self._runs: dict[str, ListedRun] = {}
        self._gone: list[tuple[int, str]] = []
        self._known: dict[int, _Known] = {}
        self._waiting: dict[int, Candidate] = {}
        self._num_found = self._num_unreadable = 0
        self._is_searched = False

    def changes(self, since: int, *, wait_s: float = 0.0) -> Changes:
        """What has changed since that version of the list; 0 for all of it. Keeps the list up to date for a while.

        Where nothing is known yet, the answer may wait so long for the search of the folder.
        """
        self._asked_at = time.monotonic()
        self._wanted.set()
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="run list", daemon=True)
                self._thread.start()
            if not self._version:
                self._changed.wait_for(lambda: self._version > 0 or self._is_searched, wait_s)
            runs = [run for run in self._runs.values() if run.version > since] if self._version > since else []
            gone = [key for version, key in self._gone if version > since] if since else []
            return Changes(self._version, runs, gone, self._progress())

    def complete(self, within_s: float) -> Changes:
        """The whole list once everything is read, or as it is after a while."""
        ends = time.monotonic() + within_s
        while True:
            found = self.changes(0)
            is_done = found.progress.is_searched and found.progress.num_read == found.progress.num_found
            if is_done or time.monotonic() > ends:
                return found
            time.sleep(0.05)

    def _progress(self) -> Progress:
        others = sum(known.num_others for known in self._known.values())
        num_waiting = sum(len(one.files) for one in self._waiting.values())
        return Progress(self._num_found, self._num_found - num_waiting, others, self._num_unreadable, self._is_searched)

    # -- the thread ---------------------------------------------------------------------------------------

    def _work(self) -> None:
        next_search = 0.0
        while True:
            if time.monotonic() - self._asked_at > _IDLE_S:
                self._wanted.clear()
                self._store.close()
                self._wanted.wait()
            if time.monotonic() >= next_search:
                begun = time.monotonic()
                self._search()
                next_search = time.monotonic() + max(_LEAST_S, (time.monotonic() - begun) / _SHARE)
            if not self._take_one():
                time.sleep(0.2)

    def _search(self) -> None:
        """Find what is there, drop what is gone, put on the waiting list what has changed."""
        unreadable: list[str] = []
        found: dict[int, Candidate] = {}
        try:
            for candidate in self._folder.candidates(unreadable.append):
                found[candidate.key] = candidate
        except InputError:  # the folder itself is gone
            pass
        changed = {
            key: candidate
            for key, candidate in found.items()
            if key not in self._known or self._known[key].digest != candidate.digest
        }
        fresh = [candidate for key, candidate in changed.items() if key not in self._known]
        with self._lock:
            for key in self._known.keys() - found.keys():
                self._drop(self._known.pop(key).keys)
            self._waiting = changed
            self._num_found = sum(len(candidate.files) for candidate in found.values())
            self._num_unreadable = len(unreadable)
        fresh.sort(key=lambda one: -_mtime(one))
        for start in range(0, len(fresh), _TOGETHER):
            self._recall(fresh[start : start + _TOGETHER])
            self._tell()
        self._is_searched = True
        self._tell()

    def _tell(self) -> None:
        """Those who wait for anything at all need not wait any longer."""
        with self._lock:
            self._changed.notify_all()

    def _recall(self, fresh: list[Candidate]) -> None:
        """Take from the disk what an earlier visit, or another server, made of candidates."""
        numbers = {self._number(candidate): candidate for candidate in fresh}
        for number, text in self._store.get(numbers).items():
            candidate = numbers[number]
            try:
                runs = [self._from_plain(one) for one in json.loads(text)]
            except (ValueError, TypeError, KeyError, AttributeError):
                continue  # damaged: read again
            self._show(candidate, runs, 0.0)

    def _take_one(self) -> bool:
        """Read the candidate whose turn it is; whether there was one."""
        now = time.monotonic()
        due = [one for key, one in self._waiting.items() if key not in self._known or self._is_due(key, now)]
        if not due:
            return False
        candidate = min(due, key=lambda one: (one.size > _LARGE_BYTES, -_mtime(one)))
        begun = time.monotonic()
        runs: list[ListedRun] = []
        for run in self._read(candidate):
            runs.append(run)
            self._show_one(run)
        cost_s = time.monotonic() - begun
        # First, so that what the list calls read is kept: whoever sees that all is read may open it again at once.
        self._store.put({self._number(candidate): json.dumps([self._plain(run) for run in runs])})
        self._show(candidate, runs, cost_s)
        return True

    def _is_due(self, key: int, now: float) -> bool:
        known = self._known[key]
        return now >= known.at + known.cost_s / _SHARE

    def _read(self, candidate: Candidate) -> Iterator[ListedRun]:
        """The runs of a candidate, one by one; those whose files have not changed as they are known."""
        try:
            runs = self._folder.runs_of(candidate)
        except Exception as problem:  # one file that breaks the reader must not take all the others away
            yield self._failed(RunFiles(candidate.files, ()), problem)
            return
        for run in runs:
            found = self._read_one(run)
            if found is not None:
                yield found

    def _read_one(self, run: RunFiles) -> ListedRun | None:
        name = self._folder.name_of(run)
        known = self._runs.get(key_of(name))
        if known is not None and (known.size, known.mtime, known.num_files) == (run.size, run.mtime, len(run.files)):
            return known
        try:
            report = self._folder.read(run, Facts())
            if not len(report.run) and not report.has_times and not report.alarms:
                return None
            return _listed(run, name, summarize(report, self._language), None)
        except TooLargeError as problem:
            return self._failed(run, problem)
        except StepscopeError:
            return None  # no training log
        except Exception as problem:
            return self._failed(run, problem)

    def _failed(self, run: RunFiles, problem: Exception) -> ListedRun:
        name = self._folder.name_of(run) if run.sources else Path(run.files[0].uri).name
        is_ours = isinstance(problem, StepscopeError)
        said = self._language.text("app-unread-large" if is_ours else "app-unread", problem=type(problem).__name__)
        return _listed(run, name, None, said)

    def _show(self, candidate: Candidate, runs: list[ListedRun], cost_s: float) -> None:
        with self._lock:
            before = self._known.get(candidate.key)
            for run in runs:
                self._put(run)
            keys = tuple(run.key for run in runs)
            if before is not None:
                self._drop(tuple(key for key in before.keys if key not in keys))
            others = max(0, len(candidate.files) - sum(run.num_files for run in runs))
            self._known[candidate.key] = _Known(candidate.digest, others, keys, cost_s, time.monotonic())
            self._waiting.pop(candidate.key, None)

    def _show_one(self, run: ListedRun) -> None:
        with self._lock:
            self._put(run)

    def _put(self, run: ListedRun) -> None:
        known = self._runs.get(run.key)
        if known is None or known._replace(version=0) != run._replace(version=0):
            self._version += 1
            self._runs[run.key] = run._replace(version=self._version)

    def _drop(self, keys: tuple[str, ...]) -> None:
        for key in keys:
            if self._runs.pop(key, None) is not None:
                self._version += 1
                self._gone.append((self._version, key))
        del self._gone[:-10_000]

    # -- on disk ------------------------------------------------------------------------------------------

    def _number(self, candidate: Candidate) -> int:
        """What stands for a candidate as it is now, what is made of it, and for whom."""
        return number_of("\0".join([str(candidate.digest), __version__, str(SHAPE), self._language.code]))

    def _plain(self, run: ListedRun) -> dict[str, object]:
        """What is kept of a run: by its whole path, as it may be listed below another folder, too."""
        summary = run.summary._asdict() if run.summary is not None else None
        return {**run._asdict(), "name": str(self._folder.home / run.name), "summary": summary}

    def _from_plain(self, data: dict[str, object]) -> ListedRun:
        name = str(Path(str(data["name"])).relative_to(self._folder.home))
        summary = from_plain(data["summary"]) if data["summary"] is not None else None
        problem = str(data["problem"]) if data["problem"] is not None else None
        size, mtime, num_files = data["size"], data["mtime"], data["num_files"]
        if not isinstance(size, int) or not isinstance(mtime, int | float) or not isinstance(num_files, int):
            raise TypeError("not a run")
        return ListedRun(key_of(name), name, size, mtime, num_files, summary, problem, 0)


def _listed(run: RunFiles, name: str, summary: Summary | None, problem: str | None) -> ListedRun:
    shown = None if problem is None else redact(problem)
    return ListedRun(key_of(name), name, run.size, run.mtime, len(run.files), summary, shown, 0)


def _mtime(candidate: Candidate) -> float:
    return max(file.mtime for file in candidate.files)
