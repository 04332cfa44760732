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
from typing import TYPE_CHECKING

from stepscope.cli import _answer, _flags, _report
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
    if isinstance(end, Forecast) and report.run.settings["max_steps"].origin == "default":
        print(languages[0].text("assume-default-total", count=end.schedule.max_steps), file=sys.stderr)
    if isinstance(end, Forecast) and end.like and args.format == "terminal":
        print(languages[0].text("assume-like", path=end.like[0], count=len(end.like)), file=sys.stderr)
    if isinstance(end, Forecast) and not end.is_finished and args.format == "terminal":
        from stepscope.report.wording.finish import interval_lines

        for line in interval_lines(end, languages[0]):
            print(line, file=sys.stderr)
    if report.run.format.inferred is not None and args.format == "terminal":
        from stepscope.report.inferred import inferred_lines

        print(inferred_lines(report, languages[0])[0].rstrip(" :") + ".", file=sys.stderr)
    return 0 if isinstance(end, Forecast) or end.rough is not None else 3


def _line(report: Report, language: Language, translated: bool) -> str:
    from stepscope.report.wording.finish import deadline_lines, eta_line, finish_lines

    del translated
    end = report.forecast
    if isinstance(end, Forecast) and not end.is_finished:
        lines = [eta_line(report, end, language), *deadline_lines(report, language)]
        return "\n".join(lines) + "\n"
    return "\n".join(finish_lines(report, language)) + "\n"
