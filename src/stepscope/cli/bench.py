"""Time a training step on this machine, as nanoGPT's bench.py does.

    stepscope bench --real_data=False --device=cpu --compile=False --batch_size=4 --block_size=256
    stepscope bench config/train_shakespeare_char.py --device=cuda

Ten steps warm up, twenty are timed. Flags, defaults and config files are those of nanoGPT's bench.py; the shape of the
network and the data can be set, too. Config files are read, never run.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

from stepscope.cli import _answer, _flags, _trainer
from stepscope.cli._train_config import read_settings

_NAMES = ("batch_size", "block_size", "bias", "seed", "device", "dtype", "compile")
_SHAPE = ("n_layer", "n_head", "n_embd", "recipe", "dataset")
_OWN = {"real_data": True, "profile": False}
_ABOUT = {
    "real_data": "Draw batches from the data (default: True); else one random batch throughout",
    "profile": "Record a trace of five steps in bench_log (default: False)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """nanoGPT's flags of `bench.py`, and the shape of the network."""
    from stepscope.trainer.config import TrainConfig
    from stepscope.trainer.extras.settings import ABOUT

    defaults = TrainConfig()
    parser.add_argument("config", nargs="*", metavar="CONFIG.py", help="Config files of nanoGPT, read in this order")
    for name in (*_NAMES, *_SHAPE):
        text = f"{ABOUT[name]} (default: {getattr(defaults, name)})"
        parser.add_argument(f"--{name}", metavar="X", type=partial(_trainer.setting, name), help=text)
    for name, about in _ABOUT.items():
        parser.add_argument(f"--{name}", metavar="X", type=partial(_trainer.setting, "compile"), help=about)
    _flags.add_language_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Time the steps, and print nanoGPT's line."""
    language = _answer.chosen_languages(args)[0]
    _trainer.need_torch()
    with _trainer.translated_errors():
        from stepscope.trainer.config import NAMES
        from stepscope.trainer.extras.bench import BENCH, bench
        from stepscope.trainer.extras.settings import build

        own: dict[str, Any] = dict(_OWN)
        layers: list[dict[str, Any]] = [BENCH]
        for path in args.config:
            values = read_settings(Path(path), (*_NAMES, *_SHAPE, *_OWN), known=NAMES).values
            own |= {name: bool(values.pop(name)) for name in _OWN if name in values}
            layers.append(values)
        flags = {name: value for name in (*_NAMES, *_SHAPE) if (value := getattr(args, name)) is not None}
        own |= {name: value for name in _OWN if (value := getattr(args, name)) is not None}
        timing = bench(
            build(*layers, flags),
            real_data=own["real_data"],
            profile=own["profile"],
            say=lambda key, **values: print(language.text(key, **values), file=sys.stderr),
        )
    share = "" if timing.mfu is None else f", MFU: {timing.mfu * 100:.2f}%"
    print(f"time per iteration: {timing.step_s * 1000:.4f}ms{share}")
    return 0
