"""Print the page of a cause, an advice, an alarm or a GPU.

stepscope doc C09
stepscope doc 4070
stepscope doc cards     all GPUs
"""

from __future__ import annotations

import argparse
import inspect
import sys

from stepscope.cli._answer import chosen_languages
from stepscope.cli._flags import add_language_argument
from stepscope.core.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The code."""
    parser.add_argument(
        "code",
        nargs="?",
        metavar="CODE",
        help="Code such as C09, A101 or nan, GPU such as 4070, or cards (default: list all codes)",
    )
    add_language_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print a rule's docstring; in another language, say that it is English only."""
    code = _print_page(args)
    language = chosen_languages(args)[0]
    if language.code != "en":
        sys.stdout.flush()
        print(language.text("doc-in-english"), file=sys.stderr)
    return code


def _print_page(args: argparse.Namespace) -> int:
    from stepscope import advice, alarms, audit, causes

    pages = {**causes.rules(), **advice.rules(), **alarms.rules(), **audit.rules()}
    by_lower = {code.lower(): module for code, module in pages.items()}
    if args.code is None:
        for code, module in pages.items():
            print(f"{code:<15}{(module.__doc__ or '').partition(chr(10))[0].partition(': ')[2]}")
        return 0
    found = by_lower.get(args.code.lower())
    if found is None and (text := _gpu_page(args.code)) is not None:
        print(text)
        return 0
    if found is None:
        alike = [code for code in pages if code[:1].lower() == args.code[:1].lower()]
        raise UsageError("no-such-code", place=args.code, known=", ".join(alike or pages))
    print(inspect.cleandoc(found.__doc__ or ""))
    return 0


def _gpu_page(text: str) -> str | None:
    """What the table says about a GPU, or about all of them; None when `text` is neither."""
    from stepscope.plan.gpus import GPUS, known_gpu

    if text.lower() == "cards":
        names = "\n".join(
            f"{gpu.name:<18} {gpu.tflops:>6g} TFLOPS {gpu.gbps:>5g} GB/s {gpu.gb:>4g} GB {gpu.watts:>5g} W"
            for gpu in GPUS
        )
        return names + "\n\n16-bit inputs, 32-bit accumulation, dense. `stepscope doc 4070` says where a row is from."
    gpu = known_gpu(text)
    if gpu is None:
        return None
    return (
        f"{gpu.name}\n"
        f"  {gpu.tflops:g} TFLOPS (16-bit inputs, 32-bit accumulation, dense): "
        f"{gpu.units} x {gpu.ops} x {gpu.mhz} MHz\n"
        f"  {gpu.gbps:g} GB/s, {gpu.gb:g} GB, {gpu.watts:g} W; bfloat16: {'yes' if gpu.has_bf16 else 'emulated'}\n"
        f"  large matrix products reach {gpu.reaches:.0%} of it (public measurements)\n"
        f"  from: {gpu.source}"
        + ("" if gpu.is_compared else " (rate by units and clock, not compared with a published one)")
    )
