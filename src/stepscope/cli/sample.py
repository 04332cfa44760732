"""Text from a checkpoint, ours or nanoGPT's

stepscope sample --out_dir=out-stdlib --start="def " --num_samples=3
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from stepscope.cli import _flags, _trainer
from stepscope.core.errors import UsageError

Number = TypeVar("Number", int, float)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """nanoGPT's flags of `sample.py`."""
    parser.add_argument(
        "--out_dir", default="out-stdlib", metavar="DIR", help="Folder of the checkpoint (default: %(default)s)"
    )
    parser.add_argument(
        "--start",
        default="",
        metavar="TEXT",
        help="Text to continue; FILE:name reads it from a file (default: a line end, where the corpus has any)",
    )
    parser.add_argument(
        "--num_samples",
        type=_positive("num_samples", int),
        default=3,
        metavar="N",
        help="Number of samples (default: %(default)s)",
    )
    parser.add_argument(
        "--max_new_tokens",
        type=_positive("max_new_tokens", int),
        default=500,
        metavar="N",
        help="Tokens in each sample (default: %(default)s)",
    )
    parser.add_argument(
        "--temperature",
        type=_positive("temperature", float),
        default=0.8,
        metavar="T",
        help="Randomness of the draw; below 1 is safer (default: %(default)s)",
    )
    parser.add_argument(
        "--top_k",
        type=_positive("top_k", int),
        default=200,
        metavar="K",
        help="Number of likeliest tokens to draw from (default: %(default)s)",
    )
    parser.add_argument("--seed", type=_seed, default=1337, metavar="N", help="Seed of the draw (default: %(default)s)")
    parser.add_argument("--device", default="cpu", metavar="D", help="Device: cpu, cuda or mps (default: %(default)s)")
    _flags.add_language_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print the samples, nanoGPT's line between them."""
    _trainer.need_torch()
    with _trainer.translated_errors():
        _sample(args)
    return 0


def _positive(name: str, kind: type[Number]) -> Callable[[str], Number]:
    """Parse a number above 0."""

    def parse(text: str) -> Number:
        value = _number(name, kind, text)
        if not value > 0:
            raise UsageError("train-range", place=f"--{name}", setting=name, least=1)
        return value

    return parse


def _seed(text: str) -> int:
    """A seed that PyTorch takes: 64 bits."""
    seed = _number("seed", int, text)
    if not -(2**63) <= seed < 2**64:
        raise UsageError("train-range", place="--seed", setting="seed", least=0)
    return seed


def _number(name: str, kind: type[Number], text: str) -> Number:
    try:
        return kind(text)
    except ValueError:
        place = f"{name} = {text[:40]!r}"
        raise UsageError("train-setting-type", place=place, setting=name, wanted=kind.__name__) from None


def _sample(args: argparse.Namespace) -> None:
    import torch

    from stepscope.trainer import checkpoint
    from stepscope.trainer.config import TrainConfig
    from stepscope.trainer.device import join_world
    from stepscope.trainer.model import load_model
    from stepscope.trainer.writer import NAME

    device = join_world(TrainConfig(device=args.device)).device
    folder = Path(args.out_dir)
    saved = checkpoint.load(folder, with_optimizers=False)
    model = load_model(saved, place=str(folder / NAME)).to(device).eval()
    encode, decode, first_tokens = _tokens(saved, folder)
    start = args.start
    if start.startswith("FILE:"):
        from stepscope.trainer.data import read_documents

        start = next(iter(read_documents([Path(start[5:])])))
    torch.manual_seed(args.seed)
    first = torch.tensor([encode(start) or first_tokens], device=device)
    for _ in range(args.num_samples):
        tokens = model.generate(first, args.max_new_tokens, temperature=args.temperature, top_k=args.top_k)
        print(decode(tokens[0].tolist()))
        print("---------------", flush=True)


def _tokens(saved: dict[str, Any], folder: Path) -> tuple[Any, Any, list[int]]:
    """How text becomes tokens and back (the data folder's characters, else GPT-2's byte pairs), and a first token."""
    from stepscope.trainer.data import gpt2_encoding, read_meta

    config = saved.get("config")
    name = str(config.get("dataset", "")) if isinstance(config, dict) else ""
    for place in (folder / "data" if name == "stdlib" else Path("data") / name, Path(name)):
        meta = read_meta(place) if name else None
        if meta is not None and meta.stoi:
            return meta.encode, meta.decode, meta.first_tokens()
    encoding = gpt2_encoding()
    encode = partial(encoding.encode, allowed_special={"<|endoftext|>"})
    return encode, encoding.decode, encode("\n")
