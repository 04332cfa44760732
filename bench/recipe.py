"""What each piece of the modern recipe is worth: the same network with one piece more, over several seeds.

    python bench/recipe.py                                  all pieces, three seeds, a network of minutes
    python bench/recipe.py --size tiny --iterations 150     the README's CPU recipe
    python bench/recipe.py --only none,all --seeds 1        some of it

Losses are over the same windows of the validation split for all. Time is the processor's, of the steps alone and on one
thread: neighbours on the machine make a run wait, but hardly change that clock.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import torch

from stepscope.trainer.config import Plain, learning_rate_at, muon_momentum_at, muon_rate_at
from stepscope.trainer.data import Split
from stepscope.trainer.extras.corpora import prepare_stdlib
from stepscope.trainer.extras.settings import build
from stepscope.trainer.model import GPT, ModelArgs, make_optimizers

SIZES = {
    "mini": {"n_layer": 4, "n_head": 4, "n_embd": 64, "block_size": 64, "batch_size": 12},
    "tiny": {"n_layer": 4, "n_head": 4, "n_embd": 128, "block_size": 64, "batch_size": 12},
    "baby": {"n_layer": 6, "n_head": 6, "n_embd": 384, "block_size": 256, "batch_size": 12},
}
# "ramp" is no part of the recipe: it is here because it was tried and lost. "bfloat16", of Muon's products alone, is
# part of it where the device is faster in it.
PIECES = ("rate", "momentum", "no-warmup", "warmdown", "decay", "ramp", "bfloat16")
VARIANTS = {
    "none": frozenset[str](),
    **{piece: frozenset({piece}) for piece in PIECES},
    "all": frozenset(PIECES) - {"ramp", "bfloat16"},
    "all-bfloat16": frozenset(PIECES) - {"ramp"},
    "nanogpt": None,  # stock's model, optimizer and rates
}
_VOCABULARY = 96
_CPU = torch.device("cpu")


class Point(NamedTuple):
    """An evaluation: the steps and the processor's seconds until then, and the loss."""

    iteration: int
    processor_s: float
    loss: float


