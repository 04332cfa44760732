"""`stepscope train --selftest`: each part of the trainer that depends on the device, for seconds, on this one.

Nobody has every GPU. So whatever could go wrong on one that was never tried is a part here: it does the real thing with
a tiny network and compares. Each part is a process of its own, because a part that fails may take its process with it
(an illegal instruction), or leave a device behind on which nothing works any more.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch

from stepscope.trainer.accounts import PHASES, Accounts
from stepscope.trainer.config import TrainConfig
from stepscope.trainer.data import Split
from stepscope.trainer.extras import found
from stepscope.trainer.extras.blocking import BlockingCheckpointer
from stepscope.trainer.extras.corpora import write_char_folder
from stepscope.trainer.extras.device import World, join_world, make_autocast, pick_precision, synchronize
from stepscope.trainer.extras.memory import LiveBytes, device_peak, fitting_batch, make_peak
from stepscope.trainer.extras.muon import orthogonal
from stepscope.trainer.extras.run_log import silent
from stepscope.trainer.extras.settings import build
from stepscope.trainer.extras.staged import StagedCheckpointer
from stepscope.trainer.model import GPT, OPTIMIZERS, ModelArgs, make_optimizers
from stepscope.trainer.train import Evaluator, train

_SECONDS = 600  # a part that takes longer hangs, or the machine is very busy
_TINY: dict[str, Any] = {
    "compile": False,
    "eval_interval": 6,
    "eval_iters": 4,
    "log_interval": 1,
    "gradient_accumulation_steps": 2,
    "batch_size": 4,
    "block_size": 32,
    "n_layer": 2,
    "n_head": 2,
    "n_embd": 64,
    "learning_rate": 1e-3,
    "max_iters": 12,
    "lr_decay_iters": 12,
    "warmup_iters": 2,
    "threads": 1,
}


class Finding(NamedTuple):
    """What one part came to: passed or not, the figures it compared, or why it broke off."""

    part: str
    passed: bool
    seconds: float
    facts: dict[str, Any]
    problem: str | None = None


# What a part does: with a device and a folder, it says whether it is as it should be, and the figures.
Part = Callable[[str, Path], tuple[bool, dict[str, Any]]]


def run(device: str, parts: list[str]) -> Iterator[Finding]:
    """The parts one after another, each in a process of its own."""
    for part in parts:
        with tempfile.TemporaryDirectory(prefix="stepscope-selftest-") as folder:
            yield _run_child(part, device, Path(folder))


def _run_child(part: str, device: str, folder: Path) -> Finding:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[3]), *sys.path])}
    command = [
        sys.executable,
        "-c",
        "from stepscope.trainer.extras.selftest import child; child()",
        part,
        device,
        str(folder),
    ]
    start = time.perf_counter()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return Finding(part, False, _SECONDS, {}, f"not done after {_SECONDS} s")
    seconds = time.perf_counter() - start
    try:
        passed, facts = json.loads((folder / "finding.json").read_text(encoding="utf-8"))
        return Finding(part, passed, seconds, facts)
    except (OSError, ValueError):
        return Finding(part, False, seconds, {}, _reason(done.returncode, done.stderr))


def _reason(code: int, stderr: str) -> str:
    """Why a process ended: the signal, or the last line it wrote."""
    if code < 0:
        return signal.Signals(-code).name
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return lines[-1][:300] if lines else f"exit code {code}"


def child() -> None:
    """The process of one part."""
    part, device, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    torch.set_num_threads(1)
    answer = PARTS[part](device, folder)
    (folder / "finding.json").write_text(json.dumps(answer), encoding="utf-8")


# -- the parts ----------------------------------------------------------------------------------------------------


def _config(device: str, folder: Path, **changes: Any) -> TrainConfig:
    data = folder / "data"
    if not data.exists():
        text = "".join(chr(97 + (i * i // 7 + 3 * i) % 23) if i % 6 else "\n" for i in range(20_000))
        write_char_folder(text, data)
    return build({**_TINY, "device": device, "dataset": str(data), "out_dir": str(folder / "out"), **changes})


def _network(config: TrainConfig, device: torch.device, vocab_size: int = 96) -> GPT:
    torch.manual_seed(1)
    return GPT(ModelArgs.of(config, vocab_size)).to(device)


def _tokens(config: TrainConfig, device: torch.device) -> torch.Tensor:
    shape = (config.batch_size, config.block_size)
    return torch.randint(0, 96, shape, generator=torch.Generator().manual_seed(2)).to(device)


def _loss_and_norm(model: Any, tokens: torch.Tensor, autocast: Callable[[], Any]) -> tuple[float, float]:
    with autocast():
        _, loss = model(tokens, tokens.clone())
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    model.zero_grad(set_to_none=True)
    return loss.item(), norm.item()


def _precision(device: str, folder: Path) -> tuple[bool, dict[str, Any]]:
    """A step in the precision that `--dtype=auto` takes, next to one in float32."""
    config = _config(device, folder)
    place = join_world(config).device
    dtype = pick_precision(config, place, silent)
    found = []
    for each in ("float32", dtype):
        autocast = make_autocast(build({"device": device, "dtype": each}), place)
        found.append(_loss_and_norm(_network(config, place), _tokens(config, place), autocast))
    (exact, exact_norm), (loss, norm) = found
    passed = abs(loss - exact) < 0.05 and abs(norm / exact_norm - 1) < 0.1
    return passed, {"dtype": dtype, "loss": loss, "other": exact}


def _compile(device: str, folder: Path) -> tuple[bool, dict[str, Any]]:
    """A step with and without torch.compile."""
    config = _config(device, folder, recipe="modern")
    place = join_world(config).device
    tokens, autocast = _tokens(config, place), torch.enable_grad
    other, other_norm = _loss_and_norm(_network(config, place), tokens, autocast)
    loss, norm = _loss_and_norm(torch.compile(_network(config, place)), tokens, autocast)
    passed = abs(loss - other) < 1e-3 and abs(norm / other_norm - 1) < 0.01
    return passed, {"loss": loss, "other": other}


def _memory(device: str, folder: Path) -> tuple[bool, dict[str, Any]]:
    """The peak of an evaluation, next to that of a training step, with GPT-2's vocabulary."""
    config = _config(device, folder, n_layer=1, eval_iters=64)
    place = join_world(config).device
    splits = {name: Split(folder / "data" / f"{name}.bin", block_size=config.block_size) for name in ("train", "val")}
    evaluator = Evaluator(config, splits, World(0, 1, place), autocast=torch.enable_grad, accounts=Accounts())
    model = _network(config, place, vocab_size=50304)
    if place.type == "cuda":
        evaluator.batch_size = fitting_batch(config.batch_size, make_peak(model, config, place, torch.enable_grad))
    tokens = _tokens(config, place)

    def peak(work: Callable[[], object]) -> int:
        stated = device_peak(place, work)
        if stated is not None:
            return stated
        with LiveBytes() as live:
            work()
        return live.peak

    step = peak(lambda: _loss_and_norm(model, tokens, torch.enable_grad))
    evaluation = peak(lambda: evaluator(model, 1.0, (tokens, tokens)))
    facts = {"evaluation": evaluation / 1e6, "step": step / 1e6, "sequences": evaluator.batch_size}
    return evaluation <= step, facts


