"""A fleet of made-up runs with the truth beside it: causes, hosts, commits, prices. Shares no code with the analysis.

Each run is played on a clock of its own, and every second that passes is written down under what it was spent on. The
log shows of that what Megatron-LM prints: rows with a moment, timers of evaluations and saves, words of an end.

    python -m tests.fleet.made_up FOLDER [NUMBER]     write a fleet to look at
"""

from __future__ import annotations

import datetime as dt
import os
import random
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

START = dt.datetime(2026, 2, 2, tzinfo=dt.UTC)
WEEKS = 12
EVALUATES, SAVES = 10, 10
SLOW_HOST, CRASHING_HOST = "gpu07", "gpu13"
PRICES = {"a100": 1.5, "h100": 3.0}
# Of each trouble, the share of runs that have it.
TROUBLES = {
    **{"restart": 0.06, "death": 0.05, "early_death": 0.03},
    **{"overfit": 0.05, "stall": 0.06, "slower": 0.04, "compile": 0.08},
}


class Config(NamedTuple):
    """A job that many runs repeat; `worse` is what its code makes longer from commit `since` on, and how many times."""

    name: str
    user: str
    project: str
    devices: int
    gpu: str
    step_s: float
    evaluation_s: float
    save_s: float
    steps: int
    batch: int
    worse: str = ""
    since: int = 99
    times: float = 1.0


class Truth(NamedTuple):
    """What is true of a fleet: device seconds by cause, all of them, money, and the culprits."""

    device_s: Counter[str]
    total_s: float
    money: float
    lemons: frozenset[str]
    regressions: dict[str, str]  # by configuration's batch: the first bad commit
    by_run: dict[str, Counter[str]]  # by the log's name, seconds of the run


def configs() -> list[Config]:
    """The jobs of the fleet."""
    return [
        Config("ada", "alice", "ada", 8, "a100", 8.80, 22.0, 9.0, 80, 96),
        Config("bert", "bob", "bert", 16, "h100", 5.00, 9.0, 5.0, 100, 128, "step", 6, 1.12),
        Config("cls", "carol", "cls", 8, "a100", 19.2, 60.0, 30.0, 60, 160),
        Config("dit", "dave", "dit", 32, "h100", 6.80, 14.0, 12.0, 80, 192, "evaluation", 8, 2.5),
        Config("ede", "erin", "ede", 4, "a100", 14.0, 30.0, 8.0, 60, 224),
    ]


def commit(week: int) -> str:
    """The commit of a week's code."""
    return f"{random.Random(week).getrandbits(48):012x}"


