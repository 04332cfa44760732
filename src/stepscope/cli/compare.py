"""Compare runs: what got slower, and is it more than noise?

    stepscope compare old.log new.log
    stepscope compare base.log a.log b.log --align tokens --format json
    stepscope compare old.log new.log --format html -o compare.html
    stepscope compare good.log --save-baseline base.json   keep the figures of a run, a few kilobytes
    stepscope compare base.json new.log --fail-on 5%       for CI: exit code 5 where it is slower than that

Seconds per 1,000 iterations (or per million tokens) of each phase, so that runs of different lengths compare.

With --fail-on: exit code 5 where a later run is slower than the first by more than that and by more than noise, 3 where
the logs hold too little to judge, else 0.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.cli import _answer, _flags
from stepscope.cli._write import write_file
from stepscope.core.errors import UsageError

if TYPE_CHECKING:
    from stepscope.analysis.compare import Comparison
    from stepscope.analysis.gate import Verdict
    from stepscope.analysis.run_figures import RunFigures
    from stepscope.i18n import Language

_FORMATS = ("terminal", "json", "markdown", "github", "html")
_SLOWER, _TOO_LITTLE = 5, 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The logs, and how to compare them."""
    parser.add_argument(
        "log",
        nargs="+",
        metavar="LOG",
        help="Log or saved baseline of the first run, then those of the runs to compare with it",
    )
    parser.add_argument(
        "--align", choices=("step", "tokens"), default="step", help="Unit of equal work (default: step)"
    )
    parser.add_argument("--config", metavar="FILE", help="File with settings of all the runs")
    parser.add_argument(
        "--fail-on",
        metavar="P%",
        type=_percent,
        help="Exit with 5 where a run is slower than the first by more than this and by more than noise",
    )
    parser.add_argument(
        "--save-baseline",
        metavar="FILE",
        help="Keep the figures of the last run in FILE, to pass in place of its log later",
    )
    _flags.add_confidence_argument(parser)
    _flags.add_one_file_arguments(parser, formats=_FORMATS)


def run(args: argparse.Namespace) -> int:
    """Compare them, judge, and keep what is asked for."""
    if len(args.log) < 2 and not args.save_baseline:
        raise UsageError("compare-needs-two", place=args.log[0])
    language = _answer.chosen_languages(args)[0]
    runs = [_figures(args, path) for path in args.log]
    for figures, path in zip(runs, args.log, strict=True):
        if figures.typical_s is None or not figures.wall_s:
            print(language.text("compare-no-times", path=path), file=sys.stderr)
            return _TOO_LITTLE
    code = _compare(args, runs, language) if len(runs) > 1 else 0
    # A run that is too slow must not become what the next one is measured by.
    if args.save_baseline and not code:
        from stepscope.analysis.baseline_file import to_text

        write_file(args.save_baseline, to_text(runs[-1]))
        print(language.text("written", path=args.save_baseline), file=sys.stderr)
    return code


def _figures(args: argparse.Namespace, path: str) -> RunFigures:
    """The figures of a log, or those that were kept of one."""
    from stepscope.analysis.baseline_file import read_baseline

    kept = read_baseline(path)
    if kept is not None:
        return kept
    from stepscope.analysis.explain import explain
    from stepscope.analysis.run_figures import run_figures
    from stepscope.core.configfile import read_config
    from stepscope.reading.reader import read

    config = read_config(Path(args.config)) if args.config else None
    return run_figures(explain(read(path), config=config, confidence=args.confidence))


def _compare(args: argparse.Namespace, runs: list[RunFigures], language: Language) -> int:
    from stepscope.analysis.compare import compare
    from stepscope.analysis.gate import judge

    found = compare(runs, align=args.align, confidence=args.confidence)
    if found.align != args.align:
        print(language.text("compare-no-tokens"), file=sys.stderr)
    verdicts: list[Verdict] = []
    if args.fail_on is not None:
        verdicts = [
            judge(runs[0], other, args.fail_on, align=found.align, confidence=args.confidence) for other in runs[1:]
        ]
    text = _render(args, found, verdicts, language)
    if args.output is None:
        _answer.put_out(text, args.format)
    else:
        write_file(args.output, text)
    judged = {verdict.verdict for verdict in verdicts}
    return _SLOWER if "slower" in judged else _TOO_LITTLE if "cannot judge" in judged else 0


def _render(args: argparse.Namespace, found: Comparison, verdicts: list[Verdict], language: Language) -> str:
    from stepscope.report import comparison as drawn

    if args.format == "json":
        return drawn.render_json(found, verdicts)
    if args.format == "markdown":
        return drawn.render_markdown(found, language, verdicts)
    if args.format == "github":
        from stepscope.report import job_summary

        return job_summary.render(found, verdicts, language)
    if args.format == "html":
        from stepscope.report import comparison_html

        return comparison_html.render(found, language)
    return drawn.render(found, language, width=_answer.terminal_size(args)[0], verdicts=verdicts)


def _percent(text: str) -> float:
    """The share in `5%`."""
    number = text.strip().removesuffix("%").strip()
    try:
        share = float(number) / 100
    except ValueError:
        share = -1.0
    if not text.strip().endswith("%") or not 0 <= share <= 10:
        raise UsageError("bad-fail-on", place=f"--fail-on {text}")
    return share
