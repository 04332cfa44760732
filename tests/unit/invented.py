"""Loggers nobody uses, with the truth beside each log: what a generic reader must find out by itself.

A run is simulated once (steps with a little noise, evaluations, saves, a slow first step) and printed in many styles.
"""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable
from typing import NamedTuple

START = dt.datetime(2026, 3, 1, 22, 0, 0)


class Step(NamedTuple):
    number: int
    seconds: float
    end: float  # on the wall clock, from the start
    own: float  # on a clock that stops for evaluations and saves
    evaluated: bool
    saved: bool


class Log(NamedTuple):
    text: str
    rows: int
    last: int
    typical_s: float
    wall_s: float | None  # None: what the log leaves out cannot be known from it
    evaluations: int = 0
    checkpoints: int = 0
    max_steps: int | None = None


def simulate(num=400, base=0.41, *, first=0, evaluate=100, eval_s=8.0, save=200, save_s=3.0, seed=1):
    """Steps of `base` seconds; behind every so many an evaluation or a save."""
    rng = random.Random(seed)
    clock = own = 0.0
    steps = []
    for index in range(num):
        seconds = base * (1 + 0.02 * rng.random()) + (3.0 if index == 0 else 0.0)
        clock, own = clock + seconds, own + seconds
        evaluated = bool(evaluate) and (index + 1) % evaluate == 0
        saved = bool(save) and (index + 1) % save == 0
        steps.append(Step(index + first, seconds, clock, own, evaluated, saved))
        clock += evaluated * eval_s + saved * save_s
    return steps


def loss(step):
    return 4.0 * math.exp(-step / 300) + 1.5


def stamp(seconds, form="%Y-%m-%d %H:%M:%S"):
    moment = START + dt.timedelta(seconds=seconds)
    return moment.strftime(form) + (f"{moment.microsecond // 1000:03d}" if form.endswith("S.") else "")


def clock(seconds):
    return str(dt.timedelta(seconds=int(seconds)))


Style = Callable[[], Log]
STYLES: dict[str, Style] = {}


def style(function):
    STYLES[function.__name__] = function
    return function


def plain(line, *, every=1, num=400, first=0, total=None, wall="own", header=(), **simulated):
    """A log with one line per `every` steps, without evaluations."""
    steps = simulate(num, first=first, evaluate=0, save=0, **simulated)
    shown = [step for step in steps if (step.number - first) % every == 0]
    text = "\n".join([*header, *(line(step) for step in shown)]) + "\n"
    return Log(
        text,
        len(shown),
        shown[-1].number,
        simulated.get("base", 0.41) * 1.01,
        getattr(shown[-1], wall) if wall else None,
        max_steps=total,
    )


@style
def bare_seconds():
    return plain(lambda s: f"it={s.number} l={loss(s.number):.3f} loss={loss(s.number):.4f} dt={s.seconds:.3f}")


@style
def fraction_in_brackets():
    return plain(lambda s: f"[{s.number}/400] loss {loss(s.number):.4f} ({s.seconds:.2f}s)", first=1, total=400)


@style
def milliseconds_and_stamps():
    return plain(
        lambda s: f"[{stamp(s.end)}] step {s.number} | loss {loss(s.number):.4f} | lr 3e-4 | {s.seconds * 1e3:.1f} ms",
        every=10,
        num=2000,
        wall="end",
    )


@style
def interval_total_and_stamps():
    steps = simulate(4000, evaluate=0, save=0)
    lines, last = [], 0.0
    for step in steps:
        if step.number % 100 == 99:
            lines.append(
                f"{stamp(step.end)} step {step.number}: loss={loss(step.number):.3f} took {step.end - last:.2f}s"
            )
            last = step.end
    return Log("\n".join(lines), len(lines), 3999, 0.414, steps[-1].end)


@style
def interval_total_told_by_the_first_line():
    steps = simulate(2000, evaluate=0, save=0)
    steps = [step._replace(own=step.own - 3.0) for step in steps]  # no slow start
    lines, last = [], 0.0
    for step in steps:
        if step.number % 50 == 0:
            lines.append(f"step {step.number:5d} loss {loss(step.number):.3f} time {step.own - last:.2f}s")
            last = step.own
    return Log("\n".join(lines), len(lines), 1950, 0.414, steps[1950].own)


@style
def elapsed_clock():
    return plain(
        lambda s: f"batch {s.number} of 3000, loss {loss(s.number):.3f}, elapsed {clock(s.end)}",
        num=3000, base=17.0, first=1, total=3000, wall="end",
    )  # fmt: skip


