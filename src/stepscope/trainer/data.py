"""Tokens: nanoGPT's folders (`train.bin`, `val.bin`, `meta.pkl`), and the batches of a run.

A `.bin` file is nothing but 16-bit token numbers. nanoGPT opens it for every batch; here it stays open, and one
gather makes the whole batch. `meta.pkl` is a pickle and so could run code: it is read by an unpickler that knows no
classes at all, which is enough for the dictionaries nanoGPT puts there.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stepscope.trainer.config import TrainConfig, TrainerError

GPT2_TOKENS = 50257
GPT2_VOCABULARY = 50304  # 50257 rounded up to a multiple of 64, which matrix units like


class Meta(NamedTuple):
    """What `meta.pkl` says of a character-level folder."""

    vocab_size: int
    stoi: dict[str, int]
    itos: dict[int, str]

    def encode(self, text: str) -> list[int]:
        """Tokens of a text; a character that the corpus never had is an error."""
        unknown = next((char for char in text if char not in self.stoi), None)
        if unknown is not None:
            raise TrainerError("train-unknown-character", place=repr(text[:40]), character=repr(unknown))
        return [self.stoi[char] for char in text]

    def first_tokens(self) -> list[int]:
        """What a text begins with where nothing is asked for: a line end, or any character of a corpus without one."""
        return [self.stoi.get("\n", 0)]

    def decode(self, tokens: Iterable[int]) -> str:
        """Text of tokens."""
        return "".join(self.itos.get(token, "\N{REPLACEMENT CHARACTER}") for token in tokens)


class _PlainUnpickler(pickle.Unpickler):
    """Numbers, text and containers only: a pickle that asks for any class or function is refused."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"asks for {module}.{name}")


def read_meta(folder: Path) -> Meta | None:
    """The folder's `meta.pkl`, where there is one."""
    path = folder / "meta.pkl"
    if not path.is_file():
        return None
    try:
        raw = _PlainUnpickler(io.BytesIO(path.read_bytes())).load()
        meta = Meta(int(raw["vocab_size"]), dict(raw.get("stoi", {})), dict(raw.get("itos", {})))
    except Exception as problem:  # a broken pickle can raise nearly anything, and all of it means the same
        raise TrainerError("train-bad-meta", place=str(path), reason=str(problem) or type(problem).__name__) from None
    if meta.vocab_size < 1:
        raise TrainerError("train-bad-meta", place=str(path), reason=f"vocab_size = {meta.vocab_size}")
    return meta


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

    def windows(self, starts: Any, device: Any) -> tuple[Any, Any]:
        """Inputs and targets that begin at the given positions: the targets are one token further on."""
        import torch

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

    def __init__(self, split: Split, config: TrainConfig, device: Any, *, rank: int = 0, world_size: int = 1) -> None:
        import torch

        self._split = split
        self._device = device
        self._classic = config.eval == "nanogpt"
        self._generator = None if self._classic else torch.Generator().manual_seed(config.seed)
        micro = config.gradient_accumulation_steps
        self._shape = (micro, config.batch_size)
        self._own = slice(rank * micro // world_size, (rank + 1) * micro // world_size)
        self._drawn: Any = None  # starts of the iteration at hand, all processes together
        self._queue: list[Any] = []  # this process's batches that were not fetched yet

    def next(self) -> tuple[Any, Any]:
        """The next micro-batch."""
        import torch

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

    def restore(self, state: dict[str, Any]) -> tuple[Any, Any] | None:
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
