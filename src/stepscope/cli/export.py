"""Make one ckpt.pt from a sharded checkpoint.

    stepscope export --out_dir=out                     writes out/ckpt.pt
    stepscope export --out_dir=out --to elsewhere.pt

Slices are what `stepscope train --shard=True` writes; the one file is for nanoGPT or a single machine.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from stepscope.cli import _answer, _flags, _trainer
from stepscope.core.message import Decimal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which run, and where to."""
    parser.add_argument("--out_dir", default="out", metavar="DIR", help="Folder of the run (default: %(default)s)")
    parser.add_argument("--to", metavar="FILE", help="File to write (default: ckpt.pt in that folder)")
    _flags.add_language_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Put the slices together and say where they are now."""
    language = _answer.chosen_languages(args)[0]
    _trainer.need_torch()
    with _trainer.translated_errors():
        from stepscope.trainer.extras.export import export
        from stepscope.trainer.extras.writer import NAME

        target = Path(args.to) if args.to else Path(args.out_dir) / NAME
        state = export(Path(args.out_dir), target)
    size = Decimal(target.stat().st_size / 1e6, 1)
    print(language.text("export-done", path=str(target), iteration=int(state["iter_num"]), size=size))
    return 0
