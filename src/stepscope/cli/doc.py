"""the page of a cause, an advice rule or an alarm, by its code"""

from __future__ import annotations

import argparse
import inspect

from stepscope.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The code."""
    parser.add_argument(
        "code", nargs="?", metavar="CODE", help="such as C09, A101 or nan; without it, all codes are listed"
    )


def run(args: argparse.Namespace) -> int:
    """Print a rule's docstring."""
    from stepscope import advice, alarms, causes

    pages = {**causes.rules(), **advice.rules(), **alarms.rules()}
    by_lower = {code.lower(): module for code, module in pages.items()}
    if args.code is None:
        for code, module in pages.items():
            print(f"{code:<15}{(module.__doc__ or '').partition(chr(10))[0].partition(': ')[2]}")
        return 0
    found = by_lower.get(args.code.lower())
    if found is None:
        alike = [code for code in pages if code[:1].lower() == args.code[:1].lower()]
        raise UsageError("no-such-code", place=args.code, known=", ".join(alike or pages))
    print(inspect.cleandoc(found.__doc__ or ""))
    return 0