def _clock(device: str, folder: Path) -> tuple[bool, dict[str, Any]]:
    """Seconds of steps that were queued: none negative, and together as long as the loop took."""
    outcome = train(_config(device, folder, log_interval=10, eval_interval=100, max_iters=40))
    steps = [record for record in _records(folder / "out") if record["kind"] == "step"]
    least = min(min(record["duration_s"], *record["phases"].values()) for record in steps)
    counted = sum(record["duration_s"] for record in steps)
    ledger = outcome.ledger["phases"]
    loop = sum(ledger.get(name, 0.0) for name in PHASES[: PHASES.index("logging") + 1]) + ledger.get("gc", 0.0)
    passed = len(steps) == 41 and least >= 0 and abs(counted - loop) <= 0.1 * loop + 0.05
    return passed, {"steps": len(steps), "counted": counted, "loop": loop}


def _records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "steps.jsonl").read_text(encoding="utf-8").splitlines()]


def _checkpoint(device: str, folder: Path) -> tuple[bool, dict[str, Any]]:
    """The file holds the state of the moment of the save, though the weights change right after it."""
    config = _config(device, folder, recipe="modern", n_embd=256, n_layer=4)
    place = join_world(config).device
    model = _network(config, place)
    optimizers = make_optimizers(model, config)
    differing, stall = 0, 0.0
    states = zip(OPTIMIZERS, (each.state_dict() for each in optimizers), strict=True)
    state = {"model": model.state_dict(), **dict(states)}
    (folder / "out").mkdir()
    for saver in (StagedCheckpointer(folder / "out", state, place), BlockingCheckpointer(folder / "out")):
        for number in range(3):
            expected = {name: value.cpu().clone() for name, value in model.state_dict().items()}
            synchronize(place)
            start = time.perf_counter()
            saver.stage({**state, "model_args": {"round": number}}, number)
            stall = max(stall, time.perf_counter() - start)
            saver.settle()
            with torch.no_grad():
                for weight in model.parameters():
                    weight.add_(1.0)  # as the next optimizer step would
            done = saver.collect(wait=True)
            saved = found.load(folder / "out")["model"]
            differing += sum(not torch.equal(saved[name], value) for name, value in expected.items())
            differing += done is None or done.problem is not None
        saver.close()
    return not differing, {"differing": differing, "stall": stall}


