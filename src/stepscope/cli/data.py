"""Make a data folder for the trainer.

    stepscope data prepare FILE…               your own text
    stepscope data prepare shakespeare         tiny Shakespeare, a download of 1 MB
    stepscope data prepare openwebtext FILE…   OpenWebText from files you have
    stepscope data prepare stdlib              Python's standard library

It holds train.bin, val.bin and meta.pkl. A .jsonl file has one document per line under "text". A FILE after shakespeare
is a copy you have; the 54 GB of OpenWebText are not downloaded here.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.cli import _answer, _flags, _trainer
from stepscope.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from stepscope.i18n import Language

_NAMES = ("shakespeare", "shakespeare_char", "openwebtext", "stdlib")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to prepare, how, and where to."""
    parser.add_argument("action", choices=("prepare",), help="What to do; there is only this one")
    parser.add_argument("what", nargs="+", metavar="FILE|NAME", help="Text files, or the name of a dataset")
    parser.add_argument(
        "--tokens",
        choices=("char", "gpt2"),
        help="Kind of tokens: one per character, or GPT-2's byte pairs (default: char; openwebtext: gpt2)",
    )
    parser.add_argument("--out", metavar="DIR", help="Folder to write (default: data/NAME, where nanoGPT looks for it)")
    _flags.add_language_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Write the folder and say what is in it."""
    language = _answer.chosen_languages(args)[0]
    name = args.what[0] if args.what[0] in _NAMES else None
    files = [Path(path) for path in args.what[1 if name else 0 :]]
    tokens = args.tokens or ("gpt2" if name == "openwebtext" else "char")
    if name == "openwebtext" and not files:
        raise UsageError("data-openwebtext")
    default = f"{name}_char" if name == "shakespeare" and tokens == "char" else name or files[0].stem
    folder = Path(args.out) if args.out else Path("data") / default
    with _trainer.translated_errors():
        try:
            _write(folder, name, files, tokens, language)
        except OSError as problem:
            reason = problem.strerror or str(problem)
            raise InputError("train-out-dir", place=str(folder), reason=reason) from None
        sizes = [(folder / f"{split}.bin").stat().st_size // 2 for split in ("train", "val")]
        if not sum(sizes):
            raise InputError("data-empty", place=", ".join(args.what))
    print(language.text("data-ready", folder=str(folder), train=sizes[0], val=sizes[1]))
    print(language.text("data-use", command=f"stepscope train CONFIG.py --dataset={folder}"), file=sys.stderr)
    return 0


def _write(folder: Path, name: str | None, files: list[Path], tokens: str, language: Language) -> None:
    """Write the dataset called `name`, or the texts of `files`, as tokens of one kind."""
    from stepscope.trainer.extras import corpora

    if name == "stdlib" and not files:
        corpora.prepare_stdlib(folder)
    elif tokens == "gpt2":
        several = name == "openwebtext" or any(path.suffix == ".jsonl" for path in files)
        corpora.write_gpt2_folder(_texts(files, language), folder, separate=several)
    else:
        corpora.write_char_folder("".join(_texts(files, language)), folder)


def _texts(files: list[Path], language: Language) -> Iterator[str]:
    """The documents of the files, or tiny Shakespeare from the network."""
    from stepscope.trainer.extras import corpora

    if files:
        yield from corpora.read_documents(files)
        return
    print(language.text("data-download", url=corpora.SHAKESPEARE_URL), file=sys.stderr, flush=True)
    yield corpora.download_shakespeare()
