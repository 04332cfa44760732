"""Small networks on one thread of a CPU: real PyTorch, real processes, real kills, a few seconds each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# `pip install -e '.[dev]'` brings it; without it the rest of the suite still runs.
torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install -e '.[dev]'")

from stepscope.trainer.extras.corpora import write_char_folder  # noqa: E402
from stepscope.trainer.extras.settings import build  # noqa: E402
from stepscope.trainer.train import train  # noqa: E402

TINY = {
    "device": "cpu",
    "compile": False,
    "eval_interval": 10,
    "eval_iters": 4,
    "log_interval": 1,
    "gradient_accumulation_steps": 2,
    "batch_size": 4,
    "block_size": 16,
    "n_layer": 2,
    "n_head": 2,
    "n_embd": 32,
    "learning_rate": 1e-2,
    "min_lr": 1e-3,
    "max_iters": 40,
    "lr_decay_iters": 40,
    "warmup_iters": 5,
    # As in nanoGPT; the command line has others of its own where no config file is given.
    "recipe": "nanogpt",
    "beta2": 0.95,
}


def pytest_collection_modifyitems(items):
    for item in items:
        if "trainer" in str(item.fspath):
            item.add_marker(pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*"))


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    """Threads beside busy neighbours are slower than one, and one gives the same sums everywhere."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """A text with some order in it, as a data folder."""
    folder = tmp_path_factory.mktemp("corpus")
    text = "".join(chr(97 + (i * i // 7 + 3 * i) % 23) if i % 6 else "\n" for i in range(20_000))
    write_char_folder(text, folder)
    return folder


class Run:
    """A run in this process: its outcome, its log, and what was said besides."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], settings: dict[str, object]) -> None:
        self.folder = folder
        self.said: list[tuple[str, dict[str, object]]] = []
        self.outcome = train(
            build(settings),
            say=lambda key, **args: self.said.append((key, args)),
            header=[f"Overriding: {name} = {value}" for name, value in settings.items()],
        )
        self.log = capsys.readouterr().out

    @property
    def losses(self) -> dict[int, float]:
        return losses_of(self.folder)


def records_of(folder: Path) -> list[dict[str, object]]:
    lines = (folder / "steps.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def losses_of(folder: Path) -> dict[int, float]:
    """The loss of every step to the last bit; a step that was done twice must have come out the same."""
    losses: dict[int, float] = {}
    for record in records_of(folder):
        if record["kind"] == "step":
            step, loss = record["step"], record["loss"]
            assert losses.setdefault(step, loss) == loss, step
    return losses


def same(one: object, other: object) -> bool:
    """Equal to the last bit, all the way down."""
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))  # type: ignore
    return one == other


# What a report calls the ledger's phases, where that is not the first word of the name.
REPORTED = {
    **dict.fromkeys(("forward", "backward", "optimizer", "device"), "step"),
    **dict.fromkeys(("compile", "startup"), "warmup"),
    **dict.fromkeys(("sampling", "other"), "unlogged"),
}


def summary(ledger: dict[str, dict[str, float]]) -> dict[str, float]:
    """The ledger in the words of a report: step, evaluation, checkpoint, warmup, data, gc, logging, unlogged."""
    out: dict[str, float] = {}
    for name, seconds in ledger["phases"].items():
        home = REPORTED.get(name, name.split("_")[0])
        out[home] = out.get(home, 0.0) + seconds
    return out


@pytest.fixture
def trained(tmp_path, corpus, capsys):
    """Train the tiny network with some settings changed."""

    def run(**changes: object) -> Run:
        folder = tmp_path / str(changes.pop("name", "out"))
        return Run(folder, capsys, {**TINY, "dataset": str(corpus), "out_dir": str(folder), **changes})

    run.folder = tmp_path / "out"  # type: ignore[attr-defined]
    return run


def command(*arguments: str, **settings: object) -> list[str]:
    flags = [f"--{name}={value}" for name, value in settings.items()]
    return [sys.executable, "-m", "stepscope", "train", *arguments, *flags]


def start(*arguments: str, **settings: object) -> subprocess.Popen[str]:
    """`stepscope train` in a process of its own."""
    return subprocess.Popen(
        command(*arguments, **settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
