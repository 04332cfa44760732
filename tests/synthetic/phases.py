"""nanoGPT logs out of thin air, with the true seconds of every phase beside them.

Everything that decides what a log can tell is drawn anew from wide ranges: the forward pass's share of a step, the
disk, noise, drift, how often lines are printed, what is saved and when, compile, restarts, timestamps, whether the
header with the settings survived. `draw(seed)` always gives the same run for the same seed.
"""

from __future__ import annotations

import math
import random
from typing import NamedTuple

START_UNIX_S = 1_700_000_000.0


class Synthetic(NamedTuple):
    """A log, the same log as it arrived (None without stamps), and the truth in seconds per phase."""

    lines: list[str]
    stamped: list[str] | None
    truth: dict[str, float]
    traits: dict[str, float | str | bool]


class _Machine(NamedTuple):
    """What a run is made of."""

    step_s: float
    share: float  # of one evaluation batch in one micro-step
    save_s: float
    noise: float  # of single steps, as a share
    evaluation_noise: float
    save_noise: float
    follows: float  # how much of a slower step the evaluation feels: the exponent of their ratio
    drift: str
    drift_by: float
    log_line_s: float
    compile_s: float
    beside: float  # how much longer than others a step after a stop is
    is_cpu: bool


def draw(seed: int) -> Synthetic:
    """One run. Seconds are true, lines are what nanoGPT's own clock would print."""
    dice = random.Random(seed)
    is_cpu = dice.random() < 0.4
    parameters = round(math.exp(dice.uniform(math.log(0.8e6), math.log(20e6 if is_cpu else 125e6))), -4)
    settings = _settings(dice, is_cpu=is_cpu)
    machine = _machine(dice, settings, parameters, is_cpu=is_cpu)
    last = settings["max_iters"]
    killed_at = dice.randrange(20, last) if dice.random() < 0.15 and last > 40 else None
    run = _Clockwork(dice, machine, settings)
    words = {"device": "cpu" if is_cpu else "cuda", "compile": machine.compile_s > 0}
    shown = {**settings, "always_save_checkpoint": bool(settings["always_save_checkpoint"]), **words}
    header = [f"Overriding: {name} = {value}" for name, value in shown.items()]
    header += ["Initializing a new model from scratch", f"number of parameters: {parameters / 1e6:.2f}M"]
    knows_settings = dice.random() < 0.85
    run.header(header if knows_settings else ["Initializing a new model from scratch"])
    run.train(first=0, last=killed_at or last)
    if killed_at is not None and run.saved_at:
        run.header(["Resuming training from out"])
        run.train(first=run.saved_at, last=last)
    stamped = run.stamped if dice.random() < 0.35 else None
    return Synthetic(run.lines, stamped, run.truth, shown | {"header": knows_settings, **machine._asdict()})


def _settings(dice: random.Random, *, is_cpu: bool) -> dict[str, int]:
    found = {
        "eval_iters": dice.choice([5, 10, 20, 40] if is_cpu else [20, 50, 100, 200]),
        "log_interval": dice.choice([1, 1, 1, 2, 5, 10, 10]),
        "always_save_checkpoint": int(dice.random() < 0.6),
        "gradient_accumulation_steps": dice.choice([1, 1, 1, 2, 4, 8] if is_cpu else [1, 1, 4, 8, 40]),
        "batch_size": dice.choice([2, 4, 12, 24] if is_cpu else [12, 32, 64]),
        "block_size": dice.choice([32, 64, 128, 256] if is_cpu else [256, 1024]),
    }
    every = found["log_interval"] * dice.randint(2, 12)
    found["eval_interval"] = max(5, every + (dice.random() < 0.15) * dice.randint(1, 7))
    found["max_iters"] = found["eval_interval"] * dice.choice([2, 3, 5, 8, 12, 20, 35]) + dice.randint(0, 9)
    return found


def _machine(dice: random.Random, settings: dict[str, int], parameters: float, *, is_cpu: bool) -> _Machine:
    """Forward share, disk and noise as measured on real runs, and a good deal wider."""
    accumulation = settings["gradient_accumulation_steps"]
    tokens = accumulation * settings["batch_size"] * settings["block_size"]
    # A CPU's optimiser takes as long as 250 to 600 operations a parameter would; a GPU's some 2,000 (memory-bound).
    optimiser_flops = dice.lognormvariate(math.log(400 if is_cpu else 2000), 0.5)
    busy = 6.0 * tokens / (6.0 * tokens + optimiser_flops)
    share = busy * dice.lognormvariate(math.log(0.34), 0.15)
    if is_cpu and dice.random() < 0.2:
        share *= dice.uniform(0.6, 0.9)  # dropout, or a step slowed by something else
    disk = dice.lognormvariate(math.log(330e6), 0.5) * (dice.uniform(1, 3) if is_cpu else 1)
    return _Machine(
        step_s=math.exp(dice.uniform(math.log(0.015), math.log(1.0))) * math.sqrt(accumulation),
        share=share,
        save_s=12.0 * parameters / disk,
        noise=math.exp(dice.uniform(math.log(0.004), math.log(0.12))),
        evaluation_noise=math.exp(dice.uniform(math.log(0.005), math.log(0.3 if is_cpu else 0.05))),
        save_noise=dice.uniform(0.02, 0.35),
        follows=dice.choice([1.0, 1.0, 1.0, 0.5, 0.0]),
        drift=dice.choice(["flat", "flat", "flat", "ramp", "wander", "shift"]),
        drift_by=dice.uniform(-0.15, 0.35),
        log_line_s=math.exp(dice.uniform(math.log(1e-4), math.log(2e-3))),
        compile_s=dice.uniform(5, 60) if not is_cpu and dice.random() < 0.8 else 0.0,
        beside=dice.gauss(0.04, 0.1) if is_cpu else dice.uniform(-0.02, 0.05),
        is_cpu=is_cpu,
    )


