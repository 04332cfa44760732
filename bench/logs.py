"""Logs of any size for the benches, made up line by line as the trainers print them. The same every time."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from pathlib import Path

_BLOCK = 1000  # steps between evaluations


def write(path: Path, kind: str, megabytes: float) -> None:
    """Write a log of one of the `KINDS`."""
    size = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        for block in KINDS[kind](random.Random(1), megabytes * 1e6):
            file.write(block)
            size += len(block.encode())
            if size >= megabytes * 1e6:
                return


def _nanogpt(dice: random.Random, _: float) -> Iterator[str]:
    """Every iteration, an evaluation and a save every thousand."""
    tails = [
        f"loss {3 + dice.random():.4f}, time {dice.gauss(170, 3):.2f}ms, mfu {30 + dice.random():.2f}%\n"
        for _ in range(1 << 16)
    ]
    step = 0
    while True:
        lines = [
            f"step {step}: train loss {3 + dice.random():.4f}, val loss {3 + dice.random():.4f}\n",
            "saving checkpoint to out\n",
        ]
        lines += [f"iter {at}: {dice.choice(tails)}" for at in range(step, step + _BLOCK)]
        step += _BLOCK
        yield "".join(lines)


def _tqdm(dice: random.Random, size: float) -> Iterator[str]:
    """A coloured bar drawn over itself, the Trainer's dict every hundred steps, an evaluation every thousand."""
    total = int(size / 80)
    eighths = " ▏▎▍▌▋▊▉"
    yield f"***** Running training *****\n  Total optimization steps = {total:,}\n"
    step = 0
    while True:
        lines = []
        for at in range(step + 1, step + _BLOCK + 1):
            full, part = divmod(80 * at // total, 8)
            bar = ("█" * min(10, full) + (eighths[part] if full < 10 and part else "")).ljust(10)
            elapsed, rate = at / 4.0, 4 + dice.random() / 5
            lines.append(
                f"\r{100 * at // total:3d}%|\x1b[32m{bar}\x1b[0m| {at}/{total} "
                f"[{_clock(elapsed)}<{_clock((total - at) / rate)}, {rate:5.2f}it/s]"
            )
            if at % 100 == 0:
                lines.append(
                    f"\n{{'loss': {2 + dice.random():.4f}, 'grad_norm': {1 + dice.random():.4f}, "
                    f"'learning_rate': {5e-5 * (1 - at / total):.4e}, 'epoch': {3 * at / total:.2f}}}\n"
                )
        step += _BLOCK
        lines.append(
            f"\n{{'eval_loss': {2 + dice.random():.4f}, 'eval_runtime': {30 + dice.random():.4f}, "
            f"'eval_samples_per_second': 33.1, 'epoch': {3 * step / total:.2f}}}\n"
            f"Saving model checkpoint to out/checkpoint-{step}\n"
        )
        yield "".join(lines)


def _clock(seconds: float) -> str:
    minutes, second = divmod(int(max(0, seconds)), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:d}:{minute:02d}:{second:02d}" if hour else f"{minute:02d}:{second:02d}"


def _megatron(dice: random.Random, size: float) -> Iterator[str]:
    """A stamped line for every iteration, an evaluation and a save every thousand."""
    total = int(size / 300) // _BLOCK * _BLOCK + _BLOCK
    now = dt.datetime(2026, 2, 3, 4, 5, 6)
    step = 0
    while True:
        lines = []
        for at in range(step + 1, step + _BLOCK + 1):
            took = dice.gauss(812, 4)
            now += dt.timedelta(milliseconds=took)
            lines.append(
                f" [{now:%Y-%m-%d %H:%M:%S.%f}] iteration {at:8d}/{total:8d} | consumed samples: {256 * at:12d} | "
                f"elapsed time per iteration (ms): {took:.1f} | "
                f"throughput per GPU (TFLOP/s/GPU): {dice.gauss(301, 1):.1f} | "
                f"learning rate: {1e-4 * (1 - at / (total + 1)):.6E} | global batch size:   256 | "
                f"lm loss: {2 + dice.random():.6E} | loss scale: 1.0 | grad norm: {1 + dice.random():.3f} | "
                "number of skipped iterations:   0 | number of nan iterations:   0 |\n"
            )
        step += _BLOCK
        lines.append(
            f"validation loss at iteration {step} | lm loss value: {2 + dice.random():.6E} | "
            f"lm loss PPL: {9 + dice.random():.6E} |\n"
            f"saving checkpoint at iteration {step:8d} to out in torch format\n"
        )
        yield "".join(lines)


def _foreign(dice: random.Random, _: float) -> Iterator[str]:
    """Some hundred iterations, then prose and the output of another program: lines that nobody reads."""
    yield "".join(
        f"iter {step}: loss {3 + dice.random():.4f}, time {dice.gauss(170, 3):.2f}ms, mfu {30 + dice.random():.2f}%\n"
        for step in range(300)
    )
    words = (
        "worker",
        "batch",
        "cache",
        "token",
        "stream",
        "value",
        "node",
        "disk",
        "late",
        "early",
        "page",
        "tree",
        "path",
    )
    while True:
        lines = []
        for _ in range(_BLOCK):
            lines.append(" ".join(dice.choices(words, k=dice.randint(2, 6))) + ".\n")
            lines.append(f"{dice.choice(words)} {dice.randint(0, 63)} handled {dice.randint(0, 99999)}\n")
        yield "".join(lines)


KINDS = {"nanogpt": _nanogpt, "tqdm": _tqdm, "megatron": _megatron, "foreign": _foreign}
