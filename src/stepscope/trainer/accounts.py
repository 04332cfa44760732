"""Where the time of a run goes: phases that add up to the wall clock, and a record of every step.

There is one clock and one hand on it. `lap(phase)` gives everything since the last lap to a phase, so no second can be
counted twice or lost. A lap costs a quarter of a microsecond; a step has six.

Files next to the checkpoints:

    steps.jsonl    a record per step with the seconds of its phases, and one per evaluation, checkpoint, collection …;
                   a resumed run goes on with it
    ledger.json    the sums over all processes of the run, at the end of each

The records of kinds `ready` (before the first step), `step` and `end` have `phases`: together all of a process's time.
`stepscope explain` reads them (`source/trainer_records.py`).
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stepscope.trainer.append import Appender
from stepscope.trainer.folder import LEDGER, STEPS
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
# What a report calls them, where that is not the first word of the name.
REPORTED = {
    **dict.fromkeys(("forward", "backward", "optimizer", "device"), "step"),
    **dict.fromkeys(("compile", "startup"), "warmup"),
    **dict.fromkeys(("sampling", "other"), "unlogged"),
}
_INDEX = {name: number for number, name in enumerate(PHASES)}
DATA, FORWARD, BACKWARD, OPTIMIZER = (_INDEX[name] for name in STEP)
DEVICE, EVALUATION_TRAIN, EVALUATION_VAL = (_INDEX[n] for n in ("device", "evaluation_train", "evaluation_val"))
STAGING, WAITING, LOGGING = (_INDEX[n] for n in ("checkpoint_staging", "checkpoint_waiting", "logging"))
STALLS = ("checkpoint_staging", "checkpoint_waiting")
GC, COMPILE, STARTUP, SAMPLING, OTHER = (_INDEX[n] for n in ("gc", "compile", "startup", "sampling", "other"))

SCHEMA = "stepscope.steps/1"
_FLUSH_EVERY_NS = 1_000_000_000


class Accounts:
    """The clock of one process and the files it writes; nothing is written before `open`."""

    def __init__(self, *, started_ns: int | None = None) -> None:
        # The run began when its process did, not when this line was reached.
        now = time.perf_counter_ns()
        self._mark = now if started_ns is None else started_ns
        self._start_mono_ns = time.monotonic_ns() - (now - self._mark)
        self._spent = [0] * len(PHASES)
        self._before = self._spent.copy()
        self._records: list[str] = []
        self._folder: Path | None = None
        self._jsonl: Appender | None = None
        self._flushed_ns = self._mark
        self._num_steps = self._num_again = 0
        self._is_ready = False
        self.earlier = Earlier()  # the processes of this run before this one
        self.facts: dict[str, Any] = {}

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

    def since_last_record(self) -> list[int]:
        """Nanoseconds of each phase since this was last asked."""
        spent, before = self._spent, self._before
        self._before = spent.copy()
        return [now - then for now, then in zip(spent, before, strict=True)]

    def forget(self, *phases: int) -> None:
        """Of these phases, the next record says nothing before now: another one has it."""
        for phase in phases:
            self._before[phase] = self._spent[phase]

    # -- the files --------------------------------------------------------------------------------------------

    def open(self, folder: Path, step: int, settings: Mapping[str, object]) -> None:
        """Begin to write in a folder, after what the processes before this one wrote there."""
        self._folder = folder
        self.earlier = read_earlier(folder / STEPS)
        self._jsonl = Appender(folder / STEPS)
        age_s = self.age_s()
        now = {"monotonic_s": time.monotonic() - age_s, "wall_clock": time.time() - age_s}
        begun = [json.dumps({"kind": "start", "schema": SCHEMA, "at_step": step, **now}) + "\n"]
        begun += [json.dumps({"kind": "setting", "key": key, "value": value}) + "\n" for key, value in settings.items()]
        self._records[:0] = begun
        self.flush()

    def ready(self, step: int) -> None:
        """The first step is about to begin: everything so far was start-up."""
        self._summed("ready", step)
        self._is_ready = True

    def step(
        self,
        number: int,
        seconds: float,
        loss: float | None,
        figures: Mapping[str, float | None] | None = None,
        *,
        spent: Sequence[int] | None = None,
        ago_s: float = 0.0,
    ) -> None:
        """The record of one finished step: what each phase took since the step before it, or what `spent` says.

        `figures` are others that it states, such as the learning rate; `ago_s` is how long ago the step ended.
        """
        self._num_steps += 1
        is_again = number <= self.earlier.last_step
        self._num_again += is_again
        if spent is None:
            spent = self.since_last_record()
        if self._jsonl is None:
            return
        shown = "".join(f',"{name}":{_number(value)}' for name, value in (figures or {}).items())
        self._records.append(
            f'{{"kind":"step","step":{number},"monotonic_s":{time.monotonic() - ago_s:.6f},'
            f'"time":{time.time() - ago_s:.6f},'
            f'"duration_s":{seconds:.7f},"loss":{_number(loss)}{shown}{_AGAIN if is_again else ""},'
            f'"total_s":{sum(spent) / 1e9:.9f},"phases":{{{_parts(spent)}}}}}\n'
        )
        if self._mark - self._flushed_ns > _FLUSH_EVERY_NS:
            self.flush()

    def _summed(self, kind: str, step: int) -> None:
        """A record of the phases since the last one that is not of a step."""
        spent = self.since_last_record()
        if self._jsonl is not None:
            self._records.append(
                f'{{"kind":"{kind}","at_step":{step},"monotonic_s":{time.monotonic():.6f},'
                f'"wall_clock":{time.time():.6f},"phases":{{{_parts(spent)}}}}}\n'
            )

    def event(self, kind: str, step: int, took_ns: int, **facts: object) -> None:
        """The record of something between two steps."""
        if self._is_ready and self._jsonl is None:
            return  # another process than the first: nobody reads them
        # Names of its own: a reader that knows neither must not take it for a step.
        record = {"kind": kind, "at_step": step, "monotonic_s": time.monotonic(), "wall_clock": time.time()}
        self._records.append(json.dumps({**record, "took_s": took_ns / 1e9, **facts}) + "\n")

    def flush(self) -> None:
        """Hand what was recorded to the operating system; what a full disk does not take is tried again later."""
        self._flushed_ns = self._mark
        if self._jsonl is not None:
            text, self._records = "".join(self._records), []
            self._jsonl.append(text.encode())

    def close(self, step: int, ended: str) -> dict[str, Any]:
        """The ledger of the run so far, all its processes together; also written to `ledger.json`.

        `ended` says how this process ended: "finished", "stopped" by a signal, "failed".
        """
        self.lap(OTHER)
        wall_s = self.age_s()
        self._summed("end", step)
        if self._jsonl is not None:
            self._records.append(json.dumps({"kind": "ended", "how": ended, "wall_clock": time.time()}) + "\n")
        earlier = self.earlier
        seconds = {name: earlier.phases.get(name, 0.0) + self._spent[i] / 1e9 for name, i in _INDEX.items()}
        ledger = {
            "schema": "stepscope.trainer/1",
            "wall_s": sum(earlier.phases.values()) + wall_s,
            "phases": {name: own for name, own in seconds.items() if own},
            "iterations": earlier.num_steps + self._num_steps - self._num_again,
            "repeated_iterations": earlier.num_again + self._num_again,
            "processes": earlier.num_processes + 1,
            **self.facts,
        }
        self.flush()
        if self._jsonl is not None:
            self._jsonl.close()
            if self._jsonl.num_waiting:
                ledger["log_lost"] = self._jsonl.problem
        if self._folder is not None:
            write_aside(self._folder / LEDGER, json.dumps(ledger, indent=1) + "\n")
        return ledger


_AGAIN = ',"again":true'


def _number(value: float | None) -> str:
    return "null" if value is None or not math.isfinite(value) else repr(value)


def _parts(spent: Sequence[int]) -> str:
    return ",".join(f'"{PHASES[i]}":{each / 1e9:.9f}' for i, each in enumerate(spent) if each)


@dataclass(slots=True)
class Earlier:
    """What the records of a run say of the processes before this one."""

    phases: dict[str, float] = field(default_factory=dict)  # seconds
    num_processes: int = 0
    num_steps: int = 0
    num_again: int = 0
    last_step: int = -1
    written: list[Written] = field(default_factory=list)


def read_earlier(path: Path) -> Earlier:
    """Sum up the records of a run that is resumed. A process that was killed counts up to its last record."""
    earlier = Earlier()
    if not path.exists():
        return earlier
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                record = json.loads(line)
                kind = record["kind"]
                if kind == "checkpoint_written":
                    done = record["at_step"], record["took_s"], record["bytes"], record["problem"]
                    earlier.written.append(Written(*done))
                for name, seconds in record.get("phases", {}).items():
                    earlier.phases[name] = earlier.phases.get(name, 0.0) + seconds
                earlier.num_processes += kind == "start"
                if kind == "step":
                    is_again = record["step"] <= earlier.last_step
                    earlier.num_again += is_again
                    earlier.num_steps += not is_again
                    earlier.last_step = max(earlier.last_step, record["step"])
            except (ValueError, KeyError, TypeError, AttributeError):
                continue  # torn, or nothing of ours
    return earlier


class CheckpointCosts:
    """What saving cost a run, and what it would have cost to wait for the disk."""

    def __init__(self) -> None:
        self._ended: list[Written] = []
        self._earlier: list[Written] = []
        # Number and seconds of plain steps, by whether a checkpoint was being written meanwhile.
        self._steps = {False: (0, 0.0), True: (0, 0.0)}

    def add(self, done: Written) -> None:
        """Add a checkpoint that has ended, well or not."""
        self._ended.append(done)

    def follow(self, earlier: list[Written]) -> None:
        """Count those of the run's earlier processes, too."""
        self._earlier = earlier

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
        ended = [*self._earlier, *self._ended]
        whole = [done for done in ended if done.problem is None]
        (num_idle, idle_s), (num_writing, writing_s) = (self._steps[key] for key in (False, True))
        slower = (writing_s / num_writing) / (idle_s / num_idle) if num_idle and num_writing else None
        return {
            "saves": len(whole),
            "failed": len(ended) - len(whole),
            "bytes": whole[-1].num_bytes if whole else None,
            "written_in_s": sum(done.seconds for done in whole),
            "stalled_s": stalled_s,
            "step_while_writing_ratio": slower,
        }


def write_aside(path: Path, text: str) -> None:
    """Write a small file so that a reader sees the old one or the new one; a full disk is no reason to fail here."""
    aside = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    except OSError:
        aside.unlink(missing_ok=True)


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
    """The ledger in the words of a report: step, evaluation, checkpoint, warmup, data, gc, logging, unlogged."""
    out: dict[str, float] = {}
    for name, seconds in ledger["phases"].items():
        home = REPORTED.get(name, name.split("_")[0])
        out[home] = out.get(home, 0.0) + seconds
    return out
