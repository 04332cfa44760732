"""Show the report of an example, without a log or network.

nanoGPT on an RTX 4070: iterations of 170 ms, and 12.5 s, 5.99 s and 5.73 s in between.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from stepscope.cli import _answer, _flags, _report, explain

# Where the case lies in the package.
FOLDER = Path(__file__).parent.parent / "demo"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Only how to answer."""
    _flags.add_output_arguments(parser)
    _flags.add_full_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Explain the case that ships with the package."""
    from stepscope.reading.reader import read_sources
    from stepscope.source.files import Source

    languages = _answer.chosen_languages(args)
    log, config, table = (FOLDER / name for name in ("train.log", "config.py", "nvidia-smi.txt"))
    stated = argparse.Namespace(
        config=str(config), nvidia_smi=str(table), now=None, gpu=None, confidence=0.9, strict=False
    )
    settings, hardware = _report.read_companions(stated)
    case = read_sources([Source(name="train.log", path=log, mtime=None)])
    report = _report.explain_run(case, stated, flags={}, config=settings, hardware=hardware)
    explain.show(args, report)
    if args.output is None and args.format == "terminal":
        by_hand = " ".join(["stepscope", _short(log), "--config", _short(config), "--nvidia-smi", _short(table)])
        print("\n" + languages[0].text("demo-intro", command=by_hand), file=sys.stderr)
    return 0


def _short(path: Path) -> str:
    """The path as one would type it from here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
