"""Compare runs: what got slower, and is it more than noise?

    stepscope compare old.log new.log
    stepscope compare base.log a.log b.log --align tokens --format json
    stepscope compare old.log new.log --format html -o compare.html

Seconds per 1,000 iterations (or per million tokens) of each phase, so that runs of different lengths compare.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from stepscope.cli import _answer, _flags
from stepscope.cli._write import write_file
from stepscope.core.errors import UsageError

_FORMATS = ("terminal", "json", "markdown", "html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The logs, and how to compare them."""
    parser.add_argument(
        "log", nargs="+", metavar="LOG", help="Log of the first run, then those of the runs to compare with it"
    )
    parser.add_argument(
        "--align", choices=("step", "tokens"), default="step", help="Unit of equal work (default: step)"
    )
    parser.add_argument("--config", metavar="FILE", help="File with settings of all the runs")
    _flags.add_confidence_argument(parser)
    _flags.add_one_file_arguments(parser, formats=_FORMATS)


def run(args: argparse.Namespace) -> int:
    """Compare them."""
    from stepscope.analysis.compare import compare
    from stepscope.analysis.explain import explain
    from stepscope.core.configfile import read_config
    from stepscope.reading.reader import read
    from stepscope.report import comparison as drawn

    if len(args.log) < 2:
        raise UsageError("compare-needs-two", place=args.log[0])
    language = _answer.chosen_languages(args)[0]
    config = read_config(Path(args.config)) if args.config else None
    reports = [explain(read(path), config=config, confidence=args.confidence) for path in args.log]
    for report, path in zip(reports, args.log, strict=True):
        if report.ledger.step is None or not report.ledger.wall_s:
            print(language.text("compare-no-times", path=path), file=sys.stderr)
            return 3
    found = compare(reports, align=args.align, confidence=args.confidence)
    if found.align != args.align:
        print(language.text("compare-no-tokens"), file=sys.stderr)
    if args.format == "json":
        text = drawn.render_json(found)
    elif args.format == "markdown":
        text = drawn.render_markdown(found, language)
    elif args.format == "html":
        from stepscope.report import comparison_html

        text = comparison_html.render(found, language)
    else:
        text = drawn.render(found, language, width=_answer.terminal_size(args)[0])
    if args.output is None:
        _answer.put_out(text, args.format)
        return 0
    write_file(args.output, text)
    return 0
