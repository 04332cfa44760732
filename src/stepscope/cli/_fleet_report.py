"""`stepscope fleet report`: its flags, and from a store to an answer."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.cli import _answer, _flags
from stepscope.cli._write import write_file
from stepscope.core.errors import InputError, UsageError
from stepscope.core.price import parse_price

if TYPE_CHECKING:
    from stepscope.core.price import StatedPrice
    from stepscope.fleet.answer import FleetReport
    from stepscope.i18n import Language

_FORMATS = ("terminal", "json", "csv", "html")
_BY = ("cause", "host", "user", "project", "trainer", "gpu", "commit")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What a report is asked for, and what is stated of the runs."""
    group = parser.add_argument_group("fleet report")
    group.add_argument("--by", choices=_BY, default="cause", metavar="WHAT", help=f"Breakdown: {', '.join(_BY)}")
    group.add_argument("--price", metavar="P[/h]", type=_price, help="Price of one GPU for an hour")
    group.add_argument(
        "--sacct",
        metavar="FILE",
        action="append",
        default=[],
        help="Output of `sacct --parsable2`, joined by job number",
    )
    group.add_argument(
        "--facts",
        metavar="FILE",
        action="append",
        default=[],
        help="CSV file with a column path (may hold *) and any of devices, hosts, gpu, user, project, commit, price",
    )
    group.add_argument(
        "--path-pattern",
        metavar="PATTERN",
        action="append",
        default=[],
        help="Facts in the end of a log's path, such as {user}/{project}/*",
    )
    _flags.add_confidence_argument(parser)
    _flags.add_one_file_arguments(parser, formats=_FORMATS)


def report(args: argparse.Namespace, language: Language) -> int:
    """Print the report of a store."""
    from stepscope.fleet.facts import read_facts
    from stepscope.fleet.query import Fleet
    from stepscope.fleet.report import Question, fleet_report
    from stepscope.fleet.store import Store

    facts = read_facts(args.sacct, args.facts, args.path_pattern)
    store = Store(Path(args.store))
    if not store.parts("runs"):
        raise InputError("fleet-no-store", place=args.store)
    fleet = Fleet(store, facts, args.price.value if args.price is not None else None)
    found = fleet_report(fleet, Question(args.store, args.by, args.price, args.confidence))
    if args.format == "html":
        from stepscope.cli._fleet_pages import write_pages

        return write_pages(args, found, language)
    text = _rendered(args, found, language)
    if args.output is None:
        _answer.put_out(text, args.format)
    else:
        write_file(args.output, text)
    return 0 if found.counts.timed else 3


def _rendered(args: argparse.Namespace, found: FleetReport, language: Language) -> str:
    if args.format == "json":
        from stepscope.report import fleet_json

        return fleet_json.render(found)
    if args.format == "csv":
        from stepscope.report import fleet_csv

        return fleet_csv.render(found)
    from stepscope.report import fleet as drawn

    return drawn.render(found, language, width=_answer.terminal_size(args)[0])


def _price(text: str) -> StatedPrice:
    """The price in `2.10/h`."""
    price = parse_price(text)
    if price.per_kwh:
        raise UsageError("fleet-bad-price", place=f"--price {text}")
    return price
