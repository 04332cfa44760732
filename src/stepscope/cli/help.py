"""Show the help of a command, or the list of all commands.

stepscope help
stepscope help compare
"""

from __future__ import annotations

import argparse

from stepscope.cli import COMMANDS, GROUPS, _help
from stepscope.cli._flags import add_language_argument
from stepscope.core.errors import UsageError
from stepscope.core.nearest import nearest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command."""
    parser.add_argument("name", nargs="?", metavar="COMMAND", help="Command to explain (default: list them all)")
    add_language_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print it."""
    if args.name is None:
        print(_help.overview(GROUPS))
        return 0
    if args.name not in COMMANDS:
        meant = nearest(args.name, COMMANDS) or "none"
        raise UsageError("no-such-command", place=args.name, nearest=meant, known=", ".join(COMMANDS))
    _help.make_parser(args.name).print_help()
    return 0
