"""Whose clock says how long a step took: the host's, or that of a GPU that runs what the host only queued.

There, the host's laps show when work was *given*. So an event is recorded on the device at the end of each phase, and
read when the host waits for the device anyway: at a printed step, or before an evaluation. Until then steps are held
back. Each is then recorded with its own seconds, as the device spent them, at the moment at which it ended there, and
with its own share of the host's clock, so that the phases of all steps still add up to the wall time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from stepscope.trainer.accounts import DEVICE, PHASES, STEP, Accounts
from stepscope.trainer.extras.device import World, synchronize


class HostPhases:
    """The host's own clock: it computes itself, or waits after each step for a device that has no timed events."""

    def __init__(self, accounts: Accounts, device: torch.device) -> None:
        self._accounts, self._device = accounts, device
        self.lap = accounts.lap

    def start(self) -> None:
        """The loop begins."""

    def begin(self) -> None:
        """A step begins."""

    def skip(self) -> None:
        """What was since the last lap is no phase of the step."""

    def end(self) -> None:
        """A step was given to the device: its seconds are its own only if the next one waits for it."""
        if self._device.type != "cpu":
            synchronize(self._device)
            self._accounts.lap(DEVICE)

    def settle(self) -> float | None:
        """Seconds of the last step, where the device knows better than the host: it does not."""
        return None

    def step(
        self,
        number: int,
        loss: float | None,
        figures: Mapping[str, float | None] | None = None,
        then: Callable[[float], object] | None = None,
        *,
        seconds: float = 0.0,
    ) -> None:
        """The record of a step; `then` gets its seconds, too."""
        self._accounts.step(number, seconds, loss, figures)
        if then is not None:
            then(seconds)


@dataclass(slots=True)
class _Step:
    """A step that was queued: its events, and what is known of it on the host."""

    events: list[tuple[int | None, Any]] = field(default_factory=list)
    shares: list[int] = field(default_factory=lambda: [0] * len(PHASES))  # nanoseconds of its phases, once known
    seconds: float = 0.0
    ended_s: float = 0.0  # by `time.monotonic`
    record: _Record | None = None


class _Record(NamedTuple):
    """What a step's record says apart from its seconds."""

    number: int
    loss: float | None
    figures: Mapping[str, float | None] | None
    spent: list[int]  # nanoseconds of what the host did meanwhile, by phase
    then: Callable[[float], object] | None


class DevicePhases:
    """Divides the time of steps by the device's own clock."""

    def __init__(self, accounts: Accounts, new_event: Callable[[], Any]) -> None:
        self._accounts = accounts
        self._new_event = new_event
        self._steps: list[_Step] = []
        self._num_settled = 0  # of those steps, the first so many have their seconds
        self._waiting_ns = 0  # host time of steps that is not divided yet
        self._last: Any = None  # the event at the end of the step before

    def start(self) -> None:
        """The loop begins: the first step's seconds are counted from here."""
        self._last = self._event()

    def begin(self) -> None:
        """A step begins: what the device did before (an evaluation) is none of its phases."""
        self._steps.append(_Step([(None, self._event())]))

    def skip(self) -> None:
        """What the device did since the last lap is no phase of the step: it waited for a checkpoint."""
        self._steps[-1].events.append((None, self._event()))

    def lap(self, phase: int) -> int:
        """As `Accounts.lap`, and remember the device's own moment."""
        self._steps[-1].events.append((phase, self._event()))
        took = self._accounts.lap(DEVICE)
        self._waiting_ns += took
        return took

    def _event(self) -> Any:
        event = self._new_event()
        event.record()
        return event

    def end(self) -> None:
        """Nobody waits: the events say when a step ended."""

    def settle(self) -> float:
        """Wait for the device and divide the host's seconds; returns those of the last step."""
        open_steps = self._steps[self._num_settled :]
        if not open_steps:
            return 0.0
        # That event and not the whole device: a checkpoint may be on its way from it, on a stream of its own.
        open_steps[-1].events[-1][1].synchronize()
        self._waiting_ns += self._accounts.lap(DEVICE)
        ran = [self._read(step) for step in open_steps]
        ended_s = time.monotonic()
        for step in reversed(open_steps):
            step.ended_s = ended_s
            ended_s -= step.seconds
        total = sum(map(sum, ran))
        if total > 0:
            for step, times in zip(open_steps, ran, strict=True):
                step.shares = [int(self._waiting_ns * each / total) for each in times]
                for phase, share in enumerate(step.shares):
                    if share:
                        self._accounts.move(share, DEVICE, phase)
            self._waiting_ns = 0
        self._accounts.forget(DEVICE, *range(len(STEP)))
        self._num_settled = len(self._steps)
        self._write()
        return open_steps[-1].seconds

    def _read(self, step: _Step) -> list[float]:
        """Milliseconds of each phase on the device. A clock that steps back says zero, not less."""
        ran = [0.0] * len(PHASES)
        for (_, earlier), (phase, later) in zip(step.events, step.events[1:], strict=False):
            if phase is not None:
                ran[phase] += max(0.0, earlier.elapsed_time(later))
        end = step.events[-1][1]
        first = step.events[0][1] if self._last is None else self._last
        step.seconds = max(0.0, first.elapsed_time(end)) / 1000
        self._last = end
        return ran

    # -- the records ------------------------------------------------------------------------------------------

    def step(
        self,
        number: int,
        loss: float | None,
        figures: Mapping[str, float | None] | None = None,
        then: Callable[[float], object] | None = None,
        *,
        seconds: float = 0.0,  # noqa: ARG002 (the host's: how long it took to queue the step)
    ) -> None:
        """As `Accounts.step`, written as soon as the step's seconds are known; `then` gets those, too."""
        spent = self._accounts.since_last_record()
        for phase in (DEVICE, *range(len(STEP))):
            spent[phase] = 0  # the device's clock divides these
        self._steps[-1].record = _Record(number, loss, figures, spent, then)
        self._write()

    def _write(self) -> None:
        """Record the steps that are complete, in their order."""
        while self._num_settled and self._steps[0].record is not None:
            step = self._steps.pop(0)
            self._num_settled -= 1
            assert step.record is not None
            number, loss, figures, own, then = step.record
            spent = [a + b for a, b in zip(own, step.shares, strict=True)]
            ago_s = time.monotonic() - step.ended_s
            self._accounts.step(number, step.seconds, loss, figures, spent=spent, ago_s=ago_s)
            if then is not None:
                then(step.seconds)


def make_phases(world: World, accounts: Accounts) -> DevicePhases | HostPhases:
    """The clock of a run's steps."""
    if world.device.type == "cuda":
        return DevicePhases(accounts, lambda: torch.cuda.Event(enable_timing=True))
    return HostPhases(accounts, world.device)
