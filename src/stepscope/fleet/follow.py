"""All running runs of a store's sources, followed by one process: each as `stepscope watch` follows one.

The store is only read: it says which runs are over and which alarms are known. A scan may go on beside it.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.alarms._base import Alarm
from stepscope.analysis.report import Report
from stepscope.core.clock import ClockSource
from stepscope.core.errors import InputError
from stepscope.fleet.at_hand import at_hand
from stepscope.fleet.buckets import is_bucket
from stepscope.fleet.scan import is_known, list_any
from stepscope.fleet.sources import sources
from stepscope.fleet.store import SETTLED_S, Store
from stepscope.fleet.tails import AnyTail, ObjectTail, tail_of
from stepscope.live.watch import Facts, View, Watch
from stepscope.reading.folder_runs import runs_of
from stepscope.source.candidates import Candidate, candidates

# The sources are listed again after this long, and listing takes at most a twentieth of the time.
_LIST_EVERY_S, _LIST_SHARE = 60.0, 0.05
# Of several files of a run that were written at about the same time, the first is followed.
_SAME_TIME_S = 120.0
_CONFIDENCE = 0.9
_SAME_WHEREVER = frozenset({"slowdown"})  # the step at which it began moves

Hear = Callable[[str, tuple[Alarm, ...]], None]
Known = frozenset[tuple[str, str, int | None]]


class Round(NamedTuple):
    """How the fleet is after a look at all of it."""

    doing: Counter[str]  # what the followed runs do, and how many of them
    num_ended: int  # runs that ended while they were followed
    alarms: Counter[str]  # codes of the alarms since the start
    reports: list[tuple[str, Report]]
    seconds: float  # how long the look took
    problems: dict[str, InputError]  # files and folders that cannot be followed, all since the start

    @property
    def num_followed(self) -> int:
        """Runs that are followed."""
        return self.doing.total()


class _Begin(NamedTuple):
    """A run to follow: its address, the file whose end says how it goes, that end, and all of its files."""

    uri: str
    file: str
    tail: AnyTail
    files: frozenset[str]


class _Followed:
    """One run, and what was seen of it last."""

    def __init__(self, begin: _Begin, watch: Watch) -> None:
        self.uri, self.file, self.tail, self.files = begin
        self.watch = watch
        self.view: View | None = None


class _Met:
    """A candidate that was looked into: its files as they were then, and the runs of it that go on."""

    def __init__(self) -> None:
        self.versions: dict[str, str] = {}
        self.runs: list[_Followed] = []

    def news(self, candidate: Candidate) -> frozenset[str]:
        """The files that are new or have changed, without those of runs that are followed."""
        changed = {file.uri for file in candidate.files if self.versions.get(file.uri) != file.version}
        self.versions = {file.uri: file.version for file in candidate.files}
        return frozenset(changed.difference(*(run.files for run in self.runs)))


class Fleet:
    """The running runs of a store's sources.

    hear
        Called with the address of a run and its new alarms.
    interval_s
        The least seconds between two views of a run.
    """

    def __init__(self, store: Store, hear: Hear, clock: ClockSource, *, interval_s: float) -> None:
        self._store, self._hear, self._clock, self._interval_s = store, hear, clock, interval_s
        self._places = sources(store.folder)
        if not self._places:
            raise InputError("fleet-without-sources", place=str(store.folder))
        self._finished: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._known: Known = frozenset()
        self._parts: list[str] = []
        self._met: dict[int, _Met] = {}  # by candidate
        self._told: set[tuple[str, str, int | None]] = set()  # alarms of runs that are over
        self._problems: dict[str, InputError] = {}
        self._alarms: Counter[str] = Counter()
        self._num_ended = 0
        self._next_listing = clock.monotonic()

    def look(self) -> Round:
        """Look at everything once."""
        began = self._clock.monotonic()
        if began >= self._next_listing:
            self._list()
            took = self._clock.monotonic() - began
            self._next_listing = began + max(_LIST_EVERY_S, took / _LIST_SHARE)
        for met in self._met.values():
            met.runs = [run for run in met.runs if self._step(run)]
        seen = [(run.uri, run.view) for run in self._runs() if run.view is not None]
        return Round(
            doing=Counter(view.pulse.doing for _, view in seen),
            num_ended=self._num_ended,
            alarms=self._alarms,
            reports=[(uri, view.report) for uri, view in seen if view.report is not None],
            seconds=self._clock.monotonic() - began,
            problems=self._problems,
        )

    def close(self) -> None:
        """Close all files."""
        for run in self._runs():
            run.tail.close()

    def _runs(self) -> Iterator[_Followed]:
        return (run for met in self._met.values() for run in met.runs)

    def _list(self) -> None:
        """Find runs that have begun, and tell those in buckets how far they have come."""
        self._read_store()
        since = self._clock.now().timestamp() - SETTLED_S
        for place in self._places:
            try:
                for listing in list_any(place, lambda _: None):
                    for candidate in candidates(listing):
                        if max(file.mtime for file in candidate.files) >= since:
                            self._meet(candidate, since)
            except InputError as problem:
                self._problems[place] = problem  # it may be there again at the next listing

    def _read_store(self) -> None:
        """What the store knows by now; read again only when a scan has written."""
        with suppress(FileNotFoundError):  # a scan has just put parts together: next time
            parts = [path.name for path in self._store.parts("runs")]
            if parts != self._parts:
                self._finished = self._store.finished(self._clock.now())
                self._known = _known_alarms(self._store)
                self._parts = parts

    def _meet(self, candidate: Candidate, since: float) -> None:
        """Follow the runs of a candidate that is new or has changed."""
        met = self._met.get(candidate.key)
        if met is None:
            if is_known(self._finished, candidate):
                return
            met = self._met[candidate.key] = _Met()
        listed = {file.uri: file for file in candidate.files}
        for run in met.runs:
            if isinstance(run.tail, ObjectTail) and run.file in listed:
                run.tail.announce(listed[run.file])
        news = met.news(candidate)
        if not news:
            return
        followed = {run.uri for run in met.runs}
        try:
            for begin in _newest_of_runs(candidate, since):
                if begin.uri not in followed and not news.isdisjoint(begin.files):
                    met.runs.append(self._follow(begin))
                else:
                    begin.tail.close()
        except InputError as problem:
            self._problems[candidate.files[0].uri] = problem
        except OSError as problem:
            reason = problem.strerror or str(problem)
            self._problems[candidate.files[0].uri] = InputError("unreadable", place=candidate.folder, reason=reason)

    def _follow(self, begin: _Begin) -> _Followed:
        # How often a run is explained is bounded by the rounds, and by the watch itself for a long log.
        watch = Watch(
            begin.tail,
            name=begin.file,
            facts=Facts(None, {}, _CONFIDENCE),
            clock=self._clock,
            interval_s=self._interval_s,
        )
        return _Followed(begin, watch)

    def _step(self, run: _Followed) -> bool:
        """Look at a run; whether it goes on."""
        try:
            view = run.watch.step()
            while not (run.watch.is_caught_up or run.watch.is_over):
                view = run.watch.step() or view
        except InputError as problem:
            self._problems[run.file] = problem
            run.tail.close()
            return False
        if view is not None:
            run.view = view
            self._tell(run.uri, view)
        if run.watch.end is None or view is None:
            return True
        self._num_ended += 1
        self._told |= {_key(run.uri, alarm.code, alarm.step) for alarm in view.alarms}
        run.tail.close()
        return False

    def _tell(self, uri: str, view: View) -> None:
        known = self._known | self._told if view.fresh else self._known
        fresh = tuple(alarm for alarm in view.fresh if _key(uri, alarm.code, alarm.step) not in known)
        self._alarms.update(alarm.code for alarm in fresh)
        if fresh:
            self._hear(uri, fresh)


def _newest_of_runs(candidate: Candidate, since: float) -> Iterator[_Begin]:
    """The runs of a candidate that may go on."""
    if is_bucket(candidate.folder) and len(candidate.files) == 1:  # its bytes are read as they are followed
        file = candidate.files[0]
        yield _Begin(file.uri, file.uri, ObjectTail(file), frozenset({file.uri}))
        return
    if is_bucket(candidate.folder) and candidate.kind == "mlflow":
        return  # a file per metric: there is no end to follow
    with at_hand(candidate) as (here, listed):
        for own in runs_of(here):
            pairs = [(listed[source.name], source) for source in own.sources if source.name in listed]
            files = [file for file, _ in pairs] or list(candidate.files)
            newest = max(file.mtime for file in files)
            if newest < since:
                continue
            # Ranks are written together: the first of them. Of parts, the last.
            number = next(at for at, file in enumerate(files) if newest - file.mtime <= _SAME_TIME_S)
            source = pairs[number][1] if pairs else own.sources[0]
            tail = tail_of(source, files[number])
            yield _Begin(files[0].uri, files[number].uri, tail, frozenset(file.uri for file in files))


def _known_alarms(store: Store) -> Known:
    """The alarms of a store by run, code and step, of runs that may go on."""
    from pyarrow import compute, dataset

    parts, paths = store.parts("runs"), store.parts("alarms")
    if not parts or not paths:
        return frozenset()
    recent = compute.field("written_at") > dt.datetime.now(dt.UTC) - dt.timedelta(seconds=SETTLED_S)
    found = dataset.dataset(list(map(str, parts))).to_table(columns=["read_id", "uri"], filter=recent)
    uris = dict(zip(found["read_id"].to_pylist(), found["uri"].to_pylist(), strict=True))
    alarms = dataset.dataset(list(map(str, paths))).to_table(columns=["read_id", "code", "step"]).to_pylist()
    return frozenset(_key(uris[row["read_id"]], row["code"], row["step"]) for row in alarms if row["read_id"] in uris)


def _key(uri: str, code: str, step: int | None) -> tuple[str, str, int | None]:
    return uri, code, None if code in _SAME_WHEREVER else step
