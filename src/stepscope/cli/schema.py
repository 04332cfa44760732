"""Print the JSON Schema of what --format json prints.

stepscope schema                          list the kinds of documents
stepscope schema report > report.json     draft 2020-12, for a validator or an editor
"""

from __future__ import annotations

import argparse
import sys

from stepscope.cli._flags import add_language_argument
from stepscope.report.documents import kinds, schema, schema_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The kind of document."""
    parser.add_argument(
        "kind", nargs="?", choices=kinds(), metavar="KIND", help=f"Document: {', '.join(kinds())} (default: list them)"
    )
    add_language_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print it."""
    if args.kind is None:
        for kind in kinds():
            print(f"{kind:<9}{schema(kind)['title']}")
        return 0
    sys.stdout.write(schema_text(args.kind))
    return 0
