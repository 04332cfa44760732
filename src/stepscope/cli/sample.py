"""Generate text from a checkpoint, or from GPT-2.

    stepscope sample --out_dir=out-stdlib --start="def " --num_samples=3
    stepscope sample config.py --init_from=gpt2-xl --start=FILE:prompt.txt

Flags, defaults and config files are those of nanoGPT's sample.py, and so is the text for a seed. Config files are read,
never run.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from stepscope.cli import _flags, _trainer
from stepscope.cli._train_config import read_settings
from stepscope.core.errors import UsageError

Number = TypeVar("Number", int, float)

_DEFAULTS: dict[str, Any] = {
    "init_from": "resume",
    "out_dir": "out",
    "start": "\n",
    "num_samples": 10,
    "max_new_tokens": 500,
    "temperature": 0.8,
    "top_k": 200,
    "seed": 1337,
    "device": "auto",
    "dtype": "auto",
    "compile": False,
    "gpt2_folder": "",
}
# Where the run without a config file puts its checkpoint.
_BUILT_IN = "out-stdlib"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """nanoGPT's flags of `sample.py`."""
    parser.add_argument("config", nargs="*", metavar="CONFIG.py", help="Config files of nanoGPT, read in this order")
    for name, kind, about in (
        (
            "init_from",
            _choice("init_from"),
            "Starting point: resume (the checkpoint of a run), gpt2, gpt2-medium, gpt2-large, gpt2-xl",
        ),
        ("out_dir", str, f"Folder of the checkpoint; {_BUILT_IN} where there is no such folder"),
        ("start", str, "Text to continue; FILE:name reads it from a file (default: a line end, where there is one)"),
        ("num_samples", _positive("num_samples", int), "Number of samples"),
        ("max_new_tokens", _positive("max_new_tokens", int), "Tokens in each sample"),
        ("temperature", _positive("temperature", float), "Randomness of the draw; below 1 is safer"),
        ("top_k", _positive("top_k", int), "Number of likeliest tokens to draw from"),
        ("seed", _seed, "Seed of the draw"),
        ("device", str, "Device: cpu, cuda, cuda:1, mps; auto takes a GPU where there is one"),
        ("dtype", _choice("dtype"), "Precision on a GPU: float32, bfloat16, float16; auto picks the best there"),
        ("compile", _boolean, "Use torch.compile"),
        ("gpt2_folder", str, "Folder with GPT-2's config.json and model.safetensors"),
    ):
        default = "" if name == "start" or _DEFAULTS[name] == "" else f" (default: {_DEFAULTS[name]})"
        parser.add_argument(f"--{name}", type=kind, metavar="X", help=about + default)
    _flags.add_language_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print the samples, nanoGPT's line between them."""
    _trainer.need_torch()
    with _trainer.translated_errors():
        _sample(_settings(args))
    return 0


def _settings(args: argparse.Namespace) -> argparse.Namespace:
    """nanoGPT's defaults, the config files over them, the flags over all."""
    from stepscope.trainer.config import NAMES

    values = dict(_DEFAULTS)
    parsers: dict[str, Callable[[str], Any]] = {
        **{name: _positive(name, int) for name in ("num_samples", "max_new_tokens", "top_k")},
        **{"temperature": _positive("temperature", float), "seed": _seed, "compile": _boolean},
        **{name: _choice(name) for name in ("init_from", "dtype")},
    }
    for path in args.config:
        # A config of a training may be given, too: what of it concerns sampling counts.
        found = read_settings(Path(path), _DEFAULTS, known=NAMES).values
        values |= {name: parsers.get(name, str)(str(value)) for name, value in found.items()}
    values |= {name: flag for name in _DEFAULTS if (flag := getattr(args, name)) is not None}
    if values["out_dir"] == _DEFAULTS["out_dir"] and not Path(values["out_dir"]).exists():
        values["out_dir"] = _BUILT_IN
    return argparse.Namespace(**values, is_start_stated=args.start is not None)


