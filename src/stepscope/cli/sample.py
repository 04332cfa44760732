"""text from a checkpoint, ours or nanoGPT's

stepscope sample --out_dir=out-stdlib --start="def " --num_samples=3
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from stepscope.cli import _answer, _trainer
from stepscope.core.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """nanoGPT's flags of `sample.py`."""
    parser.add_argument("--out_dir", default="out-stdlib", metavar="DIR", help="folder of the checkpoint (%(default)s)")
    parser.add_argument(
        "--start", default="\n", metavar="TEXT", help="what to continue; FILE:name reads it from a file (a line end)"
    )
    parser.add_argument("--num_samples", type=int, default=3, metavar="N", help="how many (%(default)s)")
    parser.add_argument("--max_new_tokens", type=int, default=500, metavar="N", help="tokens of each (%(default)s)")
    parser.add_argument("--temperature", type=float, default=0.8, metavar="T", help="below 1: safer (%(default)s)")
    parser.add_argument("--top_k", type=int, default=200, metavar="K", help="only the likeliest K tokens (%(default)s)")
    parser.add_argument("--seed", type=int, default=1337, metavar="N", help="of the draw (%(default)s)")
    parser.add_argument("--device", default="cpu", metavar="D", help="cpu, cuda, mps (%(default)s)")
    parser.add_argument("--lang", metavar="L", help="language (default: the locale's)")


def run(args: argparse.Namespace) -> int:
    """Print the samples, nanoGPT's line between them."""
    _answer.chosen_languages(args)
    for name in ("num_samples", "max_new_tokens", "top_k", "temperature"):
        if not getattr(args, name) > 0:
            raise UsageError("train-range", place=f"--{name}", setting=name, least=1)
    _trainer.need_torch()
    with _trainer.told():
        _sample(args)
    return 0


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
    encode, decode = _tokens(saved, folder)
    start = args.start
    if start.startswith("FILE:"):
        from stepscope.trainer.data import read_documents

        start = next(iter(read_documents([Path(start[5:])])))
    torch.manual_seed(args.seed)
    first = torch.tensor([encode(start) or encode("\n")], device=device)
    for _ in range(args.num_samples):
        tokens = model.generate(first, args.max_new_tokens, temperature=args.temperature, top_k=args.top_k)
        print(decode(tokens[0].tolist()))
        print("---------------", flush=True)


def _tokens(saved: dict[str, Any], folder: Path) -> tuple[Any, Any]:
    """How text becomes tokens and back: the data folder's characters, else GPT-2's byte pairs."""
    from stepscope.trainer.data import gpt2_encoding, read_meta

    name = str(saved.get("config", {}).get("dataset", ""))
    for place in (folder / "data" if name == "stdlib" else Path("data") / name, Path(name)):
        meta = read_meta(place) if name else None
        if meta is not None and meta.stoi:
            return meta.encode, meta.decode
    encoding = gpt2_encoding()
    return lambda text: encoding.encode(text, allowed_special={"<|endoftext|>"}), encoding.decode
