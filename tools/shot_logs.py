"""The logs that `tools/shots.py` takes pictures of: a run in every state, made here."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

DEMO = Path(__file__).resolve().parents[1] / "src" / "stepscope" / "demo"
DAY_S = 86_400.0
_TRACEBACK = ["Traceback (most recent call last):", '  File "train.py", line 301, in <module>']
_OUT_OF_MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 48.00 MiB. GPU 0 has a total capacity of 11.99 GiB "
    "of which 36.50 MiB is free. Process 1 has 11.90 GiB memory in use."
)
_MEMORY = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB"
_NCCL = "RuntimeError: NCCL communicator was aborted on rank 3"
_CONFIG = ("--config", str(DEMO / "config.py"))
# State → lines that follow the demo's, what else the command is told, and how long ago the last line was written.
_AFTER_DEMO: dict[str, tuple[list[str], tuple[str, ...], float]] = {
    "running": ([], (*_CONFIG, "--now", "2025-11-15 02:30", "--gpu", "RTX 4070"), 0),
    "finished": ([], (*_CONFIG, "--max-steps", "1300"), 0),
    "no-total": ([], (), 0),
    "stopped": ([], _CONFIG, 2 * DAY_S),
    "unknown": ([], _CONFIG, 600),
    "interrupted": ([*_TRACEBACK, "KeyboardInterrupt"], _CONFIG, 0),
    "killed": (["Killed"], _CONFIG, 0),
    "crashed": ([*_TRACEBACK, "RuntimeError: DataLoader worker (pid 4242) exited unexpectedly"], _CONFIG, 0),
    "oom": ([*_TRACEBACK, _OUT_OF_MEMORY], _CONFIG, 0),
}
STATES = (*_AFTER_DEMO, "oom-at-once", "excerpt", "epochs", "backtest", "slower", "ranks", "many")


def write_state(folder: Path, state: str) -> tuple[list[Path], tuple[str, ...]]:
    """The logs of a state, and the flags of the command that shows it."""
    folder.mkdir(parents=True, exist_ok=True)
    if state == "ranks":
        return [_write(folder / f"node{rank // 4}-rank{rank}.log", _rank(rank)) for rank in range(8)], ()
    age_s = 0.0
    flags: tuple[str, ...] = ()
    if state in _AFTER_DEMO:
        more, flags, age_s = _AFTER_DEMO[state]
        lines = [*(DEMO / "train.log").read_text(encoding="utf-8").splitlines(), *more]
    elif state == "oom-at-once":
        lines, flags = ["step 0: train loss 10.8237, val loss 10.8231", *_TRACEBACK, _OUT_OF_MEMORY], _CONFIG
    elif state == "excerpt":
        lines = (DEMO / "train.log").read_text(encoding="utf-8").splitlines()[6:14]
    elif state == "epochs":
        lines = _epochs()
    elif state == "backtest":
        lines = nanogpt(6200, 10_000, 171, every=10, evaluate=500, seed=3)
    elif state == "many":
        lines = nanogpt(60_000, 100_000, 42, every=1, evaluate=500, seed=5)
    else:  # slower: the level rises for a third of the run, and one stop is far longer than the others
        lines = nanogpt(6000, 9000, 171, every=10, evaluate=500, seed=4, slow=(2500, 4400, 1.6), stall=5120)
    return [_write(folder / "train.log", lines, age_s)], flags


def _write(path: Path, lines: list[str], age_s: float = 0.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    os.utime(path, (time.time() - age_s,) * 2)
    return path


def _rank(rank: int) -> list[str]:
    dice = random.Random(rank)
    slow = {5: 1.35}.get(rank, 1.0)
    took = [dice.gauss(212, 3) * (slow if step > 90 else 1) for step in range(240)]
    return [f"iter {step}: loss {8 / (1 + step / 60) ** 0.4:.4f}, time {ms:.2f}ms" for step, ms in enumerate(took)]


def _epochs() -> list[str]:
    lines = ["Epoch 1/9", "300/300 - 1015s - loss: 1.7932 - val_loss: 1.5277 - 1015s/epoch - 3s/step"]
    for epoch in range(2, 7):
        loss = 1.8 / epoch
        end = f"loss: {loss:.4f} - val_loss: {loss + 0.1:.4f} - 992s/epoch - 3s/step"
        lines += [f"Epoch {epoch}/9", f"300/300 - 992s - {end}"]
    return lines


def nanogpt(
    last: int,
    total: int | None,
    level_ms: float,
    *,
    every: int,
    evaluate: int,
    seed: int,
    slow: tuple[int, int, float] = (0, 0, 1.0),
    stall: int = -1,
) -> list[str]:
    """A nanoGPT log: evaluations, saves, a first iteration that compiles, a loss that falls."""
    dice = random.Random(seed)
    lines = [f"eval_interval = {evaluate}", "batch_size = 12", "block_size = 1024", "gradient_accumulation_steps = 5"]
    if total is not None:
        lines.append(f"max_iters = {total}")
    for step in range(0, last + 1, every):
        loss = (9.4 - 0.04 * seed) / (1 + step / (400 + 25 * seed)) ** 0.3
        took = level_ms * dice.gauss(1, 0.012) * (slow[2] if slow[0] <= step < slow[1] else 1)
        took += (9000 if step == 0 else 0) + (94_000 if step == stall else 0)
        if step % evaluate == 0:
            lines.append(f"step {step}: train loss {loss - 0.05:.4f}, val loss {loss + dice.gauss(0, 0.01):.4f}")
            took += 30 * level_ms
            if step and step % (2 * evaluate) == 0:
                lines.append("saving checkpoint to out")
                took += 1200
        lines.append(f"iter {step}: loss {loss + dice.gauss(0, 0.03):.4f}, time {took:.2f}ms, mfu 31.00%")
    return lines


def write_runs(root: Path, *, ages: float | None = None) -> None:
    """Runs in every state for the app; those that are going were written to a few seconds ago, or so long ago."""

    def write(name: str, lines: list[str], age_s: float, *died: str) -> None:
        end = ("Traceback (most recent call last):", *died) if died else ()
        _write(root / name, [*lines, *end], age_s if ages is None else ages)

    def small(last: int, level_ms: float, seed: int) -> list[str]:
        return nanogpt(last, 5000, level_ms, every=10, evaluate=250, seed=seed)

    def large(last: int, total: int | None, level_ms: float, seed: int) -> list[str]:
        return nanogpt(last, total, level_ms, every=10, evaluate=1000, seed=seed)

    write("gpt2-124m/lr-6e-4.log", large(13_740, 20_000, 169, 2), 1)
    write("gpt2-124m/no-compile.log", large(4200, 20_000, 236, 3), 0)
    write("gpt2-124m/baseline.log", large(20_000, 20_000, 171, 1), 0.9 * DAY_S)
    write("gpt2-124m/batch-32.log", large(30, 20_000, 410, 4), 7200, _MEMORY)
    write("gpt2-350m/warmup-2k.log", large(18_000, 60_000, 402, 5), 2)
    write("gpt2-350m/ctx-2048.log", large(31_200, 60_000, 398, 6), 40_000, _NCCL)
    write("gpt2-350m/preempted.log", [*large(9000, 60_000, 404, 11), "Killed"], 90_000)
    write("ablations/rope.log", small(5000, 96, 7), 2.3 * DAY_S)
    write("ablations/alibi.log", small(5000, 101, 8), 2.4 * DAY_S)
    write("ablations/nope.log", small(2600, 99, 9), 30_000)
    write("vision/resnet50.log", _epochs(), 3 * DAY_S)
    write("shakespeare/no-total.log", nanogpt(3000, None, 38, every=10, evaluate=250, seed=10), 3)