def _choice(name: str) -> Callable[[str], str]:
    """Parse one of the values that the setting of a training of this name has."""

    def parse(text: str) -> str:
        from stepscope.trainer.extras.settings import CHOICES

        if text not in CHOICES[name] or text == "scratch":
            known = ", ".join(choice for choice in CHOICES[name] if choice != "scratch")
            raise UsageError("train-choice", place=f"--{name}", setting=name, known=known)
        return text

    return parse


def _boolean(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise UsageError("train-setting-type", place=f"compile = {text[:40]!r}", setting="compile", wanted="bool")
    return text.lower() == "true"


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

    from stepscope.trainer.config import TrainConfig
    from stepscope.trainer.extras.device import join_world, make_autocast, pick_precision

    name = args.device if args.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    config = TrainConfig(device=name, dtype=args.dtype, init_from=args.init_from, gpt2_folder=args.gpt2_folder)
    device = join_world(config).device
    # Before the network is made: nanoGPT's draws its first weights, which are then loaded over, from the same numbers.
    torch.manual_seed(args.seed)
    model, encode, decode, first_tokens = _load(args)
    model = model.to(device).eval()
    autocast: Callable[[], Any] = contextlib.nullcontext
    if device.type == "cuda":
        dtype = pick_precision(config, device, lambda *_, **__: None)
        autocast = make_autocast(TrainConfig(device=name, dtype=dtype), device)
    if args.compile:
        model.compile(dynamic=True)  # the text grows by a token each time
    start = args.start
    if start.startswith("FILE:"):
        from stepscope.trainer.extras.corpora import read_documents

        start = next(iter(read_documents([Path(start[5:])])))
    # A corpus may have no line end, which nobody has asked for.
    tokens = encode(start) if args.is_start_stated or start != _DEFAULTS["start"] else first_tokens
    first = torch.tensor([tokens or first_tokens], device=device)
    with autocast():
        for _ in range(args.num_samples):
            drawn = model.generate(first, args.max_new_tokens, temperature=args.temperature, top_k=args.top_k)
            print(decode(drawn[0].tolist()))
            print("---------------", flush=True)


def _load(args: argparse.Namespace) -> tuple[Any, Any, Any, list[int]]:
    """The network, how text becomes tokens and back, and a first token."""
    from stepscope.trainer.extras import found
    from stepscope.trainer.extras.weights import load_gpt2, load_model
    from stepscope.trainer.extras.writer import NAME

    if args.init_from != "resume":
        return load_gpt2(args.init_from, args.gpt2_folder, 0.0), *_tokens({}, Path())
    folder = Path(args.out_dir)
    # Where a run keeps only its best, nanoGPT's ckpt.pt is that; here it has a file of its own.
    is_best = found.saved_settings(folder).get("always_save_checkpoint") is False
    saved = found.load(folder, with_optimizers=False, best=is_best)
    return load_model(saved, place=str(folder / NAME)), *_tokens(saved, folder)


def _tokens(saved: dict[str, Any], folder: Path) -> tuple[Any, Any, list[int]]:
    """How text becomes tokens and back (the data folder's characters, else GPT-2's byte pairs), and a first token."""
    from stepscope.trainer.config import TrainerError
    from stepscope.trainer.data import GPT2_TOKENS
    from stepscope.trainer.extras.corpora import gpt2_encoding
    from stepscope.trainer.extras.meta import read_meta

    config = saved.get("config")
    name = str(config.get("dataset", "")) if isinstance(config, dict) else ""
    places = [folder / "data"] if name == "stdlib" else [Path("data") / name, folder.parent / "data" / name, Path(name)]
    for place in places if name else ():
        meta = read_meta(place)
        if meta is not None and meta.stoi:
            return meta.encode, meta.decode, meta.first_tokens()
    if saved and int(saved["model_args"]["vocab_size"]) < GPT2_TOKENS:
        raise TrainerError("sample-no-meta", place=str(places[0] / "meta.pkl"), name=name)
    encoding = gpt2_encoding()
    encode = partial(encoding.encode, allowed_special={"<|endoftext|>"})
    return encode, encoding.decode, encode("\n")
