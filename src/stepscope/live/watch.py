"""Follow a growing log: feed new bytes to the same reader, explain now and then, report what is new.

A new line costs what reading it costs. Explaining costs more the longer the log is, so it has a budget: a small share
of the time, however long the log.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from stepscope.alarms._base import Alarm
from stepscope.analysis.explain import explain
from stepscope.analysis.report import Report
from stepscope.core.clock import ClockSource
from stepscope.core.errors import InputError
from stepscope.core.message import Seconds, say
from stepscope.core.settings import Value
from stepscope.live.arrival_copy import ArrivalCopy
from stepscope.live.deadline import deadline_alarms
from stepscope.live.past_best import past_best_alarms
from stepscope.live.pulse import Pulse, feel
from stepscope.live.silence import Silences, measure
from stepscope.reading.log_reader import LogReader
from stepscope.run.model import Run
from stepscope.source.hardware import Hardware
from stepscope.source.lines import clean
from stepscope.source.recording import read_exit
from stepscope.source.tail import News

# Explaining may take this share of the time.
_BUDGET = 0.1
# A traceback arrives line by line, from several ranks one after the other, and its cause may be in its last line. An
# apparent end may also be an exception that was caught: a run that goes on has not ended.
_LAST_WORDS_S = 2.5
_RECENT_BYTES, _RECENT_LINES = 4096, 24
# A log without times goes by the arrival of its lines once this many of its rows are known and of its lines have come.
_ENOUGH_ROWS, _ENOUGH_ARRIVALS = 3, 6
# The arrival time that a recording puts before each line.
_ARRIVAL = re.compile(r"^\d{9,11}\.\d{6} ")
_DEATHS = {"crash", "interrupted", "hang", "oom", "killed"}
_ENDING = {"ended_early", *_DEATHS}

End = Literal["finished", "ended", "lost"]


class Tail(Protocol):
    """Where the bytes come from."""

    @property
    def mtime(self) -> float:
        """When the source was last written, in seconds since the epoch."""

    def look(self) -> News:
        """The bytes since the last look."""

    def rewind(self) -> bool:
        """Start again from the first byte; False where the source cannot."""


@runtime_checkable
class ArrivalTail(Protocol):
    """A source whose lines come after their arrival times."""

    has_arrivals: bool


class Facts(NamedTuple):
    """What the user stated about the run."""

    config: Mapping[str, Value] | None
    flags: Mapping[str, Value]
    confidence: float
    deadline: dt.datetime | None = None  # when the job will be ended


class View(NamedTuple):
    """Everything to show at one moment. `fresh` are the alarms that the last view did not have."""

    report: Report | None
    pulse: Pulse
    alarms: tuple[Alarm, ...]
    fresh: tuple[Alarm, ...]
    hardware: Hardware | None
    now: dt.datetime
    problem: InputError | None  # the reason nothing was understood yet
    place: str | None = None  # the line of code the process is in, if it was sampled
    last_lines: tuple[str, ...] = ()  # the last lines of the log, as they were printed
    quiet_s: float = 0.0  # seconds since the last line


class Watch:
    """A run being watched.

    name
        The path that the report shows for the log.
    facts
        What the user stated about the run.
    clock
        The time, and the means to sleep.
    hardware
        Reads the GPU; called once per view.
    interval_s
        The least seconds between two views.
    is_alive
        Whether the process still runs, where that is known.
    ends_with_process
        The watch ends when it does not; else that only says that a run which seems to be finished is.
    """

    def __init__(
        self,
        tail: Tail,
        *,
        name: str,
        facts: Facts,
        clock: ClockSource,
        hardware: Callable[[], Hardware | None] = lambda: None,
        interval_s: float = 1.0,
        is_alive: Callable[[], bool] | None = None,
        ends_with_process: bool = True,
    ) -> None:
        self._tail = tail
        self._facts = facts
        self._clock = clock
        self._hardware = hardware
        self._interval_s = interval_s
        self._is_alive = is_alive
        self._ends_with_process = ends_with_process
        self._name = name
        self._uses_arrivals = isinstance(tail, ArrivalTail)
        self._reader = self._new_reader()
        self._report: Report | None = None
        self._gpu: Hardware | None = None
        self._silences: Silences | None = None
        self._problem: InputError | None = None
        self._recent = b""
        self._quiet_since = clock.monotonic()
        self._is_caught_up = False
        self._is_document = False
        self._copy = None if isinstance(tail, ArrivalTail) else ArrivalCopy()
        self._is_over = False
        self._has_news = False
        self._has_heard_all = False  # whether an ended run was explained with its last, unterminated line
        self._next_view = clock.monotonic() + interval_s
        self._reported: set[tuple[str, int | None, int | None]] = set()
        self._stalled_rows: set[int] = set()  # stalls reported while they lasted: not reported again once over

    def _new_reader(self) -> LogReader:
        reader = LogReader(paths=[self._name])
        reader.is_recorded = self._uses_arrivals
        reader.begin_file()
        return reader

    def step(self) -> View | None:
        """Read the new bytes; the view when one is due, else None."""
        was_settled = self._is_caught_up, self._is_over
        has_come = self._read()
        now = self._clock.monotonic()
        if has_come:
            self._has_news = True
            self._has_heard_all = False
            self._quiet_since = now
        # A view is due at once when the log has been caught up with or has ended, else after the interval.
        if now < self._next_view and was_settled == (self._is_caught_up, self._is_over):
            return None
        return self._view(now)

    def _read(self) -> bool:
        """Feed the new bytes to the reader; whether there were any."""
        if self._is_over:
            return False
        news = self._tail.look()
        if self._is_document and (news.data or news.is_new_file) and self._tail.rewind():
            # A table or a document may be rewritten or appended to: either way it is read from its start again.
            self._reader = self._new_reader()
            news = self._tail.look()
        elif news.is_new_file:
            self._reader.end_file()
            self._reader.begin_file()
        if news.data:
            self._feed(news.data)
            self._recent = (self._recent + news.data)[-_RECENT_BYTES:]
        elif not self._is_caught_up:
            # The log has been caught up with: silence counts from when it was last written, not from now.
            self._is_caught_up = True
            age = self._clock.now().timestamp() - self._tail.mtime
            self._quiet_since = self._clock.monotonic() - max(0.0, age)
        has_died = self._is_alive is not None and self._ends_with_process and not self._is_alive()
        if not news.data and (news.is_over or has_died):
            self._is_over = True
            self._reader.exit = read_exit(Path(self._name))
            self._reader.end_file()
        return bool(news.data)

    def _feed(self, data: bytes) -> None:
        if self._copy is None:
            self._reader.feed(data)
            return
        stamped = self._copy.add(data, self._clock.now().timestamp() if self._is_caught_up else None)
        self._reader.feed(stamped if self._uses_arrivals else data)
        if self._copy.is_full and not self._uses_arrivals:
            self._copy = None

    def _needs_arrivals(self, report: Report) -> bool:
        """Whether the log prints no time, so that the arrival of its lines is all there is to go by."""
        if self._copy is None or self._uses_arrivals or len(report.run) < _ENOUGH_ROWS or self._is_document:
            return False
        if report.has_steps:
            self._copy = None  # it has times of its own
            return False
        return self._copy.num_arrived >= _ENOUGH_ARRIVALS

    def _view(self, now: float) -> View:
        quiet_s, is_again = now - self._quiet_since, self._report is not None
        self._gpu = self._hardware()
        if self._has_news or self._report is None or self._is_over:
            self._has_news = False
            self._explain(quiet_s)
        elif self._report.has_ended and quiet_s >= _LAST_WORDS_S and not self._has_heard_all:
            self._has_heard_all = True
            self._explain(quiet_s)
        # The first time imports what explaining needs, which says nothing about the next.
        cost = self._clock.monotonic() - now if is_again else 0.0
        self._next_view = self._clock.monotonic() + max(self._interval_s, cost / _BUDGET)
        pulse = feel(self._report, quiet_s, self._silences)
        if pulse.doing == "finished" and self._is_known_alive():
            pulse = Pulse("closing", quiet_s, None, None)
        if self._is_over and self._report is not None and pulse.doing != "finished":
            pulse = Pulse("ended", quiet_s, None, None)  # the source is closed: nothing more will come
        alarms = self._alarms(pulse, quiet_s)
        fresh = self._fresh(alarms)
        return View(
            report=self._report,
            pulse=pulse,
            alarms=alarms,
            fresh=fresh,
            hardware=self._gpu,
            now=self._clock.now(),
            problem=self._problem,
            last_lines=self._last_lines(),
            quiet_s=quiet_s,
        )

    def _is_known_alive(self) -> bool:
        """Whether the process is known to run still: then it may have done its steps, but it is not finished."""
        return not self._is_over and self._is_alive is not None and self._is_alive()

    def _explain(self, quiet_s: float) -> None:
        try:
            run = self._run_so_far(quiet_s)
        except InputError as problem:
            self._problem = problem
            return
        num_before = len(self._report.run) if self._report is not None and self._is_document else 0
        if len(run) < num_before and quiet_s < _LAST_WORDS_S and not self._is_over:
            self._has_news = True  # the document was read while it was being rewritten
            return
        self._problem = None
        self._silences = None
        facts = self._facts
        self._report = explain(
            run,
            config=facts.config,
            flags=facts.flags,
            # The figures are of this moment, not of the last line.
            hardware=self._gpu._replace(time=None) if self._gpu is not None else None,
            fallback_now=self._clock.now(),
            confidence=facts.confidence,
            has_gpu_log=False,
        )
        if facts.deadline is not None:
            self._report = self._report.asked(deadline=facts.deadline)
        if self._needs_arrivals(self._report) and self._copy is not None:
            self._uses_arrivals = True
            self._reader = self._new_reader()
            self._reader.feed(self._copy.take())
            self._explain(quiet_s)
            return
        self._silences = measure(self._report)

    def _run_so_far(self, quiet_s: float) -> Run:
        """The run up to the last whole line; up to the last byte for a document and for a run that has ended."""
        is_final = self._report is not None and self._report.has_ended and quiet_s >= _LAST_WORDS_S
        reader = self._reader
        if not self._is_over and (reader.is_document or reader.is_undecided or is_final):
            reader = reader.ended_here(with_half_line=is_final)
        self._is_document = reader.is_document
        return reader.run(mtime=self._tail.mtime)

    def _last_lines(self) -> tuple[str, ...]:
        """The last whole lines as a terminal would show them; empty for a source that is not lines of text."""
        if self._is_document or b"\0" in self._recent:
            return ()
        whole = self._recent[: self._recent.rfind(b"\n") + 1].replace(b"\r", b"\n")
        is_cut = len(self._recent) == _RECENT_BYTES  # then the first line may lack its beginning
        texts = whole.decode("utf-8", errors="replace").split("\n")[is_cut:]
        lines = (clean(_ARRIVAL.sub("", line)) for line in texts)
        return tuple(line for line in lines if line.strip())[-_RECENT_LINES:]

    def _fresh(self, alarms: tuple[Alarm, ...]) -> tuple[Alarm, ...]:
        """The alarms not reported yet. A stall or slowdown that went away and comes back is reported again."""
        identities = {_identity(alarm) for alarm in alarms}
        gone = self._reported - identities
        self._reported -= {identity for identity in gone if identity[0] in {"stall", "slowdown"}}
        fresh = tuple(alarm for alarm in alarms if _identity(alarm) not in self._reported)
        self._reported |= identities
        return fresh

    def _alarms(self, pulse: Pulse, quiet_s: float) -> tuple[Alarm, ...]:
        """The alarms of this moment: a stall that still lasts, the alarms of the log, and the end of the run."""
        if self._report is None:
            return ()
        steps = self._report.run.steps
        found = self._log_alarms(self._report, quiet_s)
        if not self._is_over:
            found += deadline_alarms(self._report, self._clock.now())
            found += past_best_alarms(self._report) if self._is_caught_up else []
        if pulse.doing == "finished" and (self._is_over or quiet_s >= _LAST_WORDS_S):
            last = int(steps.step[-1])
            found.append(Alarm("finished", "info", last, None, say("alarm-finished", step=last)))
        if pulse.doing == "stalled":
            self._stalled_rows.add(len(steps))
            found.insert(0, _stall_alarm(int(steps.step[-1]) if len(steps) else None, pulse))
        return tuple(found)

    def _log_alarms(self, report: Report, quiet_s: float) -> list[Alarm]:
        """The alarms of the log, without stalls that were reported live and without an end that may not be one."""
        run = report.run
        reported_lines = {int(run.steps.line[row]) for row in self._stalled_rows if row < len(run)}
        found = [alarm for alarm in report.alarms if not (alarm.code == "stall" and alarm.line in reported_lines)]
        may_go_on = quiet_s < _LAST_WORDS_S and not self._is_over and self._is_caught_up
        if not run.last_words or not may_go_on:
            return found
        since = run.last_words[0].line
        return [alarm for alarm in found if not (alarm.code in _ENDING and (alarm.line or 0) >= since)]

    @property
    def is_over(self) -> bool:
        """Whether the source is closed: nothing more will come."""
        return self._is_over

    @property
    def is_caught_up(self) -> bool:
        """Whether the log has been read up to its present end."""
        return self._is_caught_up

    @property
    def end(self) -> End | None:
        """How the run ended, None while it goes on; `lost` when the source went away before the last step."""
        if self._report is not None and (self._is_caught_up or self._is_over) and not self._has_news:
            doing = feel(self._report, 0.0, self._silences).doing
            if self._is_known_alive():
                return None  # a test, a last checkpoint, another training in the same script
            quiet_s = self._clock.monotonic() - self._quiet_since
            if self._is_over or quiet_s > max(self._interval_s, _LAST_WORDS_S):
                if doing == "finished":
                    return "finished"
                if doing == "ended":
                    return "ended"
        return "lost" if self._is_over else None

    def run_to_end(self, show: Callable[[View], None]) -> End:
        """Watch until the run ends; `show` gets every view."""
        while True:
            view = self.step()
            if view is not None:
                show(view)
            end = self.end
            if end is not None:
                # The process has ended since that view, or the log has only now been quiet for long enough.
                is_early = view is not None and not self._is_over and view.quiet_s < _LAST_WORDS_S
                if view is None or view.pulse.doing == "closing" or is_early:
                    show(self._view(self._clock.monotonic()))
                return end
            if self._is_caught_up:
                self._clock.sleep(min(0.2, self._interval_s))


def _stall_alarm(last_step: int | None, pulse: Pulse) -> Alarm:
    message = say(
        "alarm-stall",
        duration=Seconds(pulse.since_s),
        usual=Seconds(pulse.usual_s or 0.0),
        limit=Seconds(pulse.limit_s or 0.0),
    )
    return Alarm(code="stall", severity="error", step=last_step, line=None, message=message)


def _identity(alarm: Alarm) -> tuple[str, int | None, int | None]:
    """What two reports of the same alarm share. The step at which a slowdown began may move with every new line."""
    return (alarm.code, None, None) if alarm.code == "slowdown" else (alarm.code, alarm.step, alarm.line)
