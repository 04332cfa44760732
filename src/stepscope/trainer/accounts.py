"""Where the time of a run goes: phases that add up to the wall clock, and records of them.

There is one clock and one hand on it. `lap(phase)` gives everything since the last lap to a phase, so no second can be
counted twice or lost. A lap costs a quarter of a microsecond; a step has six.

Files next to the checkpoints, which a resumed run goes on with:

    steps.jsonl    a record per step with the seconds of its phases, and one per evaluation, checkpoint, collection …
    ledger.json    the sums over all processes of the run, at the end of each

What a run prints is in `train.log` (`extras/run_log.py`).

The records of kinds `ready` (before the first step), `step` and `end` have `phases`: together all of a process's time.
`stepscope explain` reads them (`source/trainer_records.py`).
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stepscope.trainer.extras.append import Appender, write_aside
from stepscope.trainer.extras.folder import LEDGER, STEPS
from stepscope.trainer.extras.totals import Earlier, read_earlier

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
DATA, FORWARD, BACKWARD, OPTIMIZER = range(4)
DEVICE, EVALUATION_TRAIN, EVALUATION_VAL, STAGING, WAITING = range(4, 9)
LOGGING, GC, COMPILE, STARTUP, SAMPLING, OTHER = range(9, 15)

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

    # -- the clock ------------------------------------------------------------------------------------------------

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

    def since_last_record(self) -> list[int]:
        """Nanoseconds of each phase since this was last asked."""
        spent, before = self._spent, self._before
        self._before = spent.copy()
        return [now - then for now, then in zip(spent, before, strict=True)]

    def forget(self, *phases: int) -> None:
        """Of these phases, the next record says nothing before now: another one has it."""
        for phase in phases:
            self._before[phase] = self._spent[phase]

    # -- the records ----------------------------------------------------------------------------------------------

    def open(self, folder: Path, step: int, settings: Mapping[str, object]) -> None:
        """Begin to write in a folder, after what the processes before this one wrote there."""
        self._folder = folder
        self.earlier = read_earlier(folder / STEPS)
        self._jsonl = Appender(folder / STEPS)
        age_s = self._age_s()
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
        is_again = number <= self.earlier.last_step  # a resumed run repeats what came after its checkpoint
        self._num_again += is_again
        if spent is None:
            spent = self.since_last_record()
        if self._jsonl is None:
            return
        shown = "".join(f',"{name}":{_number(value)}' for name, value in (figures or {}).items())
        again = ',"again":true' if is_again else ""
        self._records.append(
            f'{{"kind":"step","step":{number},"monotonic_s":{time.monotonic() - ago_s:.6f},'
            f'"time":{time.time() - ago_s:.6f},"duration_s":{seconds:.7f},"loss":{_number(loss)}{shown}{again},'
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
        wall_s = self._age_s()
        self._summed("end", step)
        if self._jsonl is not None:
            self._records.append(json.dumps({"kind": "ended", "how": ended, "wall_clock": time.time()}) + "\n")
        earlier = self.earlier
        seconds = {name: earlier.phases.get(name, 0.0) + self._spent[i] / 1e9 for i, name in enumerate(PHASES)}
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

    def _age_s(self) -> float:
        return (time.monotonic_ns() - self._start_mono_ns) / 1e9


def _number(value: float | None) -> str:
    return "null" if value is None or not math.isfinite(value) else repr(value)


def _parts(spent: Sequence[int]) -> str:
    return ",".join(f'"{PHASES[i]}":{each / 1e9:.9f}' for i, each in enumerate(spent) if each)
