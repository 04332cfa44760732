"""Where the time of a run goes: phases that add up to the wall clock, a structured log, and every step's time.

There is one clock and one hand on it. `lap(phase)` gives everything since the last lap to a phase, so no second can be
counted twice or lost. A lap costs a quarter of a microsecond; a step has six.

Files next to the checkpoints:

    steps.jsonl    a record per step with the seconds of its phases, and one per evaluation, checkpoint, collection …
    steps.bin      every step's number and seconds: eight bytes each, always on (`read_step_times`)
    ledger.json    the sums, at the end of the run
"""

from __future__ import annotations

import json
import math
import os
import struct
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from stepscope.trainer.append import Appender
from stepscope.trainer.config import TrainerError
from stepscope.trainer.writer import Written

# In the order of the ledger. What a step consists of comes first.
STEP = ("data", "forward", "backward", "optimizer")
PHASES = (
    *STEP,
    "device",  # waiting for a GPU to finish what it was given
    "evaluation_train",
    "evaluation_val",
    "checkpoint_staging",  # copying the state aside: what a checkpoint costs the run
    "checkpoint_waiting",  # waiting for the checkpoint before it, or the last one
    "logging",
    "gc",
    "compile",
    "startup",
    "sampling",
    "other",
)
_INDEX = {name: number for number, name in enumerate(PHASES)}
DATA, FORWARD, BACKWARD, OPTIMIZER = (_INDEX[name] for name in STEP)
DEVICE, EVALUATION_TRAIN, EVALUATION_VAL = (_INDEX[n] for n in ("device", "evaluation_train", "evaluation_val"))
STAGING, WAITING, LOGGING = (_INDEX[n] for n in ("checkpoint_staging", "checkpoint_waiting", "logging"))
GC, COMPILE, STARTUP, SAMPLING, OTHER = (_INDEX[n] for n in ("gc", "compile", "startup", "sampling", "other"))

_RECORD = struct.Struct("<If")
_FLUSH_EVERY_NS = 1_000_000_000


