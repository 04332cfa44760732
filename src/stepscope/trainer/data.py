"""Tokens: nanoGPT's `train.bin` and `val.bin`, the batches of a run, and the windows that it is evaluated on.

A `.bin` file is nothing but 16-bit token numbers. nanoGPT opens it for every batch; here it stays open, and one
gather makes the whole batch. Which characters the numbers mean is in `meta.pkl` (`extras/meta.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stepscope.trainer.config import TrainConfig, TrainerError
from stepscope.trainer.extras.device import World

GPT2_TOKENS = 50257
GPT2_VOCABULARY = 50304  # 50257 rounded up to a multiple of 64, which matrix units like
# With paired batches this part of nanoGPT's number gives differences at least twice as precise (see `Windows`).
FIXED_SHARE = 0.25


class Split:
    """One `.bin` file, open for as long as the run lasts."""

    def __init__(self, path: Path, *, block_size: int, vocab_size: int | None = None) -> None:
        self.path = path
        self.block_size = block_size
        self.vocab_size = vocab_size
        try:
            size = path.stat().st_size
            if size % 2 or size // 2 <= block_size + 1:
                raise TrainerError("train-short-data", place=str(path), tokens=size // 2, block_size=block_size)
            self._tokens = np.asarray(np.memmap(path, dtype=np.uint16, mode="r"))
        except FileNotFoundError:
            raise TrainerError("train-no-data", place=str(path), name=path.parent.name) from None
        except OSError as problem:
            raise TrainerError("train-unreadable", place=str(path), reason=problem.strerror or str(problem)) from None
        self._span = np.arange(block_size + 1)

    def __len__(self) -> int:
        return len(self._tokens)

    def windows(self, starts: Any, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and targets that begin at the given positions: the targets are one token further on."""
        block = self._tokens[np.asarray(starts)[:, None] + self._span]
        if self.vocab_size is not None and int(block.max()) >= self.vocab_size:
            # An index past the embedding is a crash on a CPU and a poisoned device on a GPU.
            raise TrainerError(
                "train-vocabulary", place=str(self.path), token=int(block.max()), vocab_size=self.vocab_size
            )
        both = torch.from_numpy(block.astype(np.int64))
        x, y = both[:, :-1].contiguous(), both[:, 1:].contiguous()
        if device.type == "cuda":
            # Pinned memory lets the copy run while the GPU computes.
            return x.pin_memory().to(device, non_blocking=True), y.pin_memory().to(device, non_blocking=True)
        return x.to(device), y.to(device)


class Batches:
    """The training batches of one process, and the position in them, which a checkpoint keeps.

    Two orders. nanoGPT's: every draw comes from PyTorch's global generator, which dropout and evaluation use as well.
    Ours: a generator of its own draws all micro-batches of an iteration at once and every process takes its share, so
    that neither the evaluation settings nor the number of processes change what is trained on.
    """

    def __init__(self, split: Split, config: TrainConfig, world: World) -> None:
        self._split = split
        self._device = world.device
        self._classic = config.eval == "nanogpt"
        self._generator = None if self._classic else torch.Generator().manual_seed(config.seed)
        micro = config.gradient_accumulation_steps
        self._shape = (micro, config.batch_size)
        self._own = slice(world.rank * micro // world.size, (world.rank + 1) * micro // world.size)
        self._drawn: Any = None  # starts of the iteration at hand, all processes together
        self._queue: list[Any] = []  # this process's batches that were not fetched yet

    def next(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The next micro-batch."""
        limit = len(self._split) - self._split.block_size
        if self._generator is None:
            self._drawn = torch.randint(limit, self._shape[1:])
            return self._split.windows(self._drawn, self._device)
        if not self._queue:
            self._drawn = torch.randint(limit, self._shape, generator=self._generator)
            self._queue = list(self._drawn[self._own])
        return self._split.windows(self._queue.pop(0), self._device)

    def state(self) -> dict[str, Any]:
        """Where the run is in its data, between two iterations: the batches that come next, and the generator's state.

        The first batch of the next iteration has been fetched already; `restore` hands it out again.
        """
        return {
            "generator": None if self._generator is None else self._generator.get_state(),
            "drawn": self._drawn.clone(),
        }

    def restore(self, state: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Go to a position and give back its first batch; None where the position is of a run with other batches."""
        drawn = state["drawn"]
        shape = self._shape[1:] if self._classic else self._shape
        if tuple(drawn.shape) != shape or (state["generator"] is None) != self._classic:
            return None
        self._drawn = drawn
        if self._generator is None:
            return self._split.windows(drawn, self._device)
        self._generator.set_state(state["generator"])
        self._queue = list(drawn[self._own])
        return self._split.windows(self._queue.pop(0), self._device)


class Windows:
    """The windows of a split that `--eval=fixed` looks at: spread evenly over it, the same in every run of one seed."""

    def __init__(self, split: Split, config: TrainConfig, world: World) -> None:
        self._split, self._world = split, world
        # A run that is nothing but an evaluation has no other one to be compared with: it is as long as it says.
        share = 1.0 if config.eval_only else FIXED_SHARE
        wanted = max(1, round(config.eval_iters * share)) * config.batch_size
        room = len(split) - split.block_size
        generator = torch.Generator().manual_seed(config.seed)
        # One random start in each of `wanted` equal stretches: no stretch of the text is left out.
        offsets = torch.rand(wanted, generator=generator, dtype=torch.float64)
        self._starts = ((torch.arange(wanted) + offsets) * (room / wanted)).long().clamp_(max=room - 1)

    def __len__(self) -> int:
        return len(self._starts)

    def batches(self, size: int) -> Iterator[tuple[torch.Tensor, torch.Tensor, int]]:
        """Inputs, targets, and how many of them count: each process takes its share, in equally many batches.

        Equally many, because a model in slices computes only where all processes do: one that has nothing left to do
        runs the first window and counts it as nothing.
        """
        starts, world = self._starts, self._world
        own = [part for part in starts[world.rank :: world.size].split(size) if len(part)]
        most = math.ceil(math.ceil(len(starts) / world.size) / size)
        for part, count in [(part, len(part)) for part in own] + [(starts[:1], 0)] * (most - len(own)):
            yield *self._split.windows(part, world.device), count
