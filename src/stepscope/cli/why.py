"""Explain one iteration in detail.

    stepscope why train.log 500

How long it took, what the time went into, why, and what else it might have been. Exit code 0 when the log has that
iteration (or one of its lines covers it), 2 when it is out of range, 3 when the log holds no step times.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from stepscope.cli import _answer, _flags, _report, _runs
from stepscope.core.errors import UsageError

if TYPE_CHECKING:
    from stepscope.analysis.report import Report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The log's flags, the step, and the answer's flags."""
    _flags.add_log_arguments(parser)
    parser.add_argument("step", metavar="STEP", type=_step, help="Number of the iteration as the log prints it")
    _flags.add_output_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Explain one iteration."""
    report = _report.build_report(args)
    _runs.say_which(args, report.run)
    if not report.has_steps:
        from stepscope.report import json, markdown

        empty: dict[str, _answer.Renderer] = {
            "json": lambda r, language, _: json.render(r, language),
            **dict.fromkeys(("terminal", "markdown", "note"), lambda r, language, _: markdown.render(r, language)),
        }
        _answer.write(args, report, empty, _answer.stem_of(report) + "-why")
        return 3
    _check_range(report, args.step, args)
    from stepscope.report import why

    story = why.tell(report, args.step)
    width, _ = _answer.terminal_size(args)
    renderers: dict[str, _answer.Renderer] = {
        "terminal": lambda _, language, __: why.render(story, language, width=width),
        "json": lambda *_: why.render_json(story),
        "markdown": lambda _, language, __: why.render_markdown(story, language),
        "note": lambda _, language, __: why.render_markdown(story, language),
    }
    _answer.write(args, report, renderers, f"{_answer.stem_of(report)}-why-{args.step}")
    return 0


def _step(text: str) -> int:
    """The number of a step, perhaps with commas."""
    digits = text.replace(",", "").replace("_", "")
    if not digits.isdecimal() or len(digits) > 15:
        raise UsageError("bad-step", place=text)
    return int(digits)


def _check_range(report: Report, step: int, args: argparse.Namespace) -> None:
    steps = report.run.steps
    first = int((steps.step - steps.span.clip(min=1) + 1).min())
    last = int(steps.step.max())
    if not max(0, first) <= step <= last:
        raise UsageError("no-such-step", place=", ".join(args.log), step=step, first=max(0, first), last=last)
