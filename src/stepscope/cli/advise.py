"""what to change and what each change saves and costs; with --change, what exactly that change would do

    stepscope advise train.log --config config.py
    stepscope advise train.log --config config.py --change eval_interval=1000 --change eval_iters=50

`--set` states a fact about the run; `--change` asks what would happen. Exit code 3 when the log holds no step times.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from stepscope.cli import _common
from stepscope.errors import UsageError
from stepscope.settings import COUNTS, Value, parse_value

if TYPE_CHECKING:
    from stepscope.advice._whatif import Outcome
    from stepscope.report.build import Report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The log's flags, the change, and the answer's flags."""
    _common.add_log_arguments(parser)
    parser.add_argument(
        "--change",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a setting to change, such as eval_interval=1000; may be given several times",
    )
    _common.add_output_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Say what to change, or what a change would do."""
    _common.chosen_languages(args)
    changes = _changes(args)
    report = _common.build_report(args)
    outcome = _outcome(report, changes) if changes and report.has_steps else None
    width, _ = _common.terminal_size(args)
    renderers: dict[str, _common.Renderer] = {}
    if args.format == "json":
        import json as plain

        from stepscope.report import changes as drawn
        from stepscope.report import json

        def as_json(r: Report, *_: object) -> str:
            found = json.document(r) | {"change": drawn.document(outcome) if outcome else None}
            return plain.dumps(found, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

        renderers["json"] = as_json
    else:
        from stepscope.report import changes as drawn

        renderers["terminal"] = lambda r, language, _: drawn.render(r, outcome, language, width=width)
        for name in ("markdown", "note"):
            renderers[name] = lambda r, language, _: drawn.render_markdown(r, outcome, language)
    _common.write(args, report, renderers, _common.stem_of(report) + "-advice")
    return 0 if report.has_steps else 3


def _changes(args: argparse.Namespace) -> dict[str, Value]:
    """What `--change` asks, by the names it was asked in."""
    found: dict[str, Value] = {}
    for text in args.change:
        key, equals, value = text.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise UsageError("bad-change", place=text)
        found[key.strip()] = parse_value(value)
    return found


def _outcome(report: Report, changes: dict[str, Value]) -> Outcome:
    from stepscope.advice._whatif import what_if

    named = {report.run.format.canonical(key): value for key, value in changes.items()}
    for name, value in named.items():
        if name in COUNTS and (isinstance(value, bool | str) or value < 1 or value != int(value)):
            raise UsageError("bad-change-value", place=f"--change {name}={value}", setting=name)
    return what_if(report.run, report.ledger, report.forecast, named)