class Accounts:
    """The clock of one run and the files it writes; `folder` None keeps it in memory (all ranks but the first)."""

    def __init__(self, folder: Path | None = None, *, started_ns: int | None = None) -> None:
        # The run began when its process did, not when this line was reached.
        now = time.perf_counter_ns()
        self._mark = now if started_ns is None else started_ns
        self._start_mono_ns = time.monotonic_ns() - (now - self._mark)
        self._spent = [0] * len(PHASES)
        self._before = self._spent.copy()
        self._step_times = bytearray()
        self._records: list[str] = []
        self._folder = folder
        self._jsonl: Appender | None = None
        self._bin: Appender | None = None
        self._flushed_ns = self._mark
        self.facts: dict[str, Any] = {}
        if folder is not None:
            self._jsonl = Appender(folder / "steps.jsonl")
            self._bin = Appender(folder / "steps.bin", record_bytes=_RECORD.size)

    # -- the clock --------------------------------------------------------------------------------------------

    def lap(self, phase: int) -> int:
        """Give the time since the last lap to a phase; returns it in nanoseconds."""
        now = time.perf_counter_ns()
        took = now - self._mark
        self._mark = now
        self._spent[phase] += took
        return took

    def move(self, nanoseconds: int, from_phase: int, to_phase: int) -> None:
        """Correct an earlier lap once it is known better whose it was; the sum stays."""
        self._spent[from_phase] -= nanoseconds
        self._spent[to_phase] += nanoseconds

    def seconds(self, *phases: int) -> float:
        """Of some phases so far."""
        return sum(self._spent[phase] for phase in phases) / 1e9

    def age_s(self) -> float:
        """Seconds since the run began."""
        return (time.monotonic_ns() - self._start_mono_ns) / 1e9

    # -- the files --------------------------------------------------------------------------------------------

    def step(self, number: int, seconds: float, loss: float | None) -> None:
        """The record of one finished step: what each phase took since the step before it."""
        spent, before = self._spent, self._before
        self._before = spent.copy()
        self._step_times += _RECORD.pack(number & 0xFFFFFFFF, seconds)
        if self._jsonl is None:
            return
        parts = ",".join(
            f'"{PHASES[i]}":{(spent[i] - before[i]) / 1e9:.7f}' for i in range(len(PHASES)) if spent[i] != before[i]
        )
        shown = "null" if loss is None or not math.isfinite(loss) else repr(loss)
        self._records.append(
            f'{{"kind":"step","step":{number},"monotonic_s":{time.monotonic():.6f},"time":{time.time():.6f},'
            f'"duration_s":{seconds:.7f},"loss":{shown},"phases":{{{parts}}}}}\n'
        )
        if self._mark - self._flushed_ns > _FLUSH_EVERY_NS:
            self.flush()

    def event(self, kind: str, step: int, took_ns: int, **facts: object) -> None:
        """The record of something between two steps."""
        if self._jsonl is None:
            return
        # Names of its own: a reader that knows neither must not take it for a step.
        record = {"kind": kind, "at_step": step, "monotonic_s": time.monotonic(), "wall_clock": time.time()}
        self._records.append(json.dumps({**record, "took_s": took_ns / 1e9, **facts}) + "\n")

    def flush(self) -> None:
        """Hand what was recorded to the operating system; what a full disk does not take is tried again later."""
        self._flushed_ns = self._mark
        text, self._records = "".join(self._records), []
        times, self._step_times = bytes(self._step_times), bytearray()
        for file, records in ((self._jsonl, text.encode()), (self._bin, times)):
            if file is not None:
                file.append(records)

    def close(self) -> dict[str, Any]:
        """The ledger; also written to `ledger.json`."""
        self.lap(OTHER)
        wall_s = self.age_s()
        ledger = {
            "schema": "stepscope.trainer/1",
            "wall_s": wall_s,
            "phases": {name: self._spent[i] / 1e9 for name, i in _INDEX.items() if self._spent[i]},
            **self.facts,
        }
        self.flush()
        for file in (self._jsonl, self._bin):
            if file is not None:
                file.close()
                if file.num_waiting:
                    ledger["log_lost"] = file.problem
        if self._folder is not None:
            write_aside(self._folder / "ledger.json", json.dumps(ledger, indent=1) + "\n")
        return ledger


class DevicePhases:
    """On a GPU the host only queues work: its laps show when work was *given*, events on the device when it ran.

    An event is recorded at each phase's end and read when the host waits for the device anyway (at a printed step);
    the seconds of the steps since the last such moment are then divided as the device divided them.
    """

    def __init__(self, accounts: Accounts, new_event: Callable[[], Any]) -> None:
        self._accounts = accounts
        self._new_event = new_event
        self._events: list[tuple[int | None, Any]] = []
        self._host = [0] * len(PHASES)

    def _record(self, phase: int | None) -> None:
        event = self._new_event()
        event.record()
        self._events.append((phase, event))

    def begin(self) -> None:
        """A step begins: what the device did before (an evaluation) is none of its phases."""
        self._record(None)

    def lap(self, phase: int) -> int:
        """As `Accounts.lap`, and remember the device's own moment."""
        self._record(phase)
        took = self._accounts.lap(phase)
        self._host[phase] += took
        return took

    def settle(self) -> None:
        """Called when the device has caught up: the host's seconds of the steps become the device's."""
        total = self._accounts.lap(DEVICE) + sum(self._host)
        ran = [0.0] * len(PHASES)
        for (_, earlier), (phase, later) in pairwise(self._events):
            if phase is not None:
                ran[phase] += earlier.elapsed_time(later)
        if sum(ran) > 0:
            for phase, host in enumerate(self._host):
                if host or ran[phase]:
                    self._accounts.move(int(total * ran[phase] / sum(ran)) - host, DEVICE, phase)
        self._events.clear()
        self._host = [0] * len(PHASES)


