"""Say where the hours of many runs went: a folder, a cluster.

    stepscope fleet scan /logs/slurm --store fleet/
    stepscope fleet report --store fleet/ --price 2.10/h --sacct jobs.txt

`scan` finds the runs below the paths, explains each and keeps tables of them in a folder of Parquet files. What is
there already is not read again; a scan that was interrupted goes on where it was. `report` says of a store which causes
took most GPU-hours, what got slower, and which hosts are slow. Needs the extra `fleet`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.cli import _answer, _flags, _fleet_report
from stepscope.core.errors import UsageError

if TYPE_CHECKING:
    from stepscope.fleet.scan import Progress
    from stepscope.i18n import Language


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to do, with which runs."""
    parser.add_argument(
        "action", choices=tuple(_ACTIONS), help="Action: scan reads runs into a store, report says where hours went"
    )
    parser.add_argument("place", nargs="*", metavar="PATH", help="For scan: folders or logs")
    parser.add_argument("--store", metavar="DIR", required=True, help="Folder that keeps the tables")
    parser.add_argument(
        "--workers",
        metavar="N",
        type=_flags.whole_number("--workers", "bad-workers", below=4096),
        help="Processes that read logs (default: one per processor)",
    )
    _fleet_report.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Do it."""
    language = _answer.chosen_languages(args)[0]
    return _ACTIONS[args.action](args, language)


def _scan(args: argparse.Namespace, language: Language) -> int:
    from stepscope.fleet.engines import Inline, Pool
    from stepscope.fleet.scan import scan
    from stepscope.fleet.store import Store

    if not args.place:
        raise UsageError("fleet-needs-place")
    line = _Line(language)
    engine = Inline() if args.workers == 1 else Pool(args.workers)
    try:
        scanned = scan(args.place, Store(Path(args.store)), engine, show=line)
    finally:
        line.clear()
    at = scanned.progress
    print(
        language.text(
            "fleet-scanned", found=at.num_found, known=at.num_known, done=at.num_done, failed=scanned.num_failed
        )
    )
    for folder in scanned.unreadable:
        print(language.text("fleet-unreadable-folder", path=folder), file=sys.stderr)
    return 0 if at.num_found else 1


class _Line:
    """How far a scan is, on a terminal."""

    def __init__(self, language: Language) -> None:
        self._language, self._is_shown = language, False

    def __call__(self, at: Progress) -> None:
        if not sys.stderr.isatty():
            return
        from stepscope.core.message import Decimal, Seconds

        self._is_shown = True
        if at.left_s is None:
            text = self._language.text("fleet-listing", found=at.num_found)
        else:
            rate = Decimal(at.per_s or 0.0, 1)
            done, total = at.num_done, at.num_found - at.num_known
            text = self._language.text("fleet-progress", done=done, total=total, rate=rate, left=Seconds(at.left_s))
        print(f"\r{text}", end="\x1b[K", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the line away again."""
        if self._is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


_ACTIONS = {"scan": _scan, "report": _fleet_report.report}
