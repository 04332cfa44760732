"""Follow a growing log: feed what comes to the same reader, explain now and then, tell what is new.

The cost per new line is that of reading it. Explaining costs more the longer the log is, so it is done on a budget:
never more than a small share of the time, however long the log.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, Protocol

from stepscope.alarms._base import Alarm
from stepscope.clock import Clock
from stepscope.errors import InputError
from stepscope.live.pulse import Pulse, feel
from stepscope.message import Seconds, say
from stepscope.reader import LogReader
from stepscope.report.build import Report, explain
from stepscope.settings import Value
from stepscope.source.nvidia_smi import Hardware
from stepscope.source.tail import News

# Explaining may take this share of the time.
_BUDGET = 0.1

End = Literal["finished", "ended", "lost"]


class Tail(Protocol):
    """Where the bytes come from."""

    @property
    def mtime(self) -> float:
        """When it was last written."""

    def look(self) -> News:
        """What came since the last look."""


class Facts(NamedTuple):
    """What the user stated about the run."""

    config: Mapping[str, Value] | None
    flags: Mapping[str, Value]
    gpu: str | None
    confidence: float


class View(NamedTuple):
    """All there is to show at one moment. `fresh` are the alarms that were not there at the last one."""

    report: Report | None
    pulse: Pulse
    alarms: tuple[Alarm, ...]
    fresh: tuple[Alarm, ...]
    hardware: Hardware | None
    now: dt.datetime
    problem: InputError | None  # why nothing was understood yet
    place: str | None = None  # where in its code the process is, where somebody looked


class Watch:
    """A run being watched."""

    def __init__(
        self,
        tail: Tail,
        *,
        name: str,
        facts: Facts,
        clock: Clock,
        hardware: Callable[[], Hardware | None] = lambda: None,
        interval_s: float = 1.0,
        is_alive: Callable[[], bool] | None = None,
    ) -> None:
        self._tail = tail
        self._facts = facts
        self._clock = clock
        self._hardware = hardware
        self._interval_s = interval_s
        self._is_alive = is_alive
        self._reader = LogReader(paths=[name])
        self._reader.begin_file()
        self._report: Report | None = None
        self._problem: InputError | None = None
        self._quiet_since = clock.monotonic()
        self._is_caught_up = False
        self._is_over = False
        self._has_news = False
        self._next_view = clock.monotonic() + interval_s
        self._told: set[tuple[str, int | None, int | None]] = set()

    def step(self) -> View | None:
        """Read what came; the view when it is time for one, else None."""
        was_settled = self._is_caught_up, self._is_over
        data = self._read()
        now = self._clock.monotonic()
        if data:
            self._has_news = True
            self._quiet_since = now
        # At once when everything there is has been read, and when it ended; else at its pace.
        if now < self._next_view and was_settled == (self._is_caught_up, self._is_over):
            return None
        return self._view(now)

    def _read(self) -> bytes:
        if self._is_over:
            return b""
        news = self._tail.look()
        if news.is_new_file:
            self._reader.end_file()
            self._reader.begin_file()
        if news.data:
            self._reader.feed(news.data)
        elif not self._is_caught_up:
            # What is there has been read: silence counts from when it was last written, not from now.
            self._is_caught_up = True
            age = self._clock.now().timestamp() - self._tail.mtime
            self._quiet_since = self._clock.monotonic() - max(0.0, age)
        if not news.data and (news.is_over or (self._is_alive is not None and not self._is_alive())):
            self._is_over = True
            self._reader.end_file()
        return news.data

    def _view(self, now: float) -> View:
        if self._has_news or self._report is None or self._is_over:
            self._explain()
            self._has_news = False
        cost = self._clock.monotonic() - now
        self._next_view = self._clock.monotonic() + max(self._interval_s, cost / _BUDGET)
        pulse = feel(self._report, now - self._quiet_since)
        alarms = self._alarms(pulse)
        fresh = tuple(alarm for alarm in alarms if _identity(alarm) not in self._told)
        self._told |= {_identity(alarm) for alarm in alarms}
        if pulse.doing != "stalled":
            self._told = {identity for identity in self._told if identity[0] != "stall"}
        return View(
            report=self._report,
            pulse=pulse,
            alarms=alarms,
            fresh=fresh,
            hardware=self._hardware(),
            now=self._clock.now(),
            problem=self._problem,
        )

    def _explain(self) -> None:
        self._reader.settle()
        try:
            run = self._reader.run(mtime=self._tail.mtime)
        except InputError as problem:
            self._problem = problem
            return
        self._problem = None
        facts = self._facts
        self._report = explain(
            run,
            config=facts.config,
            flags=facts.flags,
            gpu=facts.gpu,
            fallback_now=self._clock.now(),
            confidence=facts.confidence,
        )

    def _alarms(self, pulse: Pulse) -> tuple[Alarm, ...]:
        found = list(self._report.alarms) if self._report is not None else []
        if pulse.doing == "stalled" and self._report is not None:
            steps = self._report.run.steps
            found.insert(
                0,
                Alarm(
                    code="stall",
                    severity="error",
                    step=int(steps.step[-1]) if len(steps) else None,
                    line=None,
                    message=say(
                        "alarm-stall",
                        duration=Seconds(pulse.since_s),
                        usual=Seconds(pulse.usual_s or 0.0),
                        limit=Seconds(pulse.limit_s or 0.0),
                    ),
                ),
            )
        return tuple(found)

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self._is_over

    @property
    def end(self) -> End | None:
        """How it ended, once it has: `lost` when the source went away before the last step."""
        if self._report is not None and (self._is_caught_up or self._is_over) and not self._has_news:
            doing = feel(self._report, 0.0).doing
            if doing == "finished":
                return "finished"
            if doing == "ended" and (self._is_over or self._clock.monotonic() - self._quiet_since > self._interval_s):
                return "ended"
        return "lost" if self._is_over else None

    def run_to_end(self, show: Callable[[View], None]) -> End:
        """Watch until it ends; `show` gets every view."""
        while True:
            view = self.step()
            if view is not None:
                show(view)
            end = self.end
            if end is not None:
                if view is None:
                    show(self._view(self._clock.monotonic()))
                return end
            if self._is_caught_up:
                self._clock.sleep(min(0.2, self._interval_s))


def _identity(alarm: Alarm) -> tuple[str, int | None, int | None]:
    return alarm.code, alarm.step if alarm.code != "slowdown" else None, alarm.line