class CheckpointCosts:
    """What saving cost a run, and what it would have cost to wait for the disk."""

    def __init__(self) -> None:
        self._ended: list[Written] = []
        # Number and seconds of plain steps, by whether a checkpoint was being written meanwhile.
        self._steps = {False: (0, 0.0), True: (0, 0.0)}

    def add(self, done: Written) -> None:
        """Add a checkpoint that has ended, well or not."""
        self._ended.append(done)

    def add_step(self, seconds: float, *, while_writing: bool) -> None:
        """A plain step: no evaluation before it, and not one of the first two."""
        count, total = self._steps[while_writing]
        self._steps[while_writing] = count + 1, total + seconds

    @property
    def last_failed(self) -> Written | None:
        """The last checkpoint if it was not written."""
        return self._ended[-1] if self._ended and self._ended[-1].problem is not None else None

    @property
    def last_whole(self) -> int:
        """The iteration of the newest checkpoint that was written whole; 0 before the first."""
        return max((done.iteration for done in self._ended if done.problem is None), default=0)

    def facts(self, stalled_s: float) -> dict[str, Any]:
        """For the ledger. `stalled_s`: how long the run did nothing but copy the state or wait for a checkpoint."""
        whole = [done for done in self._ended if done.problem is None]
        (num_idle, idle_s), (num_writing, writing_s) = (self._steps[key] for key in (False, True))
        slower = (writing_s / num_writing) / (idle_s / num_idle) if num_idle and num_writing else None
        return {
            "saves": len(whole),
            "failed": len(self._ended) - len(whole),
            "bytes": whole[-1].num_bytes if whole else None,
            "written_in_s": sum(done.seconds for done in whole),
            "stalled_s": stalled_s,
            "step_while_writing_ratio": slower,
        }


def open_folder(folder: Path, *, resumed: bool) -> None:
    """Make the run's folder; a run that is not resumed removes the logs of an older one there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not resumed:
            for name in ("train.log", "steps.jsonl", "steps.bin", "ledger.json"):
                (folder / name).unlink(missing_ok=True)
    except OSError as problem:
        raise TrainerError("train-out-dir", place=str(folder), reason=problem.strerror or str(problem)) from None


def write_aside(path: Path, text: str) -> None:
    """Write a small file so that a reader sees the old one or the new one; a full disk is no reason to fail here."""
    aside = path.with_name(path.name + ".new")
    try:
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    except OSError:
        aside.unlink(missing_ok=True)


def read_step_times(path: Path) -> tuple[Any, Any]:
    """Numbers and seconds of the steps in a `steps.bin`; a record cut by a kill is left out."""
    blob = path.read_bytes()
    whole = np.frombuffer(blob[: len(blob) // 8 * 8], dtype=np.dtype([("step", "<u4"), ("seconds", "<f4")]))
    return whole["step"], whole["seconds"]


def process_start_ns() -> int:
    """When this process was started, on the clock of `perf_counter_ns`; now, where the system does not say."""
    now = time.perf_counter_ns()
    try:
        # Field 22: the start in clock ticks since boot. The name before it is in brackets and may hold anything.
        ticks = int(Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19])
        age_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - ticks * 10**9 // os.sysconf("SC_CLK_TCK")
        return now - max(0, age_ns)
    except (OSError, ValueError, IndexError, AttributeError):
        return now


def summary(ledger: Mapping[str, Any]) -> dict[str, float]:
    """The ledger in the words of a report: step, evaluation, checkpoint, logging, gc, warmup."""
    phases: Mapping[str, float] = ledger["phases"]
    homes = dict.fromkeys((*STEP, "device"), "step") | {"compile": "warmup"}
    out: dict[str, float] = {}
    for name, seconds in phases.items():
        home = homes.get(name, name.split("_")[0])
        out[home] = out.get(home, 0.0) + seconds
    return out
