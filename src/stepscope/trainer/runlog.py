"""What a run says while it goes: the lines of its log, messages to the person, how far it is, and its ledger.

The clock and the files of the ledger are in `accounts`; the words of the messages are the command line's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from stepscope.trainer import accounts as phases
from stepscope.trainer.accounts import Accounts, CheckpointCosts, open_folder
from stepscope.trainer.append import Appender
from stepscope.trainer.config import TrainConfig
from stepscope.trainer.device import World
from stepscope.trainer.state import Progress
from stepscope.trainer.writer import Written

# Say something to the person: a key and its values.
Say = Callable[..., None]
# Show what the run does now: its name ("step", "evaluation", …), the iteration, the last iteration, and the seconds of
# a step that is done.
Show = Callable[[str, int, int, float], None]


def silent(*args: object, **named: object) -> None:
    """Nobody listens: a test, or a process that is not the first."""


class RunLog:
    """The log of one process. Only the first one writes files and talks; the others keep their accounts in memory."""

    def __init__(self, config: TrainConfig, world: World, *, say: Say, show: Show, started_ns: int) -> None:
        folder, self._is_first = Path(config.out_dir), world.rank == 0
        self.say: Say = say if self._is_first else silent
        self._show: Show = show if self._is_first else silent
        self._file: Appender | None = None
        if self._is_first:
            open_folder(folder, resumed=config.init_from == "resume")
            self._file = Appender(folder / "train.log")
        self.accounts = Accounts(folder if self._is_first else None, started_ns=started_ns)
        self.checkpoint_costs = CheckpointCosts()
        self.progress = Progress(loss_sum=torch.zeros((), device=world.device))
        self.last_iteration = config.max_iters  # setup lowers it to what fits into a budget

    def print(self, line: str, *, every_rank: bool = False) -> None:
        """A line of the log, out of the process before anything else happens."""
        self.show("log")
        if self._is_first or every_rank:
            print(line, flush=True)
        if self._file is not None:
            self._file.append(f"{line}\n".encode())

    def show(self, doing: str, seconds: float = 0.0) -> None:
        """Where the run is and what it does, for a progress display."""
        self._show(doing, self.progress.iteration, self.last_iteration, seconds)

    def note_written(self, done: Written | None) -> None:
        """Record a checkpoint that has ended; None: none has."""
        if done is None:
            return
        self.checkpoint_costs.add(done)
        took = int(done.seconds * 1e9)
        facts = {"bytes": done.num_bytes, "problem": done.problem}
        self.accounts.event("checkpoint_written", done.iteration, took, **facts)
        if done.problem is not None:
            self.say("train-save-failed", iteration=done.iteration, reason=done.problem)

    def close(self) -> dict[str, Any]:
        """End the log, and give back the ledger."""
        stalled_s = self.accounts.seconds(phases.STAGING, phases.WAITING)
        self.accounts.facts["iterations"] = self.progress.iteration - self.progress.first_iteration
        self.accounts.facts["checkpoint"] = self.checkpoint_costs.facts(stalled_s)
        ledger = self.accounts.close()
        if self._file is not None:
            self._file.close()
        return ledger