class Run:
    """One network on its way."""

    def __init__(self, data: Path, size: str, pieces: frozenset[str] | None, seed: int, iterations: int) -> None:
        self.shape, self.pieces = SIZES[size], pieces
        stock: dict[str, Plain] = {"learning_rate": 1e-3, "min_lr": 1e-4, "warmup_iters": 100, "lr_decay_iters": 5000}
        rate = 1e-2 if pieces and "rate" in pieces else 3e-3
        ours: dict[str, Plain] = {"recipe": "modern", "learning_rate": rate, "min_lr": rate / 10, "warmup_iters": 20}
        ours |= {"lr_decay_iters": iterations, "schedule": "wsd" if pieces and "warmdown" in pieces else "cosine"}
        self.config = build({**self.shape, "device": "cpu", "beta2": 0.99, **(stock if pieces is None else ours)})
        torch.manual_seed(seed)
        shape = {name: value for name, value in self.shape.items() if name != "batch_size"}
        args = ModelArgs(**shape, bias=False, vocab_size=_VOCABULARY, dropout=0.0, recipe=self.config.recipe)
        self.model = GPT(args)
        # The network itself stays in float32: only the optimizers are asked to take the other precision.
        precision = "bfloat16" if pieces and "bfloat16" in pieces else "float32"
        self.optimizers = make_optimizers(self.model, replace(self.config, dtype=precision))
        self._train, self._val = (Split(data / f"{name}.bin", block_size=args.block_size) for name in ("train", "val"))
        self._chance = torch.Generator().manual_seed(seed)

    def _windows(self, split: Split, chance: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        return split.windows(
            torch.randint(len(split) - split.block_size, (self.shape["batch_size"],), generator=chance), _CPU
        )

    def loss(self, batches: int) -> float:
        chance = torch.Generator().manual_seed(1)
        with torch.inference_mode():
            found: list[float] = [self.model(*self._windows(self._val, chance))[1].item() for _ in range(batches)]
        return statistics.mean(found)

    def _set(self, iteration: int) -> None:
        """Rates, momentum and decay of one iteration, as the pieces have them."""
        pieces = self.pieces or frozenset()
        rate = learning_rate_at(self.config, iteration)
        for optimizer, is_muon in zip(self.optimizers, (False, True), strict=False):
            for group in optimizer.param_groups:
                group["lr"] = rate
                if is_muon:
                    warmed = rate * self.config.muon_lr / self.config.learning_rate
                    group["lr"] = muon_rate_at(self.config, iteration) if "no-warmup" in pieces else warmed
                    group["momentum"] = muon_momentum_at(iteration) if "momentum" in pieces else 0.95
                    group["weight_decay"] = self.config.weight_decay if "decay" in pieces else 0.0

    def steps(self, iterations: int) -> Iterator[float]:
        """The processor's seconds of each."""
        for iteration in range(iterations):
            x, y = self._windows(self._train, self._chance)
            if self.pieces and "ramp" in self.pieces and iteration < 0.3 * iterations:
                part = 1 if iteration < 0.15 * iterations else 2
                x, y = x[: len(x) * part // 3], y[: len(y) * part // 3]
            start = time.process_time()
            self._set(iteration)
            self.model(x, y)[1].backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            for optimizer in self.optimizers:
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            yield time.process_time() - start


def curve(run: Run, iterations: int, every: int, batches: int) -> list[Point]:
    points, used = [Point(0, 0.0, run.loss(batches))], 0.0
    for number, seconds in enumerate(run.steps(iterations), 1):
        used += seconds
        if number % every == 0 or number == iterations:
            points.append(Point(number, used, run.loss(batches)))
    return points


def crossing(points: list[Point], loss: float) -> Point | None:
    """Where a curve first has a loss; between two evaluations it is taken to fall along a line."""
    for before, after in pairwise(points):
        if after.loss <= loss < before.loss:
            part = (before.loss - loss) / (before.loss - after.loss)
            return Point(
                round(before.iteration + part * (after.iteration - before.iteration)),
                before.processor_s + part * (after.processor_s - before.processor_s),
                loss,
            )
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=tuple(SIZES), default="mini")
    parser.add_argument("--only", default=",".join(VARIANTS), help=f"some of: {', '.join(VARIANTS)}")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--stock-iterations", type=int, default=225, help="of nanogpt")
    parser.add_argument("--every", type=int, default=25, help="iterations between evaluations")
    parser.add_argument("--batches", type=int, default=4, help="of an evaluation")
    args = parser.parse_args()
    torch.set_num_threads(1)
    data = Path(tempfile.mkdtemp(prefix="stepscope-bench-"))
    prepare_stdlib(data)
    for seed in map(int, args.seeds.split(",")):
        found: dict[str, list[Point]] = {}
        for name in args.only.split(","):
            length = args.stock_iterations if name == "nanogpt" else args.iterations
            found[name] = curve(Run(data, args.size, VARIANTS[name], seed, length), length, args.every, args.batches)
            last = found[name][-1]
            line = f"{args.size}, seed {seed}, {name:12}: {last.loss:.4f} after {length} iterations"
            print(f"{line}, {1000 * last.processor_s / length:.0f} ms of the processor each", flush=True)
        stock = found.get("nanogpt")
        for name, points in found.items():
            if stock is not None and name != "nanogpt" and (reached := crossing(points, stock[-1].loss)) is not None:
                line = f"  {name} has nanoGPT's {stock[-1].loss:.4f} after {reached.iteration} iterations"
                ratio = stock[-1].processor_s / reached.processor_s
                print(f"{line}: {stock[-1].iteration / reached.iteration:.1f} times fewer, {ratio:.1f} in time")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
