"""Say when the run will finish, on one line.

    stepscope eta train.log --max-steps 20000
    stepscope eta train.log --config config.py --now 02:30     count from when the last line was written
    stepscope eta train.log --deadline 08:00                   how likely it is done by then

Time left, its interval and the finish time. Exit code 3 when the log cannot support a forecast; it says what is
missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.cli import _answer, _flags, _report, _runs
from stepscope.forecast.finish import Forecast, NoForecast

if TYPE_CHECKING:
    from stepscope.analysis.report import Report
    from stepscope.i18n import Language


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The log's flags and the answer's."""
    _flags.add_log_arguments(parser)
    _flags.add_forecast_arguments(parser)
    _flags.add_price_argument(parser)
    _flags.add_output_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Say when the run will be done."""
    languages = _answer.chosen_languages(args)
    report = _report.build_report(args)
    _runs.say_which(args, report.run)
    end = report.forecast
    if isinstance(end, NoForecast) and end.rough is None:
        print(_line(report, languages[0], False), end="", file=sys.stderr)
        if args.format == "terminal":
            return 3
    renderers: dict[str, _answer.Renderer] = {"terminal": _line}
    if args.format == "json":
        from stepscope.report import json

        renderers["json"] = lambda r, language, _: json.render(r, language)
    elif args.format in {"markdown", "note"}:
        from stepscope.report import note

        renderers["markdown"] = lambda r, language, _: note.eta_body(r, language)
        renderers["note"] = lambda r, language, translated: note.render_eta(r, language, translated=translated)
    if args.format == "terminal":
        from stepscope.report.wording.reading import eta_doubt

        doubt = eta_doubt(report, languages[0])
        if doubt is not None:
            print(doubt, file=sys.stderr)
    _answer.write(args, report, renderers, _answer.stem_of(report) + "-eta")
    for line in _remarks(report, languages[0], is_terminal=args.format == "terminal"):
        print(line, file=sys.stderr)
    return 0 if isinstance(end, Forecast) or end.rough is not None else 3


def _remarks(report: Report, language: Language, *, is_terminal: bool) -> Iterator[str]:
    """What the forecast rests on, and whether the run goes on at all; for stderr."""
    from stepscope.report.wording.finish import interval_lines
    from stepscope.report.wording.sentence import capital, ended

    end = report.forecast
    if isinstance(end, Forecast) and report.run.settings["max_steps"].origin == "default":
        yield language.text("assume-default-total", count=end.schedule.max_steps)
    if isinstance(end, Forecast) and is_terminal:
        if end.like:
            yield language.text("assume-like", path=end.like[0], count=len(end.like))
        if not end.is_finished:
            if report.state.value == "stopped":
                yield ended(capital(language.say(report.state.evidence)))
            yield from interval_lines(end, language)
    if report.run.format.inferred is not None and is_terminal:
        from stepscope.report.inferred import inferred_lines

        yield inferred_lines(report, language)[0].rstrip(" :") + "."


def _line(report: Report, language: Language, translated: bool) -> str:
    from stepscope.report.wording.finish import deadline_lines, eta_line, finish_lines

    del translated
    end = report.forecast
    if isinstance(end, Forecast) and not end.is_finished:
        lines = [eta_line(report, end, language), *deadline_lines(report, language)]
        return "\n".join(lines) + "\n"
    return "\n".join(finish_lines(report, language)) + "\n"
