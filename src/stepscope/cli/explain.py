"""Show where the time went, why it was slow, when it ends.

    stepscope train.log                              the same: explain is the default
    stepscope train.log --config config.py           settings that the log does not print
    stepscope train.log --format html -o report.html   a page to look at and share
    stepscope runs/                                  the run of a folder; of several, a table

LOG is a file, a folder, - for standard input, or several files of one run. Of a folder with several runs it shows each
in a row, the newest first. Exit code 0 when some step time was read, 3 when the log holds none.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from stepscope.cli import _answer, _flags, _report, _runs
from stepscope.core.errors import UsageError

if TYPE_CHECKING:
    from stepscope.analysis.report import Report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The log's flags and the answer's."""
    _flags.add_log_arguments(parser)
    _flags.add_forecast_arguments(parser)
    _flags.add_price_argument(parser)
    _flags.add_output_arguments(parser, formats=_flags.FORMATS + _flags.EXPORTS)
    _flags.add_full_argument(parser)
    _flags.add_theme_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Explain the log, or show the runs of a folder that holds several."""
    if args.theme is not None and args.format not in _flags.PICTURES:
        raise UsageError("theme-without-picture", place=f"--theme {args.theme}")
    found = _runs.several_runs(args)
    if found is not None:
        return _runs.show(args, found)
    report = _report.build_report(args, ask_gpu=True)
    show(args, report)
    return 0 if report.has_times else 3


def show(args: argparse.Namespace, report: Report) -> None:
    """Write the report in the format asked for; only that format's renderer is imported."""
    width, color = _answer.terminal_size(args)
    renderers: dict[str, _answer.Renderer] = {}
    if args.format == "terminal":
        from stepscope.report import terminal

        renderers["terminal"] = lambda r, language, _: terminal.render(
            r, language, width=width, color=color, full=args.full
        )
    elif args.format == "json":
        from stepscope.report import json

        renderers["json"] = lambda r, language, _: json.render(r, language)
    elif args.format == "markdown":
        from stepscope.report import markdown

        renderers["markdown"] = lambda r, language, _: markdown.render(r, language)
    elif args.format in _flags.EXPORTS:
        import importlib

        export = importlib.import_module(f"stepscope.report.{args.format}")
        theme = {"theme": args.theme or "light"} if args.format in _flags.PICTURES else {}
        renderers[args.format] = lambda r, language, _: export.render(r, language, **theme)
    else:
        from stepscope.report import note

        renderers["note"] = lambda r, language, translated: note.render(r, language, translated=translated)
    _answer.write(args, report, renderers, _answer.stem_of(report))
