"""Runs of other trainers than `made_up`'s, each with the seconds that are true of it. Shares no code with the analysis.

What a trainer prints is what its shape writes: whole seconds of a bar, means of ten iterations, times without moments,
the compute of each rank. Seconds that pass unprinted, a save between two bars, pass in the log's moments only.

    python -m tests.fleet.made_shapes FOLDER [NUMBER]     write some to look at
"""

from __future__ import annotations

import datetime as dt
import os
import random
import sys
from collections import Counter
from pathlib import Path

START = dt.datetime(2026, 3, 2, 8, 0, 0)
EVALUATES = 50


class Run:
    """A clock, the seconds by what they were spent on, and the lines of each file."""

    def __init__(self, dice: random.Random) -> None:
        self.dice, self.at = dice, START + dt.timedelta(hours=dice.uniform(0, 1000))
        self.began = self.at
        self.files: dict[str, list[str]] = {}
        self.spent: Counter[str] = Counter()
        self.step_s = dice.uniform(4, 12)

    def pass_(self, seconds: float, cause: str) -> float:
        self.at += dt.timedelta(seconds=seconds)
        self.spent[cause] += seconds
        return seconds

    def line(self, text: str, file: str = "train.log") -> None:
        self.files.setdefault(file, []).append(text)

    def step(self) -> float:
        return self.pass_(self.step_s * self.dice.gauss(1, 0.01), "step")

    def clock(self, seconds: float) -> str:
        minutes, rest = divmod(int(seconds), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"

    def elapsed(self) -> str:
        return self.clock((self.at - self.began).total_seconds())


def mmengine(run: Run) -> None:
    """Text of MMEngine's logger: moments in whole seconds, means of ten iterations and their waits for data."""
    steps, waits = 400, run.dice.choice([0.0, 0.1, 0.5])

    def say(text: str) -> None:
        run.line(f"{run.at:%Y/%m/%d %H:%M:%S} - mmengine - INFO - {text}")

    say("Start running, host: trainer@node, work_dir: /work")
    for step in range(1, steps + 1):
        waited = run.pass_(run.step_s * waits * run.dice.uniform(0.5, 1.5), "data") if waits else 0.0
        took = run.step() + waited
        if step % 10 == 1:
            sums = [0.0, 0.0]
        sums = [sums[0] + took, sums[1] + waited]
        if step % 10 == 0:
            left = str(dt.timedelta(seconds=int((steps - step) * run.step_s)))
            say(
                f"Iter(train) [{step:4d}/{steps}]  lr: 1.0000e-02  eta: {left}  time: {sums[0] / 10:.4f}  "
                f"data_time: {sums[1] / 10:.4f}  memory: 2928  loss: {3 + 6 / (1 + step / 9):.4f}"
            )
        if step % EVALUATES == 0 and step < steps:
            say(f"Saving checkpoint at {step} iterations")
            run.pass_(run.dice.uniform(8, 12), "checkpoint")
            each = run.dice.uniform(1.0, 1.5)
            run.pass_(20 * each, "evaluation")
            say(f"Iter(val) [20/20]    accuracy: {70 - 500 / step:.4f}  data_time: 0.0010  time: {each:.4f}")


def hf_trainer(run: Run) -> None:
    """The bar of Hugging Face's Trainer in whole seconds, and its dicts, which have the seconds of evaluations."""
    steps = 300
    run.line("***** Running training *****")
    run.line(f"  Total optimization steps = {steps}")
    for step in range(1, steps + 1):
        run.step()
        run.line(
            f"{step * 100 // steps:3d}%|{'#' * (step * 10 // steps):<10}| {step}/{steps} "
            f"[{run.elapsed()}<{run.clock((steps - step) * run.step_s)},  {run.step_s:.2f}s/it]"
        )
        loss = 3 + 6 / (1 + step / 9)
        if step % 10 == 0:
            run.line(f"{{'loss': {loss:.4f}, 'grad_norm': 0.8, 'learning_rate': 1e-05, 'epoch': {step / steps:.2f}}}")
        if step % EVALUATES == 0 and step < steps:
            took = run.pass_(run.dice.uniform(30, 60), "evaluation")
            run.line(
                f"{{'eval_loss': {loss:.4f}, 'eval_runtime': {took:.4f}, 'eval_samples_per_second': 5.0, "
                f"'eval_steps_per_second': 0.6, 'epoch': {step / steps:.2f}}}"
            )


def nanogpt(run: Run) -> None:
    """nanoGPT: no moments; the iteration after an evaluation contains it and its save, and neither is printed."""
    run.line("tokens per iteration will be: 491,520")
    for step in range(401):
        extra = 0.0
        if step % EVALUATES == 0:
            loss = 3 + 6 / (1 + step / 9)
            run.line(f"step {step}: train loss {loss:.4f}, val loss {loss + 0.05:.4f}")
            extra = run.pass_(run.dice.gauss(40, 0.3), "evaluation")
            # The first evaluation saves nothing, the others do.
            if step:
                run.line("saving checkpoint to out")
                extra += run.pass_(run.dice.gauss(10, 0.2), "checkpoint")
        took = run.step() + extra
        run.line(f"iter {step}: loss {3 + 6 / (1 + step / 9):.4f}, time {1000 * took:.2f}ms, mfu 38.12%")


def lightning(run: Run) -> None:
    """Lightning's bars: one an epoch, and one for each validation, all in whole seconds."""
    batches, epochs = 60, 5
    run.line("GPU available: True (cuda), used: True")
    for epoch in range(epochs):
        began = run.at
        for batch in range(1, batches + 1):
            run.step()
            run.line(
                f"Epoch {epoch}: {batch * 100 // batches:3d}%|{'#' * (batch * 10 // batches):<10}| {batch}/{batches} "
                f"[{run.clock((run.at - began).total_seconds())}<{run.clock((batches - batch) * run.step_s)},  "
                f"{run.step_s:.2f}s/it, v_num=0, train_loss={3 + 6 / (1 + batch / 9):.3f}]"
            )
        took = run.pass_(run.dice.uniform(30, 60), "evaluation")
        run.line(f"Validation DataLoader 0: 100%|##########| 9/9 [{run.clock(took)}<00:00,  {took / 9:.2f}s/it]")
    run.line(f"`Trainer.fit` stopped: `max_epochs={epochs}` reached.")


def ranks(run: Run) -> None:
    """Four ranks of Megatron that print their own compute; all wait for the slowest, one that in some runs is slow."""
    steps, slow = 120, run.dice.choice([None, 0, 2])
    for rank in range(4):
        run.line("using world size: 4, data-parallel size: 4", f"rank_{rank}.log")
    for step in range(1, steps + 1):
        own = [run.step_s * run.dice.gauss(1, 0.003) * (1.25 if rank == slow else 1) for rank in range(4)]
        longest = max(own)
        usual = sorted(own)[1]
        run.pass_(usual, "step")
        run.pass_(longest - usual, "straggler")
        for rank in range(4):
            run.line(
                f" [{run.at:%Y-%m-%d %H:%M:%S.%f}] iteration {step:8d}/{steps:8d} | consumed samples: {step * 256} | "
                f"elapsed time per iteration (ms): {own[rank] * 1000:.1f} | learning rate: 1.000000E-04 | "
                f"global batch size:   256 | lm loss: {3 + 6 / (1 + step / 8):.6E} | loss scale: 1.0 |",
                f"rank_{rank}.log",
            )
    if slow is None:
        # Equal ranks differ by chance; that is no straggler.
        run.spent["step"] += run.spent.pop("straggler")


SHAPES = {shape.__name__: shape for shape in (mmengine, hf_trainer, nanogpt, lightning, ranks)}


def make_shapes(folder: Path, num: int, *, seed: int = 1) -> dict[str, Counter[str]]:
    """Write `num` runs of each shape, each in its own folder; the true seconds of each shape by cause."""
    truth: dict[str, Counter[str]] = {}
    for name, shape in SHAPES.items():
        truth[name] = Counter()
        for number in range(num):
            run = Run(random.Random(f"{seed} {name} {number}"))
            shape(run)
            own = folder / name / f"run-{number}"
            own.mkdir(parents=True)
            for file, lines in run.files.items():
                path = own / file
                path.write_text("\n".join(lines) + "\n")
                os.utime(path, (run.at.timestamp(), run.at.timestamp()))
            truth[name].update(run.spent)
    return truth


if __name__ == "__main__":
    print(make_shapes(Path(sys.argv[1]).absolute(), int(sys.argv[2]) if len(sys.argv) > 2 else 20))
