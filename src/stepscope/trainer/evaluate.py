"""How good is the network now? Two ways to ask.

`--eval=nanogpt` draws fresh random batches of both splits every time. Its numbers are nanoGPT's own, and as noisy: two
evaluations differ by the luck of the draw far more than by what was learned in between.

`--eval=fixed` looks at the *same* windows every time, spread evenly over the validation split. Luck then cancels in the
difference, which is what one watches: it is four to seven times less noisy. So a quarter of the batches is plenty, the
training split needs no passes of its own (the mean of the training losses since the last evaluation says the same), and
each process takes its share of the windows.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch

from stepscope.trainer.accounts import EVALUATION_TRAIN, EVALUATION_VAL, Accounts
from stepscope.trainer.config import TrainConfig
from stepscope.trainer.data import Split
from stepscope.trainer.device import exact, random_state, set_random_state
from stepscope.trainer.memory import device_peak

# With paired batches this part of nanoGPT's number gives differences at least twice as precise as its own (see above).
FIXED_SHARE = 0.25
# Training batches in one batch of an evaluation, where they fit: no activations are kept, but logits of every position
# are, and with a large vocabulary those are most of it. A CPU gains nothing by it (measured: 0.85 to 1.1).
_BATCHES_AT_ONCE = (4, 2)

# Runs one training step of one micro-batch, or one batch of an evaluation with this many sequences, and returns the
# most memory that was in use meanwhile; None: the device does not say.
Peak = Callable[[int | None], int | None]


def fitting_batch(batch_size: int, peak: Peak) -> int:
    """The largest batch of an evaluation that needs no more memory than a training step.

    A training batch always fits: the same forward pass, with nothing kept for a backward pass. More are tried only
    where two measurements say that they fit, and are measured before they are believed.
    """
    allowed = peak(None)
    if allowed is None:
        return batch_size
    half = max(1, batch_size // 2)
    one, part = peak(batch_size), peak(half)
    if one is None or part is None or half == batch_size:
        return batch_size
    each = max(0, one - part) / (batch_size - half)  # bytes of one more sequence
    for times in _BATCHES_AT_ONCE:
        size = batch_size * times
        if one + each * (size - batch_size) <= allowed and (peak(size) or allowed + 1) <= allowed:
            return size
    return batch_size


def make_peak(model: torch.nn.Module, config: TrainConfig, device: torch.device, autocast: Callable[[], Any]) -> Peak:
    """Measures a training step, or a batch of an evaluation; the run does not notice."""

    def work(sequences: int | None) -> None:
        shape = (config.batch_size if sequences is None else sequences, config.block_size)
        tokens = torch.zeros(shape, dtype=torch.long, device=device)
        with contextlib.nullcontext() if sequences is None else torch.inference_mode(), autocast():
            _, loss = model(tokens, tokens)
        if sequences is None:
            loss.backward()
            model.zero_grad(set_to_none=True)

    def peak(sequences: int | None) -> int | None:
        before = random_state(device)
        found = device_peak(device, lambda: work(sequences))
        set_random_state(before, device)
        return found

    return peak


class Losses(NamedTuple):
    """One evaluation."""

    train: float
    val: float


class Evaluator:
    """Evaluates one run.

    `autocast` makes the context in which the model computes. `accounts` gets the time spent. This process is number
    `rank` of `world_size`; `reduce` adds up a tensor over all processes.
    """

    def __init__(
        self,
        config: TrainConfig,
        splits: dict[str, Split],
        device: torch.device,
        *,
        autocast: Callable[[], Any],
        accounts: Accounts,
        rank: int = 0,
        world_size: int = 1,
        reduce: Callable[[torch.Tensor], Any] | None = None,
    ) -> None:
        self._config = config
        self._has_train_split = config.eval_train or config.eval_only
        self._splits = splits
        self._device = device
        self._autocast = autocast
        self._accounts = accounts
        self._rank, self._world_size, self._reduce = rank, world_size, reduce
        self.batch_size = config.batch_size  # setup raises it where more fit: see `fitting_batch`
        self._windows = {name: self._spread(split) for name, split in splits.items()}

    @property
    def passes(self) -> float:
        """Training batches' worth of forward passes that one evaluation is on this process, with `--eval=fixed`."""
        splits = ("train", "val") if self._has_train_split else ("val",)
        return sum(len(self._windows[name]) for name in splits) / self._config.batch_size / self._world_size

    def _spread(self, split: Split) -> torch.Tensor:
        """The starts of the fixed windows: evenly over the split, the same in every run of one seed."""
        # A run that is nothing but an evaluation has no other one to be compared with: it is as long as it says.
        share = 1.0 if self._config.eval_only else FIXED_SHARE
        wanted = max(1, round(self._config.eval_iters * share)) * self._config.batch_size
        room = len(split) - split.block_size
        generator = torch.Generator().manual_seed(self._config.seed)
        # One random start in each of `wanted` equal stretches: no stretch of the text is left out.
        offsets = torch.rand(wanted, generator=generator, dtype=torch.float64)
        return ((torch.arange(wanted) + offsets) * (room / wanted)).long().clamp_(max=room - 1)

    def __call__(self, model: torch.nn.Module, running_loss: float | None, first: tuple[Any, Any]) -> Losses:
        """Losses now. `running_loss`: the mean since the last evaluation, None before the first step."""
        model.eval()
        try:
            if self._config.eval == "nanogpt":
                return self._classic(model)
            if self._has_train_split:
                train = self._fixed(model, "train")
            elif running_loss is not None:
                train = running_loss
            else:
                train = self._mean(
                    model, [(*first, len(first[0]))]
                )  # before the first step: the batch it will be made of
            self._accounts.lap(EVALUATION_TRAIN)
            val = self._fixed(model, "val")
            self._accounts.lap(EVALUATION_VAL)
            return Losses(train, val)
        finally:
            model.train()

    def _fixed(self, model: torch.nn.Module, name: str) -> float:
        """Over the fixed windows of a split; each process takes its share, in equally many batches.

        Equally many, because a model in slices computes only where all processes do: one that has nothing left to do
        runs the first window and counts it as nothing.
        """
        starts, split = self._windows[name], self._splits[name]
        own = [part for part in starts[self._rank :: self._world_size].split(self.batch_size) if len(part)]
        most = math.ceil(math.ceil(len(starts) / self._world_size) / self.batch_size)
        batches = [(part, len(part)) for part in own] + [(starts[:1], 0)] * (most - len(own))
        return self._mean(model, ((*split.windows(part, self._device), count) for part, count in batches))

    def _mean(self, model: torch.nn.Module, batches: Iterable[tuple[Any, Any, int]]) -> float:
        """Mean loss over the sequences of all processes; one wait for the device at the end, not one per batch."""
        losses, counts = [], []
        # What is gathered in inference mode could not be trained on afterwards.
        with torch.no_grad() if self._config.shard else torch.inference_mode():
            for x, y, count in batches:
                with self._autocast():
                    _, loss = model(x, y)
                losses.append(loss)
                counts.append(count)
            values = torch.stack(losses).tolist()
        # Added up on the host: in Python's double precision, which not every device has.
        total = sum(value * count for value, count in zip(values, counts, strict=True)), sum(counts)
        if self._reduce is None:
            return total[0] / total[1]
        shared = torch.tensor(total, dtype=exact(self._device), device=self._device)
        self._reduce(shared)
        summed, count = shared.tolist()
        return float(summed / count)

    @torch.no_grad()
    def _classic(self, model: torch.nn.Module) -> Losses:
        """nanoGPT's estimate: fresh draws from the global generator, the training split first, float32 mean."""
        means = []
        for name, phase in (("train", EVALUATION_TRAIN), ("val", EVALUATION_VAL)):
            split, losses = self._splits[name], torch.zeros(self._config.eval_iters)
            for k in range(self._config.eval_iters):
                starts = torch.randint(len(split) - split.block_size, (self._config.batch_size,))
                x, y = split.windows(starts, self._device)
                with self._autocast():
                    _, loss = model(x, y)
                losses[k] = loss.item()
            means.append(losses.mean().item())
            self._accounts.lap(phase)
        return Losses(*means)
