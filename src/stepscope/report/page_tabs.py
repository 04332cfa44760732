"""The panels below the timeline: where the time went, slow iterations, ranks, the log, and what was read.

The panel of the future is in `page_future`. Without a script, and in print, all of them are shown one after another.
"""

from __future__ import annotations

from typing import Any

from stepscope.analysis.report import Report
from stepscope.analysis.slow_groups import extra_s, group_slow
from stepscope.core.redact import redact
from stepscope.i18n import Language
from stepscope.ledger.phases import SlowStep
from stepscope.report import page_future, templating
from stepscope.report.gpu import samples_line, verdict_lines
from stepscope.report.inferred import inferred_lines
from stepscope.report.log_lines import line_links, log_lines
from stepscope.report.wording.clocks import clock_text
from stepscope.report.wording.hardware import hardware_details
from stepscope.report.wording.headline import normal_lines, settings_line, unread_text
from stepscope.report.wording.phases import phase_cells
from stepscope.report.wording.sentence import capital
from stepscope.report.wording.slow import drawn_phase, evidence_text, group_cells, more_slow, part_text, slow_remarks
from stepscope.report.wording.trend import speed_lines
from stepscope.run.ranks import find_slowest, typical_s

_SHOWN_SLOW = 100
_MOST_CHECKS = 30


def tabs(report: Report, language: Language, drawn: dict[str, Any]) -> str:
    """The tab strip and its panels, as far as there is something in them."""
    panels = [
        ("overview", language.text("section-time"), _overview(report, language)),
        ("slow", language.text("section-slow"), _slow(report, language) if report.has_steps else ""),
        ("forecast", language.text("page-tab-forecast"), page_future.forecast(report, language, drawn["ahead"])),
        ("whatif", language.text("page-whatif"), page_future.what_if(report, language)),
        ("ranks", language.text("page-tab-ranks"), _ranks(report, language) if drawn["ranks"] else ""),
        ("log", language.text("page-tab-log"), _log(report, language)),
        ("read", language.text("section-log"), _read(report, language)),
    ]
    return templating.render("run_tabs.html", language, panels=[panel for panel in panels if panel[2]])


def _overview(report: Report, language: Language) -> str:
    if not report.has_times:
        return ""
    rows = []
    for total in report.ledger.phases:
        cells = phase_cells(total, language)
        count = language.number(total.num) if total.num and total.phase != "step" else ""
        rows.append({"phase": total.phase, "cells": cells, "count": count, "width": total.share})
    lines = [*normal_lines(report, language), *speed_lines(report, language)]
    hardware = report.hardware
    details = hardware_details(report, language)
    if hardware is not None and hardware.gpu and details:
        lines.append(language.text("run-gpu", gpu=hardware.gpu, details=details))
    lines += verdict_lines(report, language)
    samples = samples_line(report, language)
    lines += [samples] if samples else []
    return templating.render(
        "run_overview.html",
        language,
        links=line_links(report, language),
        rows=rows,
        wall=language.duration(report.ledger.wall_s),
        lines=[capital(line) for line in lines],
    )


def _slow(report: Report, language: Language) -> str:
    slow = report.ledger.slow
    shown = sorted(slow[:_SHOWN_SLOW], key=lambda one: -extra_s(one.parts))
    kept = {one["line"] for one in log_lines(report)}
    groups = [
        {
            "cells": group_cells(group, report.run, language),
            "phase": drawn_phase(group.steps[0]),
            "count": len(group.steps),
            "lost_s": group.lost_s,
            "lost": language.duration(group.lost_s),
        }
        for group in group_slow(report.run, slow)
    ]
    return templating.render(
        "run_slow.html",
        language,
        links=line_links(report, language),
        groups=groups if len(slow) > 1 else [],
        rows=[_slow_row(report, one, kept, language) for one in shown],
        more=more_slow(list(slow[_SHOWN_SLOW:]), language) if len(slow) > _SHOWN_SLOW else "",
        remarks=slow_remarks(report, language),
        nothing="" if slow else language.text("slow-none"),
    )


def _slow_row(report: Report, slow: SlowStep, kept: set[int], language: Language) -> dict[str, Any]:
    span = max(1, int(report.run.steps.span[slow.row]))
    number = language.number(slow.step)
    if span > 1:
        number = language.text("page-window", first=slow.step - span + 1, last=slow.step, count=span)
    return {
        "step": slow.step,
        "number": number,
        "seconds": slow.seconds,
        "took": language.duration(slow.seconds),
        "extra_s": extra_s(slow.parts),
        "extra": language.duration(extra_s(slow.parts)),
        "phase": drawn_phase(slow),
        "cause": language.text(f"cause-{slow.cause}"),
        "parts": " + ".join(part_text(part, language) for part in slow.parts),
        "why": capital(evidence_text(report, slow, language)),
        "code": slow.code,
        "line": slow.line,
        "links": [line for line in sorted({slow.line, *slow.evidence_lines}) if line in kept][:4],
    }


def _ranks(report: Report, language: Language) -> str:
    slowest = find_slowest(report.run)
    rows = []
    for rank in report.run.ranks:
        took = typical_s(rank)
        rows.append(
            {
                "number": rank.number,
                "host": redact(rank.host, 60),
                "steps": language.number(rank.num_steps),
                "took": "" if took is None else language.duration(took),
                "took_s": took or 0.0,
                "is_slowest": slowest is not None and slowest.number == rank.number,
            }
        )
    return templating.render("run_ranks.html", language, rows=rows, has_hosts=any(row["host"] for row in rows))


def _log(report: Report, language: Language) -> str:
    lines = log_lines(report)
    is_whole = len(lines) == report.run.num_lines
    return templating.render("run_log.html", language, lines=lines, is_whole=is_whole) if lines else ""


def _read(report: Report, language: Language) -> str:
    reading = report.reading
    lines = [unread_text(report, language), *inferred_lines(report, language)]
    lines += filter(None, [settings_line(report, language), clock_text(report, language)])
    checks = [
        {
            "code": check.code,
            "verdict": check.verdict.replace(" ", "-"),
            "word": language.text(f"page-verdict-{check.verdict.replace(' ', '-')}"),
            "text": capital(language.say(check.message)),
        }
        for check in reading.checks[:_MOST_CHECKS]
    ]
    candidates = [(one.format, language.percent(one.share)) for one in reading.candidates[:8]]
    return templating.render(
        "run_read.html",
        language,
        links=line_links(report, language),
        confidence=reading.confidence,
        percent=language.percent(reading.confidence),
        checks=checks,
        candidates=candidates,
        lines=[capital(line) for line in lines if line],
    )
