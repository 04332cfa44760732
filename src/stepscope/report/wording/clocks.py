"""Two more views of the run's time: the clocks of the log, and the trace from inside the process."""

from __future__ import annotations

from stepscope.analysis.report import Report
from stepscope.core.message import Seconds, say
from stepscope.core.redact import redact
from stepscope.i18n import Language
from stepscope.source.trace_file import KINDS

# Clocks that differ by less than this share of the whole are not worth a sentence.
_WORTH_A_CLOCK = 0.03


def clock_text(report: Report, language: Language) -> str:
    """What the printed time means, in the report's language; the format's page has the details."""
    clock = report.run.clock
    texts = [language.text(f"clock-{_kind(report)}")]
    phases = [language.text(f"phase-{phase}") for phase in clock.includes]
    if phases:
        texts.append(language.text("clock-includes", phases=", ".join(phases)))
    if report.run.format.name != "generic":
        texts.append(language.text("clock-more", command=f"stepscope formats show {report.run.format.name}"))
    return " ".join(texts)


def _kind(report: Report) -> str:
    """Which of the sentences about the printed time is true of this run."""
    clock = report.run.clock
    if report.run.by_arrival:
        return "arrival"
    kind = "-sum" if clock.is_sum or report.run.is_interval else "-mean" if clock.is_mean else ""
    return f"{clock.covers}{kind}"


def clock_remarks(report: Report, language: Language) -> list[str]:
    """Where two clocks of the log differ by more than rounding: what each says, and the difference."""
    if report.trace is not None and report.trace.lanes:
        return []  # every second is a span's
    clocks = {clock.name: clock for clock in report.clocks}
    stamps, printed = clocks.get("stamps"), clocks.get("printed")
    if stamps is None or printed is None or not stamps.used:
        return []
    rest = stamps.seconds - printed.seconds
    if rest < _WORTH_A_CLOCK * stamps.seconds:
        return []
    both = {"stamps": Seconds(stamps.seconds), "printed": Seconds(printed.seconds), "rest": Seconds(rest)}
    return [language.say(say("clocks-differ", **both))]


def inside_text(report: Report, language: Language) -> str | None:
    """What was seen from inside the process."""
    if not report.traced:
        return None
    items = []
    for one in report.traced:
        key = f"inside-{one.kind if one.kind in KINDS else 'other'}"
        duration, longest = Seconds(one.seconds), Seconds(one.longest_s)
        items.append(language.text(key, count=one.num, duration=duration, longest=longest, kind=redact(one.kind, 60)))
    text = language.text("inside-line", items=", ".join(items))
    skipped = report.trace.skipped if report.trace is not None else ()
    if skipped:
        names = ", ".join(redact(name.partition(":")[0], 60) for name in skipped)
        text += " " + language.text("inside-skipped", names=names)
    return text