def _resume(device: str, folder: Path) -> tuple[bool, dict[str, Any]]:
    """A run that was cut in two, next to a whole one: losses and weights to the last bit."""
    changes = {"dropout": 0.1, "recipe": "modern"}
    train(_config(device, folder, **changes, out_dir=str(folder / "whole")))
    train(_config(device, folder, **changes, max_iters=6))
    train(_config(device, folder, **changes, init_from="resume"))
    losses = [
        {record["step"]: record["loss"] for record in _records(folder / name) if record["kind"] == "step"}
        for name in ("whole", "out")
    ]
    weights = [found.load(folder / name)["model"] for name in ("whole", "out")]
    differing = sum(losses[0][step] != losses[1].get(step) for step in losses[0])
    differing += sum(not torch.equal(value, weights[1][name]) for name, value in weights[0].items())
    return not differing, {"steps": len(losses[0]), "tensors": len(weights[0]), "differing": differing}


def _sample(device: str, folder: Path) -> tuple[bool, dict[str, Any]]:
    """Text of one seed is one text."""
    config = _config(device, folder, recipe="modern")
    place = join_world(config).device
    model = _network(config, place).eval()
    start = torch.zeros((2, 1), dtype=torch.long, device=place)
    texts = []
    for _ in range(2):
        torch.manual_seed(7)
        texts.append(model.generate(start, 40, temperature=0.8, top_k=20).cpu())
    is_same = torch.equal(*texts)
    return is_same and int(texts[0].max()) < 96, {"tokens": texts[0].numel()}


def _muon(device: str, folder: Path) -> tuple[bool, dict[str, Any]]:
    """The update of a matrix is orthogonal in the precision of this device."""
    place = join_world(_config(device, folder)).device
    matrices = torch.randn(3, 256, 64, generator=torch.Generator().manual_seed(1)).to(place)
    made = orthogonal(matrices)
    values = torch.linalg.svdvals(made.float().cpu())
    least, most = values.min().item(), values.max().item()
    facts = {"dtype": str(made.dtype).removeprefix("torch."), "least": least, "most": most}
    return least > 0.5 and most < 1.4, facts


def _processes(device: str, folder: Path, *, shard: bool = False) -> tuple[bool, dict[str, Any]]:
    """Two processes have the losses of one: over NCCL where there are two GPUs, over gloo on the CPU elsewhere."""
    has_two = device.startswith("cuda") and torch.cuda.device_count() > 1
    where, backend = ("cuda", "nccl") if has_two else ("cpu", "gloo")
    changes = {"dtype": "float32", "recipe": "modern", "backend": backend}
    train(_config(where, folder, **changes, out_dir=str(folder / "alone")))
    # All settings are stated: without a config file the command has defaults of its own.
    settings = asdict(_config(where, folder, **changes, shard=shard, out_dir=str(folder / "pair")))
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    flags = [f"--{name}={value}" for name, value in settings.items()]
    done = subprocess.run(
        [*launcher, "-m", "stepscope", "train", *flags],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    if done.returncode:
        raise RuntimeError(_reason(done.returncode, done.stderr))
    alone, pair = (
        [record["loss"] for record in _records(folder / name) if record["kind"] == "step"] for name in ("alone", "pair")
    )
    worst = max(abs(a - b) for a, b in zip(alone, pair, strict=True))
    return worst < 1e-3, {"backend": backend, "worst": worst}


def _shard(device: str, folder: Path) -> tuple[bool, dict[str, Any]]:
    """The same with a slice of every tensor in each process."""
    return _processes(device, folder, shard=True)


PARTS: dict[str, Part] = {
    "precision": _precision,
    "compile": _compile,
    "memory": _memory,
    "clock": _clock,
    "checkpoint": _checkpoint,
    "resume": _resume,
    "sample": _sample,
    "muon": _muon,
    "processes": _processes,
    "shard": _shard,
}


def best_device() -> str:
    """What this machine has: CUDA, an Apple GPU, or the CPU."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