@style
def elapsed_seconds_without_a_unit():
    return plain(lambda s: f"global_step={s.number} train_loss={loss(s.number):.4f} elapsed={s.end:.2f}", wall="end")


@style
def minutes_on_a_running_clock():
    return plain(
        lambda s: f"update {s.number} | nll {loss(s.number):.3f} | total time {s.end / 60:.3f}m",
        num=1500, base=6.0, wall="end",
    )  # fmt: skip


@style
def bar_with_figures():
    steps = simulate(600, base=1.2, first=1, evaluate=0, save=0)
    text = "".join(
        f"\rFitting: {s.number // 6:3d}%|{'█' * (s.number // 60):<10}| {s.number}/600 "
        f"[{int(s.end) // 60:02d}:{int(s.end) % 60:02d}<{int((600 - s.number) * 1.2) // 60:02d}:00, "
        f" {s.seconds:.2f}s/it, loss={loss(s.number):.3f}]"
        for s in steps
    )
    return Log(text + "\n", 600, 600, 1.212, steps[-1].end, max_steps=600)


@style
def epoch_and_batch():
    steps = simulate(1000, evaluate=0, save=0)
    lines = [
        f"Epoch {s.number // 250} [{s.number % 250}/250] loss: {loss(s.number):.3f} speed: {s.seconds:.3f} s/it"
        for s in steps
    ]
    return Log("\n".join(lines), 1000, 999, 0.414, steps[-1].own)


@style
def one_line_per_epoch():
    steps = simulate(30, base=35.0, first=1, evaluate=0, save=0)
    lines = [
        f"epoch {s.number}/30 - train_loss {loss(s.number):.3f} - val_loss {loss(s.number):.2f} - time {s.seconds:.1f}s"
        for s in steps
    ]
    return Log("\n".join(lines), 30, 30, 35.35, steps[-1].own, evaluations=30, max_steps=30)


@style
def logfmt():
    return plain(
        lambda s: f"level=info msg=train step={s.number} loss={loss(s.number):.3f} step_ms={s.seconds * 1e3:.0f} gpu=0"
    )


@style
def rate_only():
    return plain(lambda s: f"iter {s.number} loss {loss(s.number):.3f} speed {1 / s.seconds:.4f} it/s")


@style
def thousands():
    return plain(
        lambda s: f"iter: {s.number:,}, loss: {loss(s.number):.3f}, {s.seconds * 1e3:,.1f}ms", num=5000, base=1.41
    )


@style
def abbreviated_steps():
    """`step:12K` stands for four lines: the stamps tell their time."""
    steps = simulate(20_001, evaluate=0, save=0)
    short = {number: f"{number / 1000:.0f}K" if number >= 1000 else str(number) for number in range(0, 20_001, 250)}
    lines = [
        f"INFO {stamp(steps[number].end)} train.py:88 step:{text} loss:{loss(number):.3f} updt_s:0.41"
        for number, text in short.items()
    ]
    return Log("\n".join(lines), len(lines), 20_000, 0.414, steps[20_000].end - steps[0].end)


@style
def the_count_alone_in_front():
    return plain(lambda s: f"{s.number}: loss {loss(s.number):.3f} in {s.seconds:.3f}s", first=1)


@style
def unix_seconds_inside():
    return plain(lambda s: f"train t={1772402400 + s.end:.2f} step={s.number} loss={loss(s.number):.3f}", wall=None)


@style
def evaluations_and_saves():
    lines = ["Using device: cuda:0", "total steps: 1000"]
    steps = simulate(1000, evaluate=100, save=200)
    for s in steps:
        lines.append(f"{stamp(s.end, '%H:%M:%S.')} | step {s.number} | loss {loss(s.number):.4f} | {s.seconds:.3f} sec")
        if s.number % 7 == 0:
            lines.append("  warning: tokenizer parallelism disabled after fork")
        if s.evaluated:
            lines.append(
                f"{stamp(s.end + 8, '%H:%M:%S.')} | validation | step {s.number} | val_loss {loss(s.number):.4f}"
            )
        if s.saved:
            lines.append(f"{stamp(s.end + 11, '%H:%M:%S.')} | saved checkpoint to runs/a/ckpt_{s.number}.pt")
    end = steps[-1].end + 11
    return Log("\n".join(lines), 1000, 999, 0.414, end, evaluations=10, checkpoints=5, max_steps=999)


@style
def evaluations_without_stamps():
    """The clock stops for evaluations: what they cost is not in the log."""
    lines = []
    for s in simulate(600, evaluate=100, save=0):
        lines.append(f"Step: {s.number}  Loss: {loss(s.number):.4f}  Step time: {s.seconds:.3f}s")
        if s.evaluated:
            lines.append(f"Eval at {s.number}: loss={loss(s.number):.4f} acc=0.71")
    return Log("\n".join(lines), 600, 599, 0.414, None, evaluations=6)


