"""Logs of training loops that nobody wrote: a grammar of what people print, and the truth of each run beside its log.

A loop has a style (how it numbers, times, evaluates, saves, starts and ends) drawn from the lists below, and a run has
made-up seconds. Nothing here is shared with the reader.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

Moment = Callable[[datetime], str]


def _ms(t: datetime) -> str:
    return f"{t.microsecond // 1000:03d}"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02d}:{int(seconds) % 60:02d}"


def _words(seconds: float) -> str:
    return f"{int(seconds) // 3600}h {int(seconds) // 60 % 60}m {int(seconds) % 60}s"


UNSTAMPED: dict[str, Moment] = {
    "none": lambda t: "",
    "root": lambda t: "INFO:root:",
    "rank": lambda t: "[rank0]: ",
    "ray": lambda t: "(TrainWorker pid=21344) ",
    "mpi": lambda t: "[1,0]<stdout>:",
    "marks": lambda t: ">>> ",
}
STAMPED: dict[str, Moment] = {
    "logging": lambda t: f"{t:%Y-%m-%d %H:%M:%S},{_ms(t)} - INFO - ",
    "logging and place": lambda t: f"{t:%Y-%m-%d %H:%M:%S},{_ms(t)} INFO trainer.py:212 ",
    "brackets": lambda t: f"[{t:%Y-%m-%d %H:%M:%S}] ",
    "time of day": lambda t: f"[{t:%H:%M:%S}] ",
    "absl": lambda t: f"I{t:%m%d %H:%M:%S}.{t.microsecond:06d} 140123 train.py:210] ",
    "loguru": lambda t: f"{t:%Y-%m-%d %H:%M:%S}.{_ms(t)} | INFO     | __main__:train:120 - ",
    "syslog": lambda t: f"{t:%b} {t.day:2d} {t:%H:%M:%S} node07 python[3121]: ",
    "unix": lambda t: f"{t.replace(tzinfo=UTC).timestamp():.3f} ",
    "month and day": lambda t: f"[{t:%m/%d %H:%M:%S}] [INFO] ",
    "iso": lambda t: f"{t:%Y-%m-%dT%H:%M:%S}.{t.microsecond:06d}Z ",
    "am or pm": lambda t: f"{t:%m/%d/%Y %I:%M:%S %p} ",
    "level first": lambda t: f"[INFO|train.py:301] {t:%Y-%m-%d %H:%M:%S},{_ms(t)} >> ",
    "tensorflow": lambda t: f"{t:%Y-%m-%d %H:%M:%S}.{t.microsecond:06d}: I ",
    "hydra": lambda t: f"[{t:%Y-%m-%d %H:%M:%S},{_ms(t)}][__main__][INFO] - ",
    "slashes": lambda t: f"[{t:%Y/%m/%d %H:%M:%S}] ppcls INFO: ",
    "ctime": lambda t: f"{t:%a %b} {t.day:2d} {t:%H:%M:%S} {t:%Y} | ",
    "offset": lambda t: f"{t:%Y-%m-%dT%H:%M:%S}+00:00 ",
    "level last": lambda t: f"{t:%H:%M:%S} INFO ",
}

# Through the run, of `n`: printed next to the total or alone.
RUN: dict[str, Callable[[int, int], str]] = {
    "step 5": lambda s, n: f"step {s}",
    "step=5": lambda s, n: f"step={s}",
    "Step: 5/9": lambda s, n: f"Step: {s}/{n}",
    "[5/9]": lambda s, n: f"[{s}/{n}]",
    "[5] train:": lambda s, n: f"[{s}] train:",
    "iter 5:": lambda s, n: f"iter {s}:",
    "Iteration 5,": lambda s, n: f"Iteration {s},",
    "Iter [5/9]": lambda s, n: f"Iter [{s}/{n}]",
    "global_step=5": lambda s, n: f"global_step={s}",
    "update 5": lambda s, n: f"update {s}",
    "Train step 5 of 9": lambda s, n: f"Train step {s} of {n}",
    "5/9": lambda s, n: f"{s}/{n}",
    "Step 5,000 / 9,000": lambda s, n: f"Step {s:,} / {n:,}",
    "step 000005/000009": lambda s, n: f"step {s:06d}/{n:06d}",
    "1% step 5": lambda s, n: f"{100 * s / n:5.1f}% step {s}",
    "[TRAIN] it 5": lambda s, n: f"[TRAIN] it {s:5d}",
    "step: 5, epoch: 0.1": lambda s, n: f"step: {s}, epoch: {s / (n / 4):.2f}",
    "Training step 5": lambda s, n: f"Training step {s}",
    "total_steps 5": lambda s, n: f"total_steps {s}",
    "Global step 5:": lambda s, n: f"Global step {s}:",
    '"step": 5': lambda s, n: f'"step": {s}',
}
TELL_TOTAL = {
    *("Step: 5/9", "[5/9]", "Iter [5/9]", "Train step 5 of 9", "5/9", "Step 5,000 / 9,000", "step 000005/000009"),
}
# Batch `b` of `m` in epoch `e` of `k`.
BATCH: dict[str, Callable[[int, int, int, int], str]] = {
    "Epoch 1 [5/9]": lambda e, b, m, k: f"Epoch {e} [{b}/{m}]",
    "Epoch: [1][5/9]": lambda e, b, m, k: f"Epoch: [{e}][{b}/{m}]",
    "Epoch 1, batch 5/9": lambda e, b, m, k: f"Epoch {e}, batch {b}/{m}",
    "ep 1 it 5": lambda e, b, m, k: f"ep {e} it {b}",
    "Epoch [1/3], Step [5/9]": lambda e, b, m, k: f"Epoch [{e}/{k}], Step [{b}/{m}]",
    "[1, 5]": lambda e, b, m, k: f"[{e}, {b:5d}]",
    "(epoch: 1, iters: 5)": lambda e, b, m, k: f"(epoch: {e}, iters: {b})",
    "epoch: 1/3 | iter: 5/9": lambda e, b, m, k: f"epoch: {e}/{k} | iter: {b}/{m}",
    "| epoch 1 | 5/9 batches |": lambda e, b, m, k: f"| epoch {e:3d} | {b:5d}/{m:5d} batches |",
    "Epoch[1] Batch [5]": lambda e, b, m, k: f"Epoch[{e}] Batch [{b}]",
    "train | epoch 1 | step 5": lambda e, b, m, k: f"train | epoch {e} | step {b}",
    "Epoch 1/3, Iter 5/9": lambda e, b, m, k: f"Epoch {e}/{k}, Iter {b}/{m}",
}
EPOCH: dict[str, Callable[[int, int], str]] = {
    "Epoch 1/3": lambda e, k: f"Epoch {e}/{k}",
    "Epoch 1:": lambda e, k: f"Epoch {e}:",
    "epoch=1": lambda e, k: f"epoch={e}",
    "Epoch 001 -": lambda e, k: f"Epoch {e:03d} -",
    "[Epoch 1/3]": lambda e, k: f"[Epoch {e}/{k}]",
    "| epoch 1 |": lambda e, k: f"| epoch {e:3d} |",
    "Epoch [1/3]": lambda e, k: f"Epoch [{e}/{k}]",
    "Epoch: 1": lambda e, k: f"Epoch: {e}",
}
METRIC: dict[str, Callable[[float], str]] = {
    "loss 3.1": lambda x: f"loss {x:.4f}",
    "loss=3.1": lambda x: f"loss={x:.3f}",
    "train_loss: 3.1": lambda x: f"train_loss: {x:.4f}",
    "Loss 3.1 (3.2)": lambda x: f"Loss {x:.4f} ({x * 1.02:.4f})",
    "lm loss: 3.1E+00": lambda x: f"lm loss: {x:.6E}",
    "three losses": lambda x: f"loss: {x:.4f} cls: {x / 3:.4f} box: {x / 5:.4f}",
    "avr_loss=3.1": lambda x: f"avr_loss={x:.3g}",
    "nll: 3.1 ppl: 9": lambda x: f"nll: {x:.3f} ppl: {2.7 ** min(x, 5):.2f}",
    "mean_reward 9": lambda x: f"mean_reward {200 - x * 20:.1f} ep_len {100 + x:.0f}",
    "D_loss: 1 G_loss: 3": lambda x: f"D_loss: {x / 3:.3f} G_loss: {x:.3f}",
    "lr: 3e-4 loss: 3.1": lambda x: f"lr: 3.00e-04 loss: {x:.3f} acc: {max(0, 1 - x / 5):.3f}",
    "Cost = 3.1": lambda x: f"Cost = {x:.5f}",
    "{'loss': 3.1}": lambda x: f"{{'loss': {x:.4f}, 'lr': 0.0003}}",
    "Train Loss: 3.1 | Train Acc: 40%": lambda x: f"Train Loss: {x:.3f} | Train Acc: {100 * max(0, 1 - x / 6):.2f}%",
    "loss_total 3.1": lambda x: f"loss_total {x:.4f} grad_norm {x / 4:.3f}",
}
SEPARATORS = (" | ", ", ", " ", "  ", " - ", "\t", "; ")
# `d` seconds of this step, `w` since the last line, `e` since the start, `c` steps since the last line, `left` to come.
TIME: dict[str, Callable[[float, float, float, int, float], str]] = {
    "time 0.1s": lambda d, w, e, c, left: f"time {d:.3f}s",
    "100 ms/step": lambda d, w, e, c, left: f"{d * 1000:.1f} ms/step",
    "| ms/batch 100": lambda d, w, e, c, left: f"ms/batch {d * 1000:5.2f}",
    "2 it/s": lambda d, w, e, c, left: f"{1 / d:.2f} it/s",
    "0.5s/it": lambda d, w, e, c, left: f"{d:.2f}s/it",
    "steps_per_sec=2": lambda d, w, e, c, left: f"steps_per_sec={1 / d:.3f}",
    "step_time_ms=100": lambda d, w, e, c, left: f"step_time_ms={d * 1000:.2f}",
    "iter_time: 0.1, data_time: 0.01": lambda d, w, e, c, left: f"iter_time: {d:.3f}, data_time: {d / 40:.4f}",
    "99 examples/sec; 0.2 sec/batch": lambda d, w, e, c, left: f"({32 / d:.1f} examples/sec; {d:.3f} sec/batch)",
    "(5.00s)": lambda d, w, e, c, left: f"({w:.2f}s)",
    "took 5 seconds": lambda d, w, e, c, left: f"took {w:.2f} seconds",
    "elapsed 5.0s": lambda d, w, e, c, left: f"elapsed {e:.1f}s",
    "elapsed: 0.50 min": lambda d, w, e, c, left: f"elapsed: {e / 60:.2f} min",
    "elapsed: 0:00:05": lambda d, w, e, c, left: f"elapsed: {_clock(e)}",
    "Elapsed 0h 0m 5s": lambda d, w, e, c, left: f"Elapsed {_words(e)}",
    "[0:00:05<0:01:00, 2it/s]": lambda d, w, e, c, left: f"[{_clock(e)}<{_clock(left)}, {1 / d:.2f}it/s]",
    "eta: 0:01:00": lambda d, w, e, c, left: f"eta: {_clock(left)}",
    "": lambda d, w, e, c, left: "",
}
OF_EPOCHS = {"took 5 seconds", "(5.00s)", "elapsed 5.0s", "elapsed: 0.50 min", "elapsed: 0:00:05", "Elapsed 0h 0m 5s"}
BY_STAMPS = {"", "eta: 0:01:00"}
RUNNING = {"elapsed 5.0s", "elapsed: 0.50 min", "elapsed: 0:00:05", "Elapsed 0h 0m 5s", "[0:00:05<0:01:00, 2it/s]"}
SUMS = {"(5.00s)", "took 5 seconds"}
# What is printed of an evaluation: before it, after it. `x` is its loss, `q` its seconds, `s` the step or epoch.
EVALUATION: dict[str, tuple[str, Callable[[float, float, str], str]]] = {
    "none": ("", lambda x, q, s: ""),
    "val loss 3.1": ("", lambda x, q, s: f"val loss {x:.4f} val acc 0.5{int(x)}"),
    "[eval] step 5 loss 3.1": ("", lambda x, q, s: f"[eval] {s} loss {x:.4f}"),
    "Validation: loss=3.1, time=2.0s": ("", lambda x, q, s: f"Validation: loss={x:.4f}, time={q:.2f}s"),
    "Evaluating...": ("Evaluating...", lambda x, q, s: f"Eval results: loss {x:.4f}"),
    "Test set: Average loss: 3.1": (
        "",
        lambda x, q, s: f"Test set: Average loss: {x:.4f}, Accuracy: {9000 + int(9 * x)}/10000 (9{int(x)}%)",
    ),
    "--- validation ---": (
        "--- Running validation ---",
        lambda x, q, s: f"mAP@0.5: {1 / (1 + x):.3f} val_loss: {x:.3f}",
    ),
    "valid | epoch 1 | loss 3.1": ("", lambda x, q, s: f"valid | {s} | loss {x:.4f} | ppl {2**x:.2f}"),
    "Validation took 2.0s": ("", lambda x, q, s: f"Validation took {q:.1f}s, loss {x:.3f}, best 0.31"),
    "* Acc@1 71.2": ("", lambda x, q, s: f" * Acc@1 {70 - x:.3f} Acc@5 {90 - x:.3f}"),
}
TIMED_EVALUATIONS = {"Validation: loss=3.1, time=2.0s", "Validation took 2.0s"}
SAVE: dict[str, tuple[Callable[[str], str] | None, Callable[[str], str] | None]] = {  # before it, after it
    "none": (None, None),
    "Saving checkpoint to a.pt": (lambda p: f"Saving checkpoint to {p}", None),
    "Checkpoint saved to a.pt": (None, lambda p: f"Checkpoint saved to {p}"),
    "=> saved a.pt": (None, lambda p: f"=> saved {p}"),
    "Model saved: a.pt": (None, lambda p: f"Model saved: {p}"),
}
HEADER = ("none", "arguments", "start", "parameters", "settings")
_CRASH = ["Traceback (most recent call last):", '  File "train.py", line 120, in <module>', "    main()"]
END: dict[str, tuple[str, list[str]]] = {  # the state that it is, and its lines; {} is the time since the start
    "cut": ("", []),
    "Training complete": ("finished", ["Training complete"]),
    "Done.": ("finished", ["Done."]),
    "Total training time: 0:10:00": ("finished", ["Total training time: {}"]),
    "Finished training in 0:10:00": ("finished", ["Finished training in {}"]),
    "out of memory": (
        "out_of_memory",
        [*_CRASH, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity"
         " of 11.76 GiB of which 1.21 GiB is free."],
    ),
    "KeyboardInterrupt": ("interrupted", [*_CRASH, "KeyboardInterrupt"]),
    "a bug": ("crashed", [*_CRASH, "ValueError: operands could not be broadcast together"]),
}  # fmt: skip


class Style(NamedTuple):
    """How a loop prints."""

    prefix: str
    unit: str  # run, batch or epoch: what its lines count
    counter: str
    metric: str
    separator: str
    time: str
    evaluation: str
    save: str
    header: str
    end: str
    restarts_timer: bool  # whether evaluations are outside its own time since the last line

    @property
    def is_stamped(self) -> bool:
        return self.prefix in STAMPED


class Truth(NamedTuple):
    """What is so, and may be asked."""

    last: int  # the last printed step
    steps: int  # that were done
    total: int
    batches: int  # an epoch
    every: int
    rows: int
    step_s: float
    train_s: (
        float  # from the first step's begin to the last line that tells the time, or from the first if that is later
    )
    wall_s: float  # from the program's begin
    evaluations: int
    evaluation_s: float
    saves: int
    save_s: float
    state: str
    tells_total: bool


def draw_style(pick: random.Random) -> Style:
    """Any style whose times can be told from its lines."""
    prefix = pick.choice([*UNSTAMPED, *STAMPED])
    unit = pick.choice(["run", "run", "batch", "epoch"])
    counter = pick.choice(list({"run": RUN, "batch": BATCH, "epoch": EPOCH}[unit]))
    times = set(OF_EPOCHS if unit == "epoch" else TIME) - (set() if prefix in STAMPED else BY_STAMPS)
    if prefix in STAMPED:
        times |= {""}
    return Style(
        prefix=prefix,
        unit=unit,
        counter=counter,
        metric=pick.choice(list(METRIC)),
        separator=pick.choice(SEPARATORS),
        time=pick.choice(sorted(times)),
        evaluation=pick.choice(list(EVALUATION)),
        save=pick.choice(list(SAVE)),
        header=pick.choice(HEADER),
        end=pick.choice([*END, "cut"]),
        restarts_timer=pick.random() < 0.5,
    )


class _Run:
    """One run of a loop, as its clock goes."""

    def __init__(self, style: Style, pick: random.Random) -> None:
        self.style, self.pick = style, pick
        self.lines: list[str] = []
        self.now = 0.0
        self.first: float | None = None  # when the first line was printed
        self.begin = datetime(2025, pick.randint(1, 12), pick.randint(1, 27), pick.randint(0, 23), pick.randint(0, 59),
                              pick.randint(0, 59), pick.randint(0, 999_999))  # fmt: skip
        self.evaluations: list[float] = []
        self.saves: list[float] = []

    def say(self, text: str) -> None:
        prefix = {**UNSTAMPED, **STAMPED}[self.style.prefix]
        self.first = self.now if self.first is None else self.first
        self.lines.append(prefix(self.begin + timedelta(seconds=self.now)) + text)

    def stop(self, loss: float, number: int, seconds: tuple[float, float]) -> None:
        before, after = EVALUATION[self.style.evaluation]
        if self.style.evaluation != "none":
            if before:
                self.say(before)
            took = seconds[0] * self.pick.uniform(0.97, 1.03)
            self.now += took
            self.evaluations.append(took)
            self.say(after(loss, took, f"{'step' if self.style.unit == 'run' else 'epoch'} {number}"))
        begins, ends = SAVE[self.style.save]
        if self.style.save != "none":
            path = f"checkpoints/model_{number}.pt"
            if begins is not None:
                self.say(begins(path))
            self.now += seconds[1]
            self.saves.append(seconds[1])
            if ends is not None:
                self.say(ends(path))


def print_loop(seed: int) -> tuple[str, Style, Truth]:
    """The log of the loop of this number, its style and its truth."""
    pick = random.Random(seed)
    style = draw_style(pick)
    run = _Run(style, pick)
    step_s = pick.choice([0.05, 0.17, 0.42, 1.3, 3.7, 12.0])
    epochs, batches = pick.randint(4, 12), pick.choice([60, 125, 391, 782, 1000])
    if style.unit == "run":
        epochs, batches = 1, pick.choice([400, 1000, 3000, 10_000, 20_000])
    elif style.unit == "epoch":
        epochs = pick.randint(9, 40)
    total = epochs * batches
    every = batches if style.unit == "epoch" else min(pick.choice([1, 10, 10, 20, 50, 100]), batches // 6)
    first = pick.choice([0, 0, 1]) if style.unit == "run" else 1
    stop_every = batches if style.unit != "run" else batches // 8 if batches // 8 > 2 * every else batches // 4
    costs = step_s * pick.choice([5, 20, 60]), pick.choice([0.2, 1.5, 6.0])
    state, closing = END[style.end]
    done = total if state == "finished" else int(total * pick.uniform(0.4, 0.9))
    tells_total = _say_header(run, total, epochs)
    begin, slow_first = run.now, pick.choice([1, 1, 8, 30]) if every < batches else 1
    since, epoch_begin, rows, last, printed_step, ended = run.now, run.now, 0, 0, 0, run.now
    for step in range(1, done + 1):
        took = step_s * pick.uniform(0.97, 1.03) * (slow_first if step == 1 else 1)
        run.now += took
        loss = max(0.3, 5 * (1 - step / total) + pick.uniform(-0.05, 0.05) + 0.3)
        epoch, batch = (step - 1) // batches + 1, (step - 1) % batches + 1
        number = step - 1 + first if style.unit == "run" else batch
        if number % every == 0 or (style.unit == "batch" and batch == batches):
            head = (
                RUN[style.counter](number, total)
                if style.unit == "run"
                else BATCH[style.counter](epoch, batch, batches, epochs)
                if style.unit == "batch"
                else EPOCH[style.counter](epoch, epochs)
            )
            window = run.now - (epoch_begin if style.unit == "epoch" and style.restarts_timer else since)
            time = TIME[style.time](took, window, run.now - begin, step - printed_step, (total - step) * step_s)
            run.say(style.separator.join(part for part in (head, METRIC[style.metric](loss), time) if part))
            rows, last, printed_step, since = rows + 1, number if style.unit == "run" else step, step, run.now
            ended = run.now
        if number > 0 and number % stop_every == 0:
            run.stop(loss * 1.05, step if style.unit == "run" else epoch, costs)
            since = run.now if style.restarts_timer else since
            ended = run.now if style.save.startswith(("=>", "Check", "Model")) or style.evaluation != "none" else ended
        if batch == batches:
            epoch_begin = run.now
    run.lines += [line.format(_clock(run.now - begin)) for line in closing if "Traceback" in closing[0]]
    if state == "finished":
        for line in closing:
            run.say(line.format(_clock(run.now - begin)))
    ended = run.now if state == "finished" else ended
    train_s = ended - max(begin, run.first or 0.0)
    truth = Truth(last, done, total, batches, every, rows, step_s, train_s, ended, len(run.evaluations),
                  sum(run.evaluations), len(run.saves), sum(run.saves), state, tells_total)  # fmt: skip
    return "\n".join(run.lines) + "\n", style, truth


def _say_header(run: _Run, total: int, epochs: int) -> bool:
    """Print what comes before the first step; whether the log says anywhere how long the run is to be."""
    style, what = run.style, run.style.header
    counted: dict[str, Any] = {"max_steps": total} if style.unit == "run" else {"epochs": epochs}
    [(name, value)] = counted.items()
    lines = {
        "none": [],
        "arguments": [f"Namespace(batch_size=32, lr=0.0003, seed=1, {name}={value})"],
        "start": ["Start training"],
        "parameters": ["number of parameters: 124.44M", "Using device: cuda"],
        "settings": ["batch_size: 32", "lr: 0.0003", f"{name}: {value}"],
    }[what]
    for line in lines:
        run.say(line)
    if lines:
        run.now += run.pick.choice([2, 7, 15])
    tells_in_line = style.counter in TELL_TOTAL or "1/3" in style.counter
    return what in {"arguments", "settings"} or tells_in_line
