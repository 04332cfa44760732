"""`stepscope train` in a process that has PyTorch loaded already, so that a hundred of them start quickly."""

from __future__ import annotations

import multiprocessing
import os
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path


def _train(flags: list[str], printed: str, environment: dict[str, str]) -> None:
    os.environ.update(environment)
    number = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(number, stream)
    from stepscope.cli import main

    code = main(["train", *flags])
    sys.stdout.flush()
    os._exit(code)


def start(printed: Path, config: Path, *, environment: dict[str, str] | None = None, **settings: object) -> BaseProcess:
    """Start it with a config file and flags; what it prints goes to a file. `environment` is that of torchrun."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["torch._dynamo", "stepscope.trainer.train", "stepscope.trainer.extras.sharded", "stepscope.cli.train"]
    )
    flags = [str(config), *(f"--{name}={value}" for name, value in settings.items())]
    process = context.Process(target=_train, args=(flags, str(printed), environment or {}))
    process.start()
    return process
