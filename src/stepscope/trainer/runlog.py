"""What a run says while it goes: the lines of its log, messages to the person, how far it is, and its ledger.

The clock and the files of the ledger are in `accounts`; the words of the messages are the command line's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from stepscope.trainer import accounts as phases
from stepscope.trainer.accounts import STALLS, Accounts, CheckpointCosts
from stepscope.trainer.append import Appender
from stepscope.trainer.config import TrainConfig
from stepscope.trainer.device import World
from stepscope.trainer.folder import LOG, RunFolder
from stepscope.trainer.state import Progress
from stepscope.trainer.trackers import Trackers
from stepscope.trainer.writer import Written

# Say something to the person: a key and its values.
Say = Callable[..., None]
# Show what the run does now: its name ("step", "evaluation", …), the iteration, the last iteration, and the seconds of
# a step that is done.
Show = Callable[[str, int, int, float], None]


def silent(*args: object, **named: object) -> None:
    """Nobody listens: a test, or a process that is not the first."""


class RunLog:
    """The log of one process. Only the first one writes files and talks; the others keep their accounts in memory.

    Lines are printed at once, and written once the run is ready to train: a start that fails leaves no trace. An
    evaluation alone (`eval_only`) writes nothing at all.
    """

    def __init__(self, config: TrainConfig, world: World, *, say: Say, show: Show, started_ns: int) -> None:
        self._is_first = world.rank == 0
        self.say: Say = say if self._is_first else silent
        self._show: Show = show if self._is_first else silent
        self._file: Appender | None = None
        self._lines: list[str] = []  # of a log that has no file yet
        self._trackers: Trackers | None = None
        self.folder: RunFolder | None = None
        if self._is_first and not config.eval_only:
            self.folder = RunFolder(Path(config.out_dir))
        self.accounts = Accounts(started_ns=started_ns)
        self.checkpoint_costs = CheckpointCosts()
        self.progress = Progress(loss_sum=torch.zeros((), device=world.device))
        self.last_iteration = config.max_iters
        self.ended = "failed"  # until the loop says otherwise

    def open(self, config: TrainConfig, facts: Mapping[str, object]) -> None:
        """The run is ready to train: what an earlier one left is moved out of the way, and the files begin."""
        if self.folder is None:
            return
        kept = self.folder.begin(resumed=config.init_from == "resume")
        if kept is not None:
            self.say("train-kept", folder=str(kept))
        self._file = Appender(self.folder.path / LOG)
        self._file.append("".join(self._lines).encode())
        self._lines = []
        self.accounts.open(self.folder.path, self.progress.iteration, {**asdict(config), **facts})
        self.checkpoint_costs.follow(self.accounts.earlier.written)
        self._trackers = Trackers(config, self.folder.path, self.progress.iteration, self.say)

    def track(self, **figures: float | None) -> None:
        """Figures of the iteration at hand, for W&B and TensorBoard where they are asked for."""
        if self._trackers is not None:
            self._trackers.log(self.progress.iteration, {name.replace("__", "/"): own for name, own in figures.items()})

    def print(self, line: str, *, every_rank: bool = False, is_shown: bool = True) -> None:
        """A line of the log, out of the process before anything else happens; or for its file only."""
        self.show("log")
        if is_shown and (self._is_first or every_rank):
            print(line, flush=True)
        if self._file is not None:
            self._file.append(f"{line}\n".encode())
        elif self.folder is not None:
            self._lines.append(f"{line}\n")

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
        if self._trackers is not None:
            self._trackers.close()
            self.accounts.lap(phases.LOGGING)
        staged_s = sum(self.accounts.earlier.phases.get(name, 0.0) for name in STALLS)
        stalled_s = staged_s + self.accounts.seconds(phases.STAGING, phases.WAITING)
        self.accounts.facts["checkpoint"] = self.checkpoint_costs.facts(stalled_s)
        ledger = self.accounts.close(self.progress.iteration, self.ended)
        if self._file is not None:
            self._file.close()
        if self.folder is not None:
            self.folder.release()
        return ledger