class _Clockwork:
    """Runs the loop of nanoGPT's train.py on an imagined machine."""

    def __init__(self, dice: random.Random, machine: _Machine, settings: dict[str, int]) -> None:
        self._dice, self._machine, self._settings = dice, machine, settings
        self.lines: list[str] = []
        self.stamped: list[str] = []
        self.saved_at = 0
        self.truth = dict.fromkeys(("step", "evaluation", "checkpoint", "warmup"), 0.0)
        self._now = START_UNIX_S + dice.random()
        self._so_far = dict(self.truth)
        self._best, self._turns_at = 9.0, dice.uniform(0.1, 1.5)
        self._walk = 0.0

    def header(self, lines: list[str]) -> None:
        """What nanoGPT prints before its loop, and the start-up around it."""
        self._so_far = dict(self.truth)  # silent steps before a kill left no trace
        self._now += self._dice.uniform(1, 8)
        for text in lines:
            self._print(text)
        self._now += self._dice.uniform(0.2, 3)

    def train(self, *, first: int, last: int) -> None:
        """Iterations `first` to `last` of a process; its first one evaluates, and compiles where that is on."""
        began = self._now
        for step in range(first, last + 1):
            level = self._level(step)
            stopped = step % self._settings["eval_interval"] == 0
            if stopped:
                self._stop(step, level, begins=step == first)
            if step == first:
                self._spend("warmup", 0.5 * self._machine.compile_s + level * self._dice.uniform(0, 0.6))
            self._spend("step", level * self._jitter() * (1 + self._machine.beside * stopped))
            took, began = self._now - began, self._now
            if step % self._settings["log_interval"] == 0:
                self._print(f"iter {step}: loss {3 + self._dice.random():.4f}, time {1000 * took:.2f}ms, mfu 5.00%")

    def _stop(self, step: int, level: float, *, begins: bool) -> None:
        machine, dice = self._machine, self._dice
        at_level = machine.step_s * (level / machine.step_s) ** machine.follows
        forwards = 2 * self._settings["eval_iters"] * machine.share / self._settings["gradient_accumulation_steps"]
        cold = dice.uniform(1.0, 1.3 if machine.is_cpu else 1.05) if begins else 1.0
        self._spend("evaluation", forwards * at_level * cold * dice.lognormvariate(0, machine.evaluation_noise))
        if begins:
            self._spend("warmup", 0.5 * machine.compile_s)
        loss = 4 - min(step / self._settings["max_iters"], self._turns_at) + dice.gauss(0, 0.01)
        self._print(f"step {step}: train loss {loss:.4f}, val loss {loss:.4f}")
        if step and (loss < self._best or self._settings["always_save_checkpoint"]):
            self._print("saving checkpoint to out")
            self._spend("checkpoint", machine.save_s * dice.lognormvariate(0, machine.save_noise))
            self.saved_at = step
        self._best = min(self._best, loss)

    def _level(self, step: int) -> float:
        """What a step takes at this point of the run, before its own noise."""
        machine, done = self._machine, step / self._settings["max_iters"]
        by = machine.drift_by
        if machine.drift == "ramp":
            return machine.step_s * (1 + by * (1 - math.exp(-5 * done)))
        if machine.drift == "shift":
            return machine.step_s * (1 + (by if done > abs(by) * 2.5 else 0.0))
        if machine.drift == "wander":
            self._walk = 0.99 * self._walk + self._dice.gauss(0, 0.2 * abs(by) * 0.14)
        return machine.step_s * math.exp(self._walk)

    def _jitter(self) -> float:
        """Noise of one step: usual, with now and then a step that takes half as long again or longer."""
        factor = self._dice.lognormvariate(0, self._machine.noise)
        return factor * (1 + 0.3 * self._dice.paretovariate(2)) if self._dice.random() < 0.003 else factor

    def _spend(self, phase: str, seconds: float) -> None:
        self._so_far[phase] += seconds
        self._now += seconds

    def _print(self, text: str) -> None:
        self.truth = dict(self._so_far)  # what comes after the last line is not in the log
        self.lines.append(text)
        self.stamped.append(f"{self._now + self._dice.uniform(1e-4, 6e-4):.6f}\t{text}")
        self._now += self._machine.log_line_s * self._dice.lognormvariate(0, 0.5)