def make_fleet(folder: Path, num: int, *, seed: int = 1, is_healthy: bool = False) -> Truth:
    """Write `num` logs, the accounts of their jobs (`sacct.txt`) and a table of prices (`prices.csv`)."""
    dice = random.Random(seed)
    jobs, spent, by_run, total_s, money = [], Counter[str](), {}, 0.0, 0.0
    hosts = [f"gpu{number:02d}" for number in range(1, max(17, num // 60))]
    for number in range(num):
        config = dice.choice(configs())
        own = [dice.choice(hosts)] if config.devices <= 8 else dice.sample(hosts, 2)
        run = _Run(random.Random(dice.random()), config, own, number, num, is_healthy=is_healthy)
        run.play()
        path = folder / config.user / config.project / f"slurm-{1000 + number}.out"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(run.lines) + "\n")
        os.utime(path, (run.at.timestamp(), run.at.timestamp()))
        jobs.append(f"{1000 + number}|{config.user}|gres/gpu={config.devices},node={len(own)}|{','.join(own)}|")
        spent.update({cause: seconds * config.devices for cause, seconds in run.spent.items()})
        by_run[path.name] = run.spent
        own_s = sum(run.spent.values()) * config.devices
        total_s, money = total_s + own_s, money + own_s / 3600 * PRICES[config.gpu]
    (folder / "sacct.txt").write_text("\n".join(["JobID|User|AllocTRES|NodeList|", *jobs]) + "\n")
    prices = [f"{folder}/{one.user}/*,{PRICES[one.gpu]},{one.gpu}" for one in configs()]
    (folder / "prices.csv").write_text("\n".join(["path,price,gpu", *prices]) + "\n")
    lemons = frozenset() if is_healthy else frozenset({SLOW_HOST, CRASHING_HOST})
    worse = {} if is_healthy else {str(one.batch): commit(one.since) for one in configs() if one.worse}
    return Truth(spent, total_s, money, lemons, worse, by_run)


class _Run:
    """One run, second by second."""

    def __init__(
        self, dice: random.Random, config: Config, hosts: list[str], number: int, num: int, *, is_healthy: bool
    ) -> None:
        self.dice, self.config, self.hosts, self.is_healthy = dice, config, hosts, is_healthy
        self.lines: list[str] = []
        self.spent: Counter[str] = Counter()
        week = WEEKS * number / num
        self.week = int(week)
        self.at = START + dt.timedelta(weeks=week)
        self.speed = dice.gauss(1, 0.006)
        self.overfit_from: int | None = None
        drawn = {name for name, share in TROUBLES.items() if dice.random() < share}
        # A run that dies or restarts has no other trouble: which of two took a second would be a matter of taste.
        ends = drawn & {"restart", "death", "early_death"}
        self.troubles: set[str] = set() if is_healthy else set(sorted(ends)[:1]) or drawn
        if CRASHING_HOST in hosts and not is_healthy and dice.random() < 0.5:
            self.troubles = {"death"}
        self.slow = 1.3 if SLOW_HOST in hosts and not is_healthy else 1.0

    def times(self, what: str) -> float:
        """What the code of this run's commit makes of an evaluation or an iteration."""
        is_worse = not self.is_healthy and self.week >= self.config.since and what == self.config.worse
        return self.config.times if is_worse else 1.0

    def pass_(self, seconds: float, cause: str) -> None:
        """Let time pass; after the best validation loss all of it is in vain."""
        self.at += dt.timedelta(seconds=seconds)
        self.spent["after_best" if self.overfit_from is not None else cause] += seconds

    def stamp(self) -> str:
        return self.at.strftime("%Y-%m-%d %H:%M:%S.%f")

    def play(self) -> None:
        """All of it: the start, the training, a crash and another start."""
        self.header()
        last = self.config.steps
        if "early_death" in self.troubles:
            self.train(0, self.dice.randrange(2, SAVES), "died_before_checkpoint")
            self.die()
        elif "death" in self.troubles:
            self.train(0, self.dice.randrange(SAVES + 1, last), "died_after_checkpoint")
            self.die()
        elif "restart" in self.troubles:
            broke = self.dice.randrange(SAVES + 1, last)
            self.train(0, broke, "lost_work")
            self.die()
            self.pass_(self.dice.uniform(200, 1500), "gap")
            saved = (broke - 1) // SAVES * SAVES
            self.header()
            self.lines.append(f"  successfully loaded checkpoint from /ckpt/{self.config.name} at iteration {saved}")
            self.train(saved, last, "")
            self.end()
        else:
            self.train(0, last, "")
            self.end()

    def header(self) -> None:
        config = self.config
        self.lines += [
            f"git commit: {commit(self.week)}",
            f"using world size: {config.devices}, data-parallel size: {config.devices}",
            "------------------------ arguments ------------------------",
            *(
                f"  {name} {'.' * (40 - len(name))} {value}"
                for name, value in {
                    "eval_interval": EVALUATES,
                    "eval_iters": 20,
                    "log_interval": 1,
                    "micro_batch_size": config.batch,
                    "save_interval": SAVES,
                    "seq_length": 2048,
                    "train_iters": config.steps,
                }.items()
            ),
            "-------------------- end of arguments ---------------------",
            f"[after dataloaders are built] datetime: {self.at:%Y-%m-%d %H:%M:%S} ",
        ]

    def train(self, first: int, last: int, in_vain: str) -> None:
        """Iterations up to `last`; those after the last checkpoint are `in_vain` where the run is about to die."""
        config = self.config
        saved = (last - 1) // SAVES * SAVES if in_vain else last
        turn = config.steps // 2 // EVALUATES * EVALUATES if "overfit" in self.troubles else None
        stalled = self.dice.randrange(last // 3, last) if "stall" in self.troubles else None
        is_slower = "slower" in self.troubles and "overfit" not in self.troubles
        for step in range(first + 1, last + 1):
            cause = in_vain if step > saved else "step"
            took = config.step_s * self.times("step") * self.speed * self.slow * self.dice.gauss(1, 0.008)
            self.pass_(took, cause)
            if step == 1 and "compile" in self.troubles:
                lasted = self.dice.uniform(60, 240)
                self.pass_(lasted, "warmup")
                took += lasted
            if is_slower and step > 0.6 * config.steps:
                self.pass_(0.35 * took, "slower")
                took *= 1.35
            if stalled == step:
                lasted = self.dice.uniform(60, 400)
                self.pass_(lasted, "stall")
                took += lasted
            self.row(step, took)
            if step % EVALUATES == 0 and step < last:
                self.evaluate(step, turn)
            if step % SAVES == 0 and step < last:
                self.save(step)
            if turn == step:
                # The checkpoint of the best evaluation is what the run was for.
                self.overfit_from = step

    def row(self, step: int, each_s: float) -> None:
        loss = 3 + 6 / (1 + step / 8)
        self.lines.append(
            f" [{self.stamp()}] iteration {step:8d}/{self.config.steps:8d} | consumed samples: {step * 256:12d} | "
            f"elapsed time per iteration (ms): {each_s * 1000:.1f} | learning rate: 1.000000E-04 | "
            f"global batch size:   256 | lm loss: {loss:.6E} | loss scale: 1.0 | grad norm: 0.800 |"
        )

    def evaluate(self, step: int, turn: int | None) -> None:
        took = self.config.evaluation_s * self.times("evaluation") * self.slow * self.dice.gauss(1, 0.01)
        self.pass_(took, "evaluation")
        best = turn or 10**9
        loss = 3 + 6 / (1 + min(step, best) / 8) + max(0, step - best) * 0.02
        self.lines += [
            "(min, max) time across ranks (ms):",
            f"    evaluate {'.' * 40}: ({took * 1000 - 1:.2f}, {took * 1000:.2f})",
            f" validation loss at iteration {step} | lm loss value: {loss:.6E} | lm loss PPL: 2.000000E+01 | ",
        ]

    def save(self, step: int) -> None:
        took = self.config.save_s * self.dice.gauss(1, 0.03)
        self.lines.append(f"saving checkpoint at iteration {step:8d} to /ckpt/{self.config.name} in torch format")
        self.pass_(took, "checkpoint")
        self.lines += [
            f"  successfully saved checkpoint from iteration {step:8d} to /ckpt/{self.config.name}",
            "(min, max) time across ranks (ms):",
            f"    save-checkpoint {'.' * 33}: ({took * 1000 - 1:.2f}, {took * 1000:.2f})",
        ]

    def die(self) -> None:
        self.lines += [
            "Traceback (most recent call last):",
            '  File "pretrain_gpt.py", line 300, in <module>',
            "RuntimeError: CUDA error: an illegal memory access was encountered",
        ]

    def end(self) -> None:
        self.lines.append(f"[after training is done] datetime: {self.at:%Y-%m-%d %H:%M:%S} ")


if __name__ == "__main__":
    print(make_fleet(Path(sys.argv[1]).absolute(), int(sys.argv[2]) if len(sys.argv) > 2 else 200))
