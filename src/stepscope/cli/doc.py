"""the page of an advice rule or an alarm, by its code"""

from __future__ import annotations

import argparse
import inspect

from stepscope.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The code."""
    parser.add_argument("code", nargs="?", metavar="CODE", help="such as A101 or nan; without it, all codes are listed")


def run(args: argparse.Namespace) -> int:
    """Print a rule's docstring."""
    from stepscope import advice, alarms

    pages = {**advice.rules(), **alarms.rules()}
    by_lower = {code.lower(): module for code, module in pages.items()}
    if args.code is None:
        for code, module in pages.items():
            print(f"{code:<15}{(module.__doc__ or '').partition(chr(10))[0].partition(': ')[2]}")
        return 0
    found = by_lower.get(args.code.lower())
    if found is None:
        raise UsageError("no-such-code", place=args.code, known=", ".join(pages))
    print(inspect.cleandoc(found.__doc__ or ""))
    return 0
