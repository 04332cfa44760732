"""What a run says while it goes: nanoGPT's lines, messages, a progress display, and the figures for trackers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from stepscope.trainer.accounts import LOGGING, PHASES, STAGING, WAITING, Accounts
from stepscope.trainer.config import TrainConfig, TrainerError
from stepscope.trainer.extras.append import Appender
from stepscope.trainer.extras.folder import LOG, RunFolder
from stepscope.trainer.extras.totals import CheckpointCosts
from stepscope.trainer.extras.trackers import Trackers
from stepscope.trainer.extras.writer import Written

# Say something to the person: a key and its values; the words are the command line's.
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

    def __init__(self, config: TrainConfig, *, is_first: bool, say: Say, show: Show, started_ns: int) -> None:
        self._is_first = is_first
        self.say: Say = say if is_first else silent
        self._show: Show = show if is_first else silent
        self._file: Appender | None = None
        self._lines: list[str] = []  # of a log that has no file yet
        self._trackers: Trackers | None = None
        self.folder = RunFolder(Path(config.out_dir)) if is_first and not config.eval_only else None
        self.accounts = Accounts(started_ns=started_ns)
        self.checkpoint_costs = CheckpointCosts()
        self.iteration, self.last_iteration = 0, config.max_iters
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
        self.accounts.open(self.folder.path, self.iteration, {**asdict(config), **facts})
        self.checkpoint_costs.follow(self.accounts.earlier.written)
        self._trackers = Trackers(config, self.folder.path, self.iteration, self.say)

    def print(self, line: str, *, every_rank: bool = False, is_shown: bool = True) -> None:
        """A line of the log, out of the process before anything else happens; or for its file only."""
        self.show("log")
        if is_shown and (self._is_first or every_rank):
            # In one piece: `torchrun` starts unbuffered processes, and a line's end written apart comes too late.
            print(f"{line}\n", end="", flush=True)
        if self._file is not None:
            self._file.append(f"{line}\n".encode())
        elif self.folder is not None:
            self._lines.append(f"{line}\n")

    def print_step(
        self, loss: float | None, seconds: float, figures: Mapping[str, float | None], mfu: float | None
    ) -> None:
        """nanoGPT's line of an iteration, with the mfu where it means something."""
        shown = "" if mfu is None else f", mfu {mfu * 100:.2f}%"
        self.print(f"iter {self.iteration}: loss {loss:.4f}, time {seconds * 1000:.2f}ms{shown}")
        self.track(loss=loss, step_ms=1000 * seconds, lr=figures["lr"], grad_norm=figures["grad_norm"])

    def print_evaluation(self, train: float, val: float, took_ns: int, figures: Mapping[str, float | None]) -> None:
        """nanoGPT's line of an evaluation, and its record."""
        self.print(f"step {self.iteration}: train loss {train:.4f}, val loss {val:.4f}")
        self.accounts.event("evaluation", self.iteration, took_ns, train_loss=train, val_loss=val)
        mfu = None if figures["mfu"] is None else 100 * figures["mfu"]
        self.track(train__loss=train, val__loss=val, lr=figures["lr"], mfu=mfu)

    def stop_if_nan(self, loss: float | None) -> None:
        """A network whose loss is no number learns nothing more."""
        if loss is not None and not math.isfinite(loss):
            iteration, saved = self.iteration, self.checkpoint_costs.last_whole
            place = f"iteration {iteration}"
            raise TrainerError("train-nan", place=place, iteration=iteration, value=str(loss), saved=saved)

    def print_optimizers(self, model: torch.nn.Module, optimizers: Sequence[torch.optim.Optimizer]) -> None:
        """nanoGPT's three lines; the counts are over both optimizers."""
        if not optimizers:
            return
        for decays, word in ((True, "decayed"), (False, "non-decayed")):
            counts = [p.numel() for p in model.parameters() if (p.dim() >= 2) == decays]
            self.print(f"num {word} parameter tensors: {len(counts)}, with {sum(counts):,} parameters")
        self.print(f"using fused AdamW: {optimizers[0].defaults['fused']}")

    def show(self, doing: str, seconds: float = 0.0) -> None:
        """Where the run is and what it does, for a progress display."""
        self._show(doing, self.iteration, self.last_iteration, seconds)

    def track(self, **figures: float | None) -> None:
        """Figures of the iteration at hand, for W&B and TensorBoard where they are asked for."""
        if self._trackers is not None:
            self._trackers.log(self.iteration, {name.replace("__", "/"): own for name, own in figures.items()})

    def note_written(self, done: Written | None) -> None:
        """Record a checkpoint that has ended; None: none has."""
        if done is None:
            return
        self.checkpoint_costs.add(done)
        facts = {"bytes": done.num_bytes, "problem": done.problem}
        self.accounts.event("checkpoint_written", done.iteration, int(done.seconds * 1e9), **facts)
        if done.problem is not None:
            self.say("train-save-failed", iteration=done.iteration, reason=done.problem)

    def close(self) -> dict[str, Any]:
        """End the log, and give back the ledger."""
        if self._trackers is not None:
            self._trackers.close()
            self.accounts.lap(LOGGING)
        earlier = sum(self.accounts.earlier.phases.get(PHASES[phase], 0.0) for phase in (STAGING, WAITING))
        stalled_s = earlier + self.accounts.seconds(STAGING, WAITING)
        self.accounts.facts["checkpoint"] = self.checkpoint_costs.facts(stalled_s)
        ledger = self.accounts.close(self.iteration, self.ended)
        if self._file is not None:
            self._file.close()
        if self.folder is not None:
            self.folder.release()
        return ledger
