"""Say what to change, what it saves and what it costs.

    stepscope advise train.log --config config.py
    stepscope advise train.log --config config.py --may-lose 10min
    stepscope advise train.log --config config.py --change eval_interval=1000 --change eval_iters=50

`--set` states a fact about the run; `--change` asks what would happen. Exit code 3 when the log holds no step times.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from stepscope.cli import _answer, _flags, _report, _runs
from stepscope.cli._changes import by_name, named_changes, parse_change
from stepscope.core import units
from stepscope.core.errors import UsageError
from stepscope.core.settings import Value

if TYPE_CHECKING:
    from stepscope.advice._whatif import WhatIf
    from stepscope.analysis.report import Report

_LONG_S = 365 * 86400.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The log's flags, the change, and the answer's flags."""
    _flags.add_log_arguments(parser)
    parser.add_argument(
        "--change",
        metavar="KEY=VALUE",
        action="append",
        type=parse_change,
        default=[],
        help="Setting to change, such as eval_interval=1000; may be repeated",
    )
    parser.add_argument(
        "--may-lose",
        metavar="DURATION",
        type=_may_lose,
        help="Work you can afford to lose in a crash, such as 10min: caps the proposed checkpoint interval",
    )
    _flags.add_price_argument(parser)
    _flags.add_output_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Say what to change, or what a change would do."""
    changes = by_name(args.change)
    report = _report.build_report(args, ask_gpu=True)
    _runs.say_which(args, report.run)
    report = report.asked(may_lose_s=args.may_lose)
    outcome = _outcome(report, changes) if changes and report.has_steps else None
    width, _ = _answer.terminal_size(args)
    renderers: dict[str, _answer.Renderer] = {}
    if args.format == "json":
        import json as plain

        from stepscope.report import changes as drawn
        from stepscope.report import json

        def as_json(r: Report, *_: object) -> str:
            change = drawn.document(outcome) if outcome else None
            found = json.document(r) | {"change": change, "saves": drawn.saves_document(r)}
            return plain.dumps(found, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

        renderers["json"] = as_json
    else:
        from stepscope.report import changes as drawn

        renderers["terminal"] = lambda r, language, _: drawn.render(r, outcome, language, width=width)
        for name in ("markdown", "note"):
            renderers[name] = lambda r, language, _: drawn.render_markdown(r, outcome, language)
    _answer.write(args, report, renderers, _answer.stem_of(report) + "-advice")
    return 0 if report.has_steps else 3


def _may_lose(text: str) -> float:
    """The seconds of work that may be lost."""
    seconds = units.parse_duration(text)
    if seconds is None or not 0 < seconds < _LONG_S:
        raise UsageError("bad-may-lose", place=f"--may-lose {text}")
    return seconds


def _outcome(report: Report, changes: dict[str, Value]) -> WhatIf:
    from stepscope.advice._whatif import what_if

    return what_if(report.run, report.ledger, report.forecast, named_changes(changes, report.run.format))