@style
def resumed():
    """A second process goes on from a save, ten steps back."""
    first, second = simulate(300, evaluate=0, save=0), simulate(310, first=290, evaluate=0, save=0, seed=2)
    lines = [f"step {s.number} loss={loss(s.number):.3f} {s.seconds * 1e3:.1f}ms" for s in first]
    lines.append("Resuming from checkpoints/step_290")
    lines += [f"step {s.number} loss={loss(s.number):.3f} {s.seconds * 1e3:.1f}ms" for s in second]
    return Log("\n".join(lines), 610, 599, 0.414, first[-1].own + second[-1].own)


@style
def mean_since_the_start_beside_a_clock():
    return plain(
        lambda s: (
            f"iter {s.number}/400 loss {loss(s.number):.3f} avg_time {s.end / s.number:.4f}s elapsed {s.end:.2f}s"
        ),
        first=1, wall="end", total=400,
    )  # fmt: skip


@style
def time_left_settles_the_interval():
    steps = simulate(5000, first=1, evaluate=0, save=0)
    lines, last = [], 0.0
    for s in steps:
        if s.number % 100 == 0:
            left = (5000 - s.number) * 0.414
            lines.append(f"step {s.number}/5000 loss {loss(s.number):.3f} time {s.own - last:.1f} eta {clock(left)}")
            last = s.own
    return Log("\n".join(lines), 50, 5000, 0.414, steps[-1].own, max_steps=5000)


@style
def figures_with_their_means():
    return plain(
        lambda s: (
            f"Train [{s.number}]\tTime {s.seconds:.3f} (0.416)\tData 0.012 (0.013)\tLoss {loss(s.number):.3f} (2.1)"
        )
    )


@style
def time_of_day_over_midnight():
    return plain(
        lambda s: f"{stamp(s.end, '%H:%M:%S')} | INFO | train step {s.number} - loss {loss(s.number):.3f}",
        num=3000, base=11.0, wall=None,
    )  # fmt: skip


@style
def microseconds():
    return plain(lambda s: f"step {s.number} loss {loss(s.number):.3f} {s.seconds * 1e6:.0f}us", base=0.0031)


@style
def two_kinds_of_step_line():
    """Every tenth line says more; both are step lines."""

    def line(s):
        more = f" grad_norm={1.2:.2f} lr=0.0003" if s.number % 10 == 0 else ""
        return f"train step={s.number} loss={loss(s.number):.4f}{more} took={s.seconds:.3f}s"

    return plain(line)


@style
def table_under_a_header():
    return plain(
        lambda s: f"{s.number:6d} {loss(s.number):9.4f} {s.seconds * 1e3:9.1f}", header=["  step      loss   time(ms)"]
    )


@style
def table_of_epochs_in_markdown():
    log = plain(
        lambda s: f"| {s.number} | {loss(s.number):.4f} | {loss(s.number):.3f} | {clock(s.seconds)} |",
        header=["| epoch | train loss | val loss | time |", "|---|---|---|---|"],
        num=60, base=310.0, wall="own",
    )  # fmt: skip
    return log._replace(evaluations=60)


@style
def episodes():
    return plain(
        lambda s: f"Episode {s.number}\treward {10 + s.number % 7:.2f}\tlength 200\ttime {s.seconds:.2f}s", base=2.4
    )


@style
def signs_of_joy():
    return plain(
        lambda s: f"🚀 Step {s.number}/400 ➜ loss: {loss(s.number):.3f} ⏱ {s.seconds:.2f}s", first=1, total=400
    )


@style
def whole_sentences():
    return plain(
        lambda s: (
            f"Finished iteration number {s.number} with a loss of {loss(s.number):.3f} after {s.seconds:.3f} seconds."
        )
    )


@style
def json_inside_json():
    return plain(
        lambda s: (
            f'{{"event":"train","payload":{{"it":{s.number},"metrics":{{"loss":{loss(s.number):.4f}}},'
            f'"secs":{s.seconds:.4f}}}}}'
        )
    )


@style
def seconds_of_a_hundred():
    steps = simulate(5000, first=1, evaluate=0, save=0)
    lines, last = [], 0.0
    for step in steps:
        if step.number % 100 == 0:
            took = step.own - last
            lines.append(f"Step {step.number}: loss = {loss(step.number):.3f} ({took:.3f} sec/100 steps)")
            last = step.own
    return Log("\n".join(lines), 50, 5000, 0.414, steps[-1].own)
