"""How good is the network now? Two ways to ask.

`--eval=nanogpt` draws fresh random batches of both splits every time. Its numbers are nanoGPT's own, and as noisy: two
evaluations differ by the luck of the draw far more than by what was learned in between.

`--eval=fixed` looks at the *same* windows every time, spread evenly over the validation split. Luck then cancels in the
difference, which is what one watches: it is four to seven times less noisy. So a quarter of the batches is plenty, the
training split needs no passes of its own (the mean of the training losses since the last evaluation says the same), and
each process takes its share of the windows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch

from stepscope.trainer.accounts import EVALUATION_TRAIN, EVALUATION_VAL, Accounts
from stepscope.trainer.config import TrainConfig
from stepscope.trainer.data import Split

# With paired batches this part of nanoGPT's number gives differences at least twice as precise as its own (see above).
FIXED_SHARE = 0.25
# No activations are kept, so more sequences fit at once. A CPU gains nothing by it (measured: 0.85 to 1.1).
_BATCHES_AT_ONCE = {"cuda": 4}


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
        self._splits = splits
        self._device = device
        self._autocast = autocast
        self._accounts = accounts
        self._rank, self._world_size, self._reduce = rank, world_size, reduce
        at_once = _BATCHES_AT_ONCE.get(device.type, 1) if config.eval == "fixed" else 1
        self.batch_size = config.batch_size * at_once
        self._windows = {name: self._spread(split) for name, split in splits.items()}

    @property
    def passes(self) -> float:
        """Training batches' worth of forward passes that one evaluation is on this process, with `--eval=fixed`."""
        splits = ("train", "val") if self._config.eval_train else ("val",)
        return sum(len(self._windows[name]) for name in splits) / self._config.batch_size / self._world_size

    def _spread(self, split: Split) -> torch.Tensor:
        """The starts of the fixed windows: evenly over the split, the same in every run of one seed."""
        wanted = max(1, round(self._config.eval_iters * FIXED_SHARE)) * self._config.batch_size
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
            if self._config.eval_train:
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
        total = torch.zeros(2, dtype=torch.float64, device="cpu" if self._device.type == "mps" else self._device)
        # What is gathered in inference mode could not be trained on afterwards.
        with torch.no_grad() if self._config.shard else torch.inference_mode():
            for x, y, count in batches:
                with self._autocast():
                    _, loss = model(x, y)
                total += torch.stack([loss.double() * count, torch.tensor(float(count), device=loss.device)])
        if self._reduce is not None:
            self._reduce(total)
        summed, count = total.tolist()
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
