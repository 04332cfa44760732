"""The trainer beside nanoGPT: same losses, step time, checkpoints, loading, evaluation, time to a loss, kills.

    python bench/train.py --nanogpt PATH/TO/nanoGPT                everything (hours on two cores: the race is long)
    python bench/train.py --nanogpt PATH --only same,step          some of it
    python bench/train.py --only accounting,checkpoint,load,evaluation,kill      what needs no checkout

Two programs are compared by letting them run in turns: one is stopped (SIGSTOP) while the other has the machine, so
neighbours and clocks are the same for both. Ratios are medians over the turns, with the central 90 % of a bootstrap.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_leaves

from stepscope.trainer.accounts import BACKWARD, DATA, FORWARD, LOGGING, OPTIMIZER, STAGING, Accounts
from stepscope.trainer.config import Plain, TrainConfig
from stepscope.trainer.data import FIXED_SHARE, Split
from stepscope.trainer.extras.corpora import prepare_stdlib
from stepscope.trainer.extras.settings import build

SIZES: dict[str, dict[str, int]] = {
    # The README's CPU recipe, and the network of config/train_shakespeare_char.py at a CPU's batch size.
    "tiny": {"n_layer": 4, "n_head": 4, "n_embd": 128, "block_size": 64, "batch_size": 12},
    "baby": {"n_layer": 6, "n_head": 6, "n_embd": 384, "block_size": 256, "batch_size": 12},
}
COMMON: dict[str, Plain] = {
    "device": "cpu",
    "compile": False,
    "dtype": "float32",
    "dropout": 0.0,
    "gradient_accumulation_steps": 1,
    "learning_rate": 1e-3,
    "min_lr": 1e-4,
    "beta2": 0.99,
    "warmup_iters": 100,
    "lr_decay_iters": 5000,
    "max_iters": 5000,
    "log_interval": 1,
}
# What the modern recipe wants instead: it warms up faster and bears higher rates.
MODERN: dict[str, Plain] = {"recipe": "modern", "learning_rate": 1e-2, "min_lr": 1e-3, "warmup_iters": 20}
# Who races against nanoGPT. Fixed windows are a quarter of what `eval_iters` says: 20 of them look at as many sequences
# of the validation split as nanoGPT's 5 do.
ENTRANTS: dict[str, dict[str, Plain]] = {
    "modern": {**MODERN, "eval_iters": 20},
    "bfloat16": {**MODERN, "eval_iters": 20, "dtype": "bfloat16"},
}
ITERATION = re.compile(r"iter (\d+): loss (\S+), time (\S+)ms")
EVALUATION = re.compile(r"step (\d+): train loss \S+, val loss (\S+)")


class Program:
    """A trainer that runs only when it is its turn."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self.seconds = 0.0  # of its turns so far
        self._turn = 0.0
        self._process = subprocess.Popen(
            [sys.executable, "-u", *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.take_turn()

    def take_turn(self) -> None:
        self._process.send_signal(signal.SIGCONT)
        self._turn = time.perf_counter()

    def rest(self) -> None:
        self.seconds += time.perf_counter() - self._turn
        self._process.send_signal(signal.SIGSTOP)

    def line(self) -> str | None:
        assert self._process.stdout is not None
        return self._process.stdout.readline() or None

    def clock(self) -> float:
        return self.seconds + time.perf_counter() - self._turn

    def processor_s(self) -> float:
        """What it used so far, with its children: neighbours slow a program down, but not this clock."""
        return _processor_s(self._process.pid)

    def end(self) -> str:
        """Kill it; what it had printed and nobody had read."""
        self._process.kill()
        rest: str = self._process.communicate()[0]
        return rest


def _processor_s(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:  # a child that has just ended: its parent has its seconds now
        return 0.0
    # Its own, and those of children that have ended.
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + sum(map(_processor_s, map(int, children)))


def flags(settings: Mapping[str, Plain]) -> list[str]:
    return [f"--{name}={value}" for name, value in settings.items()]


def nanogpt(checkout: Path, folder: Path, settings: Mapping[str, Plain]) -> Program:
    return Program([str(checkout / "train.py"), *flags({**settings, "dataset": "stdlib", "out_dir": "theirs"})], folder)


def ours(folder: Path, settings: Mapping[str, Plain], out_dir: str = "ours") -> Program:
    config = folder / "empty.py"  # nanoGPT's defaults, as nanoGPT has them
    config.write_text("")
    return Program(
        ["-m", "stepscope", "train", str(config), *flags({"dataset": "stdlib", "out_dir": out_dir, **settings})], folder
    )


def workplace(checkout: Path | None) -> Path:
    """A folder with the corpus under data/stdlib, where both programs look for it."""
    folder = Path(tempfile.mkdtemp(prefix="stepscope-bench-"))
    prepare_stdlib(folder / "data" / "stdlib")
    if checkout is not None:
        for name in ("model.py", "configurator.py"):
            (folder / name).symlink_to(checkout.resolve() / name)
    return folder


def interval(values: list[float]) -> tuple[float, float, float]:
    """Median and the central 90 % of a bootstrap of it."""
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(2000))
    return statistics.median(values), medians[100], medians[1899]


# What could make a difference, a setting or two at a time. The network is small: equality does not depend on its size.
SAME: dict[str, dict[str, Plain]] = {
    "as it is": {},
    "dropout": {"dropout": 0.2},
    "accumulation": {"gradient_accumulation_steps": 4, "dropout": 0.1},
    "clipping at 0.05": {"grad_clip": 0.05},
    "no clipping": {"grad_clip": 0.0},
    "weight decay": {"weight_decay": 10.0, "bias": True},
    "biases": {"bias": True, "dropout": 0.1},
    "a constant rate": {"decay_lr": False},
    "other betas": {"beta1": 0.8, "beta2": 0.999},
    "a decay that ends early": {"lr_decay_iters": 120, "warmup_iters": 10},
    "saves after every evaluation": {"always_save_checkpoint": True, "eval_interval": 20},
    "an odd end": {"max_iters": 77},
}


class Printed(NamedTuple):
    """What a run printed that can be compared."""

    losses: list[str]
    evaluations: list[str]
    saves: list[bool]  # by evaluation; ours saves once more, at the end

    @classmethod
    def of(cls, program: Program) -> Printed:
        """Of a program that ends by itself."""
        lines = [line.strip() for line in iter(program.line, None)]
        program.end()
        evaluated = [(line, after) for line, after in pairwise([*lines, ""]) if EVALUATION.match(line)]
        return cls(
            [match[2] for line in lines if (match := ITERATION.match(line))],
            [line for line, _ in evaluated],
            [after.startswith("saving checkpoint") for _, after in evaluated],
        )


def same(checkout: Path) -> None:
    """200 iterations of both in twelve settings: losses, evaluations and the saves after them, as printed."""
    num_equal, folder = 0, workplace(checkout)
    for name, changes in SAME.items():
        settings = {**COMMON, "n_layer": 2, "n_head": 2, "n_embd": 64, "block_size": 64, "batch_size": 8}
        settings |= {"max_iters": 200, "eval_interval": 50, "eval_iters": 4, "always_save_checkpoint": False, **changes}
        theirs = Printed.of(nanogpt(checkout, folder, settings))
        own = Printed.of(ours(folder, {**settings, "eval": "nanogpt"}))
        assert theirs.losses, "nanoGPT printed no loss"
        num_equal += own == theirs
        worst = max(abs(float(a) - float(b)) for a, b in zip(theirs.losses, own.losses, strict=True))
        counts = f"{len(theirs.losses)} losses, {len(theirs.evaluations)} evaluations, {sum(theirs.saves)} saves"
        verdict = "all equal" if own == theirs else f"not equal: {theirs[1:]} and {own[1:]}"
        print(f"  {name}: {counts}, largest difference of a printed loss {worst:.4f}, {verdict}", flush=True)
    print(f"same: {num_equal} of {len(SAME)} settings equal in every printed digit", flush=True)


def step(checkout: Path, sizes: list[str], turns: int) -> None:
    """Step time of both, in turns of a few iterations."""
    for size in sizes:
        _step_of(checkout, size, turns)


def _step_of(checkout: Path, size: str, turns: int, count: int = 4) -> None:
    """By the printed times, and by the processor's clock, which neighbours do not turn."""
    folder = workplace(checkout)
    settings = {**COMMON, **SIZES[size], "eval_interval": 100000, "eval_iters": 1}
    programs = [nanogpt(checkout, folder, settings), ours(folder, settings)]
    printed, used = [], []
    for program in programs:
        _iterations(program, 3)
        program.rest()
    for turn in range(turns):
        medians, processor_s = {}, {}
        for program in programs if turn % 2 else programs[::-1]:
            program.take_turn()
            _iterations(program, 1)  # a change of turns falls into it
            before = program.processor_s()
            medians[program] = statistics.median(_iterations(program, count))
            processor_s[program] = program.processor_s() - before
            program.rest()
        printed.append(medians[programs[1]] / medians[programs[0]])
        used.append(processor_s[programs[1]] / processor_s[programs[0]])
    for program in programs:
        program.end()
    print(f"step, {size}: ours / nanoGPT's {_shown(interval(printed))} over {turns} turns of {count}, ", end="")
    print(f"in seconds of the processor {_shown(interval(used))}", flush=True)


def _iterations(program: Program, count: int) -> list[float]:
    times: list[float] = []
    while len(times) < count:
        line = program.line()
        assert line is not None, "the program ended"
        if match := ITERATION.match(line):
            times.append(float(match[3]))
    return times


def _shown(found: tuple[float, float, float]) -> str:
    return f"{found[0]:.3f} ({found[1]:.3f} to {found[2]:.3f})"


def accounting() -> None:
    """What the calls of one step cost, as a share of a step of 40 ms."""
    accounts = Accounts()
    accounts.open(Path(tempfile.mkdtemp(prefix="stepscope-bench-")), 0, {})
    count = 20_000
    start = time.perf_counter()
    for number in range(count):
        for phase in (FORWARD, DATA, BACKWARD, STAGING, OPTIMIZER, LOGGING):
            accounts.lap(phase)
        accounts.step(number, 0.04, 2.5)
    each = (time.perf_counter() - start) / count
    accounts.close(count, "finished")
    print(f"accounting: {each * 1e6:.1f} µs a step, {each / 0.04:.3%} of 40 ms", flush=True)


def checkpoint(rounds: int) -> None:
    """A state of GPT-2's size: the stall of a save beside torch.save's, and a small network's steps meanwhile."""
    from stepscope.trainer.extras.staged import StagedCheckpointer
    from stepscope.trainer.model import GPT, ModelArgs, make_optimizers

    torch.manual_seed(1)
    folder = Path(tempfile.mkdtemp(prefix="stepscope-bench-"))
    large = GPT(ModelArgs(12, 12, 768, 1024, False, 50304, 0.0))
    (adam,) = make_optimizers(large, TrainConfig())
    state = {"model": large.state_dict(), "optimizer": adam.state_dict(), "model_args": {}, "iter_num": 1}
    small = GPT(ModelArgs(4, 4, 128, 64, False, 96, 0.0))
    tokens = torch.zeros((12, 64), dtype=torch.long)

    def one_step() -> tuple[float, float]:
        """Seconds, and those of the processor, which other programs do not add to."""
        start, used = time.perf_counter(), time.process_time()
        small(tokens, tokens)[1].backward()
        small.zero_grad()
        return time.perf_counter() - start, time.process_time() - used

    saver = StagedCheckpointer(folder, state, torch.device("cpu"))
    stalls: list[float] = []
    slower: tuple[list[float], list[float]] = [], []
    for round_number in range(rounds + 1):
        start = time.perf_counter()
        torch.save(state, folder / "theirs.pt")
        theirs = time.perf_counter() - start
        idle = [one_step() for _ in range(40)]
        start = time.perf_counter()
        saver.stage(state, round_number)
        stall = time.perf_counter() - start
        busy = []
        while (done := saver.collect()) is None:
            busy.append(one_step())
        assert done.problem is None, done.problem
        idle += [one_step() for _ in range(40)]
        if round_number:  # the first touch of memory and disk is not what is asked
            stalls.append(stall / theirs)
            for ratios, while_writing, otherwise in zip(
                slower, zip(*busy, strict=True), zip(*idle, strict=True), strict=True
            ):
                ratios.append(statistics.mean(while_writing) / statistics.mean(otherwise))
            print(f"  save {theirs:.2f} s, stall {stall:.3f} s, written in {done.seconds:.2f} s, ", end="")
            print(f"steps {slower[0][-1]:.3f}, {slower[1][-1]:.3f} by the processor's clock", flush=True)
    saver.close()
    print(f"checkpoint, {saver.num_bytes / 1e9:.2f} GB: stall / torch.save {_shown(interval(stalls))}; ", end="")
    print(f"step while writing / idle {_shown(interval(slower[0]))}, ", end="")
    print(f"in seconds of the processor {_shown(interval(slower[1]))}", flush=True)


def load(rounds: int) -> None:
    """A checkpoint of GPT-2's size: loaded by us, every checksum compared, and by `torch.load`, in turns."""
    from stepscope.trainer.extras import found as ours
    from stepscope.trainer.model import GPT, ModelArgs, make_optimizers

    folder = Path(tempfile.mkdtemp(prefix="stepscope-bench-"))
    large = GPT(ModelArgs(12, 12, 768, 1024, False, 50304, 0.0))
    (adam,) = make_optimizers(large, TrainConfig())
    torch.save({"model": large.state_dict(), "optimizer": adam.state_dict(), "model_args": {}}, folder / "ckpt.pt")
    num_bytes = (folder / "ckpt.pt").stat().st_size
    del large, adam

    def timed(work: Callable[[], dict[str, Any]]) -> tuple[float, float]:
        """Seconds, and those of the processor, until every value was used once: a file may be mapped and not read."""
        start, used = time.perf_counter(), time.process_time()
        for leaf in tree_leaves(work()):
            if isinstance(leaf, torch.Tensor):
                leaf.sum()
        return time.perf_counter() - start, time.process_time() - used

    ratios: tuple[list[float], list[float]] = [], []
    for number in range(rounds + 1):
        theirs = timed(lambda: torch.load(folder / "ckpt.pt", map_location="cpu", weights_only=True))
        own = timed(lambda: ours.load(folder))
        if number:  # the first touch of the disk is not what is asked
            for found, a, b in zip(ratios, own, theirs, strict=True):
                found.append(a / b)
            print(f"  torch.load {theirs[0]:.2f} s, ours {own[0]:.2f} s", flush=True)
    (folder / "ckpt.pt").unlink()
    print(f"load, {num_bytes / 1e9:.2f} GB: ours / torch.load {_shown(interval(ratios[0]))}, ", end="")
    print(f"in seconds of the processor {_shown(interval(ratios[1]))}", flush=True)


def evaluation() -> None:
    """Two states of one run, 50 iterations apart: noise of their difference, and time, against nanoGPT's way."""
    from stepscope.trainer.extras.device import World
    from stepscope.trainer.extras.weights import load_model
    from stepscope.trainer.train import Evaluator

    folder = workplace(None)
    settings = {**COMMON, **SIZES["tiny"], "eval_interval": 50, "eval_iters": 4, "max_iters": 250}
    program = ours(folder, settings)
    for _ in iter(program.line, None):
        pass
    program.end()
    from stepscope.trainer.extras.found import load

    earlier, later = folder / "earlier", folder / "ours"
    earlier.mkdir()
    (later / "ckpt-previous.pt").rename(earlier / "ckpt.pt")
    models = [load_model(load(place), place="") for place in (earlier, later)]
    size = SIZES["tiny"]
    val = Split(folder / "data" / "stdlib" / "val.bin", block_size=size["block_size"])
    generator = torch.Generator().manual_seed(3)
    losses: list[list[float]] = [[], []]
    with torch.inference_mode():
        for _ in range(200):
            starts = torch.randint(len(val) - size["block_size"], (size["batch_size"],), generator=generator)
            x, y = val.windows(starts, torch.device("cpu"))
            for model, found in zip(models, losses, strict=True):
                found.append(model(x, y)[1].item())
    independent = (statistics.variance(losses[0]) + statistics.variance(losses[1])) ** 0.5
    paired = statistics.stdev(b - a for a, b in zip(*losses, strict=True)) / FIXED_SHARE**0.5
    took: dict[str, list[float]] = {"nanogpt": [], "fixed": []}
    splits = {"train": val, "val": val}
    for _ in range(7):
        for way, times in took.items():
            config = build({**size, "eval": way, "eval_iters": 40})
            alone = World(0, 1, torch.device("cpu"))
            evaluator = Evaluator(config, splits, alone, autocast=torch.enable_grad, accounts=Accounts())
            start = time.perf_counter()
            evaluator(models[0], 2.0, (None, None))
            times.append(time.perf_counter() - start)
    ratio = interval([b / a for a, b in zip(took["nanogpt"], took["fixed"], strict=True)])
    print(f"evaluation: noise of a difference, fixed / nanoGPT's {paired / independent:.2f}; time {_shown(ratio)}")


class Point(NamedTuple):
    """An evaluation on the way of one runner: seconds of its turns and of the processor until then, and the loss."""

    iteration: int
    seconds: float
    processor_s: float
    loss: float


def race(checkout: Path, size: str, targets: list[int], entrants: Sequence[str], num_at_once: int) -> None:
    """Seconds until the modern recipe is where nanoGPT is at some iterations; evaluations and saves counted.

    Each entrant runs only while it is behind. Between two evaluations its loss is taken to fall along a line.
    `num_at_once` programs run beside each other, one core each: then the processor's clock is the one to believe.
    """
    folder = workplace(checkout)
    settings = {**COMMON, **SIZES[size], "eval_interval": 25, "eval_iters": 5}
    runners = {"nanoGPT": nanogpt(checkout, folder, settings)}
    for name in entrants:
        runners[name] = ours(folder, {**settings, **ENTRANTS[name]}, name)
    curves: dict[str, list[Point]] = {name: [] for name in runners}
    for runner in runners.values():
        runner.rest()

    def leg(name: str) -> None:
        """Up to its next evaluation."""
        runner = runners[name]
        runner.take_turn()
        while line := runner.line():
            if match := EVALUATION.match(line):
                point = Point(int(match[1]), runner.clock(), runner.processor_s(), float(match[2]))
                curves[name].append(point)
                print(f"  {name} {point}", flush=True)
                break
        runner.rest()

    theirs = curves["nanoGPT"]

    def behind() -> list[str]:
        return [name for name in entrants if all(point.loss > theirs[-1].loss for point in curves[name])]

    with ThreadPoolExecutor(num_at_once) as lanes:
        leg("nanoGPT")
        for target in targets:
            while theirs[-1].iteration < target:
                list(lanes.map(leg, ["nanoGPT", *behind()]))
            while late := behind():
                list(lanes.map(leg, late))
            for name in entrants:
                _finish_line(f"{name} at {size}", target, theirs[-1], curves[name])
    for runner in runners.values():
        runner.end()


def _finish_line(what: str, target: int, theirs: Point, modern: list[Point]) -> None:
    """Where the modern curve crosses nanoGPT's loss."""
    later = next(number for number, point in enumerate(modern) if point.loss <= theirs.loss)
    a, b = modern[later - 1], modern[later]
    part = (a.loss - theirs.loss) / (a.loss - b.loss)
    iteration, seconds, processor_s = (x + part * (y - x) for x, y in zip(a[:3], b[:3], strict=True))
    print(
        f"race, {what}: {theirs.loss:.4f} (nanoGPT at {target}: {theirs.seconds:.0f} s) after {iteration:.0f}"
        f" iterations, {seconds:.0f} s: {theirs.seconds / seconds:.1f} times sooner"
        f" ({theirs.processor_s / processor_s:.1f} in seconds of the processor)",
        flush=True,
    )


def kill(times: int) -> None:
    """kill -9 at random moments, half of them while a save is under way; then the losses of the whole run."""
    from stepscope.trainer.extras.totals import read_earlier

    folder = workplace(None)
    settings = {**COMMON, **SIZES["tiny"], "n_layer": 2, "n_embd": 64, "eval_interval": 5, "eval_iters": 4}
    settings |= {"max_iters": 12 * times}
    found: dict[int, str] = {}
    whole = ours(folder, settings)
    expected = {int(m[1]): m[2] for line in iter(whole.line, None) if (m := ITERATION.match(line))}
    (folder / "ours").rename(folder / "whole")
    chance, done = random.Random(5), 0
    while done <= times:
        begin = "resume" if (folder / "ours" / "ckpt.pt").exists() else "scratch"
        program = ours(folder, {**settings, "init_from": begin})
        mark = "saving" if done % 2 else "iter"
        count = chance.randint(1, 2 if done % 2 else 9)
        told = []
        while line := program.line():
            told.append(line)
            count -= line.startswith(mark)
            if count == 0 and done < times:
                time.sleep(chance.random() * 0.03)
                break
        for match in map(ITERATION.match, [*told, *program.end().splitlines()]):
            if match:
                assert found.setdefault(int(match[1]), match[2]) == match[2], f"iteration {match[1]} came out otherwise"
        done += 1
    assert found == expected
    earlier = read_earlier(folder / "ours" / "steps.jsonl")
    num_steps = earlier.num_steps + earlier.num_again
    print(f"kill: {times} kills, {num_steps} steps done for {len(expected)}, every loss as in the uninterrupted run")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nanogpt", type=Path, help="a checkout of github.com/karpathy/nanoGPT")
    parser.add_argument("--only", help="some of: same,step,accounting,checkpoint,load,evaluation,race,kill")
    parser.add_argument("--size", choices=tuple(SIZES), help="of the step times and the race (default: tiny and baby)")
    parser.add_argument("--turns", type=int, default=20, help="of the step times")
    parser.add_argument("--targets", default="225,1000", help="nanoGPT's iterations to race for")
    parser.add_argument("--entrants", default="modern", help=f"of the race: some of {','.join(ENTRANTS)}")
    parser.add_argument("--at-once", type=int, default=1, help="programs of the race that run beside each other")
    parser.add_argument("--saves", type=int, default=8, help="of the checkpoints, and loads")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    torch.set_num_threads(args.threads)
    sizes = [args.size] if args.size else list(SIZES)
    everything: dict[str, Callable[[], object]] = {
        "accounting": accounting,
        "checkpoint": lambda: checkpoint(args.saves),
        "load": lambda: load(args.saves),
        "evaluation": evaluation,
        "kill": lambda: kill(args.kills),
    }
    if args.nanogpt is not None:
        everything |= {
            "same": lambda: same(args.nanogpt),
            "step": lambda: step(args.nanogpt, sizes, args.turns),
            "race": lambda: race(
                args.nanogpt,
                sizes[-1],
                [int(text) for text in args.targets.split(",")],
                args.entrants.split(","),
                args.at_once,
            ),
        }
    wanted = args.only.split(",") if args.only else list(everything)
    if missing := [name for name in wanted if name not in everything]:
        print(f"no such part, or it needs --nanogpt: {', '.join(missing)}", file=sys.stderr)
        return 2
    for name in wanted:
        everything[name]()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
