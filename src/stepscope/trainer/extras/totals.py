"""Sums over a whole run for its ledger: what earlier processes of it spent, and what its checkpoints cost."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stepscope.trainer.extras.writer import Written


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
