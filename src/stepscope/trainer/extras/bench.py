"""How long a step takes here: nanoGPT's bench.py, with its settings, its numbers and its lines.

Ten steps warm up, twenty count. Nothing is evaluated, clipped or saved.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

from stepscope.trainer.config import TrainConfig
from stepscope.trainer.data import GPT2_VOCABULARY, Batches, Split
from stepscope.trainer.extras.corpora import find_folder
from stepscope.trainer.extras.device import World, for_this_machine, join_world, make_autocast
from stepscope.trainer.extras.meta import read_meta
from stepscope.trainer.model import GPT, ModelArgs, make_optimizers

# nanoGPT's bench.py has these of its own.
BENCH: dict[str, bool | int | float | str] = {
    **{"weight_decay": 1e-2, "learning_rate": 1e-4, "beta1": 0.9, "beta2": 0.95, "muon_lr": 1e-3},
    **{"gradient_accumulation_steps": 1, "eval": "nanogpt"},
}
WARM_UP, COUNTED = 10, 20
TRACES = "bench_log"


class Timing(NamedTuple):
    """Of the steps that count. `mfu` is a share of an A100's peak, None on other devices than GPUs."""

    step_s: float
    mfu: float | None


def bench(
    config: TrainConfig,
    *,
    real_data: bool,
    profile: bool = False,
    say: Callable[..., None],
    steps: tuple[int, int] = (WARM_UP, COUNTED),
) -> Timing:
    """Time some steps and print their losses. Without `real_data`, one batch of random tokens is used throughout."""
    world = join_world(config)
    device = world.device
    torch.manual_seed(config.seed)
    config = for_this_machine(config, device, say)
    next_batch, vocab_size = _batches(config, world, real_data=real_data)
    raw_model = GPT(ModelArgs.of(config, vocab_size)).to(device)
    optimizers = make_optimizers(raw_model, config)
    model: Any = raw_model
    if config.compile:
        print("Compiling model...", flush=True)
        model = torch.compile(raw_model)
    autocast = make_autocast(config, device)
    took_s = 0.0
    with _profiled() if profile else contextlib.nullcontext() as profiler:
        for count in steps:
            begin = time.perf_counter()
            x, y = next_batch()
            for number in range(count):
                with autocast():
                    _, loss = model(x, y)
                x, y = next_batch()
                for optimizer in optimizers:
                    optimizer.zero_grad(set_to_none=True)
                loss.backward()
                for optimizer in optimizers:
                    optimizer.step()
                # Reading the loss waits for the device.
                print(f"{number}/{count} loss: {loss.item():.4f}", flush=True)
                if profiler is not None:
                    profiler.step()
            took_s = time.perf_counter() - begin
    counted = steps[-1]
    mfu = raw_model.utilisation(config.batch_size * counted, took_s) if device.type == "cuda" else None
    return Timing(took_s / counted, mfu)


def _batches(config: TrainConfig, world: World, *, real_data: bool) -> tuple[Callable[[], Any], int]:
    """What gives the next batch, and the number of different tokens."""
    if real_data:
        folder = find_folder(config)
        meta = read_meta(folder)
        vocab_size = GPT2_VOCABULARY if meta is None else meta.vocab_size
        split = Split(folder / "train.bin", block_size=config.block_size, vocab_size=vocab_size)
        return Batches(split, config, world).next, vocab_size
    shape = (config.batch_size, config.block_size)
    x, y = (torch.randint(GPT2_VOCABULARY, shape, device=world.device) for _ in range(2))
    return lambda: (x, y), GPT2_VOCABULARY


def _profiled() -> Any:
    """PyTorch's profiler, as nanoGPT sets it up: a trace for TensorBoard or Perfetto in `bench_log`."""
    return torch.profiler.profile(
        schedule=torch.profiler.schedule(wait=5, warmup=5, active=5, repeat=1),
        on_trace_ready=torch.profiler.tensorboard_trace_handler(str(Path(TRACES))),
        with_flops=True,
    )
