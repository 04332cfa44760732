"""A fleet's page, and in a folder the pages of the runs that it leads to."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.cli import _answer
from stepscope.cli._write import make_folder, write_file
from stepscope.core.errors import StepscopeError

if TYPE_CHECKING:
    from stepscope.fleet.answer import FleetReport
    from stepscope.i18n import Language

# Pages of single runs: each log is read again, and one takes about a tenth of a second.
_MOST_PAGES = 60
_MOST_BYTES = 64 << 20


def write_pages(args: argparse.Namespace, found: FleetReport, language: Language) -> int:
    """The page to standard output or a file; to a folder with the pages of the costliest runs beside it."""
    from stepscope.report import fleet_html

    if args.output is None:
        _answer.put_out(fleet_html.render(found, language), "html")
    elif Path(args.output).is_dir() or args.output.endswith(("/", os.sep)):
        folder = Path(args.output)
        make_folder(folder / "runs")
        pages = _run_pages(folder, found, language)
        write_file(folder / "index.html", fleet_html.render(found, language, pages))
    else:
        write_file(args.output, fleet_html.render(found, language))
    return 0 if found.counts.timed else 3


def _run_pages(folder: Path, found: FleetReport, language: Language) -> dict[int, str]:
    """Addresses of the pages that could be made, by reading."""
    from stepscope.analysis.explain import explain
    from stepscope.reading.reader import read
    from stepscope.report import html

    back = f'<p class="screen"><a href="../index.html">← {language.text("fleet-back")}</a></p>\n'
    pages: dict[int, str] = {}
    for run in found.runs[:_MOST_PAGES]:
        paths = [Path(path) for path in run.paths]
        try:
            if not paths or sum(path.stat().st_size for path in paths) > _MOST_BYTES:
                continue
            text = html.render(explain(read(*map(str, paths))), language, above=back)
        except (OSError, StepscopeError):
            continue  # gone since it was scanned, or in a bucket: the fleet's page then has its name only
        address = f"runs/{run.read_id}.html"
        write_file(folder / address, text)
        pages[run.read_id] = address
    return pages
