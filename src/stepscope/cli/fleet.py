"""Say where the hours of many runs went: a folder, a cluster.

    stepscope fleet scan /logs/slurm --store fleet/
    stepscope fleet scan s3://logs/2026 --store fleet/ --engine ray://head:10001
    stepscope fleet report --store fleet/ --price 2.10/h --sacct jobs.txt
    stepscope fleet watch --store fleet/ --notify slack://…

`scan` finds the runs below the paths, explains each and keeps tables of them in a folder of Parquet files. What is
there already is not read again; a scan that was interrupted goes on where it was. `report` says of a store which causes
took most GPU-hours, what got slower, and which hosts are slow. `watch` follows all runs below these paths that go on,
and sends their alarms. Needs the extra `fleet`.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.cli import _answer, _flags, _fleet_report, _fleet_watch
from stepscope.core.errors import UsageError

if TYPE_CHECKING:
    from stepscope.fleet.scan import Progress
    from stepscope.i18n import Language


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to do, with which runs."""
    parser.add_argument(
        "action",
        choices=tuple(_ACTIONS),
        help="Action: scan reads runs into a store, report says where hours went, watch follows those that run",
    )
    parser.add_argument(
        "place", nargs="*", metavar="PATH", help="For scan: folders, logs, buckets (s3://, gs://, az://)"
    )
    parser.add_argument("--store", metavar="DIR", required=True, help="Folder that keeps the tables")
    parser.add_argument(
        "--engine",
        metavar="ENGINE",
        default="pool",
        help="For scan: pool, ray[://ADDRESS] or dask[://SCHEDULER], where logs are read (default: pool)",
    )
    parser.add_argument(
        "--workers",
        metavar="N",
        type=_flags.whole_number("--workers", "bad-workers", below=4096),
        help="Processes that read logs (default: one per processor)",
    )
    _fleet_report.add_arguments(parser)
    _fleet_watch.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Do it."""
    language = _answer.chosen_languages(args)[0]
    return _ACTIONS[args.action](args, language)


def _scan(args: argparse.Namespace, language: Language) -> int:
    from stepscope.fleet.engines import engine_named
    from stepscope.fleet.scan import scan
    from stepscope.fleet.store import Store

    if not args.place:
        raise UsageError("fleet-needs-place")
    line = _Line(language)
    store = Store(Path(args.store))
    try:
        with contextlib.closing(engine_named(args.engine, args.workers)) as engine:
            scanned = scan(args.place, store, engine, show=line)
    finally:
        line.clear()
    at = scanned.progress
    print(
        language.text(
            "fleet-scanned", found=at.num_found, known=at.num_known, runs=scanned.num_runs, failed=scanned.num_failed
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


_ACTIONS = {"scan": _scan, "report": _fleet_report.report, "watch": _fleet_watch.watch}
