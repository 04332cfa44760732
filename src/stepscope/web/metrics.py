"""The runs as Prometheus reads them: text, a bounded number of labels."""

from __future__ import annotations

from stepscope.forecast.finish import Forecast
from stepscope.web.run_folder import ListedRun

_HELP = {
    "stepscope_step_seconds": ("gauge", "typical seconds of a step"),
    "stepscope_steps": ("gauge", "number of the last step"),
    "stepscope_phase_seconds": ("counter", "seconds spent in a phase"),
    "stepscope_eta_seconds": ("gauge", "seconds left"),
    "stepscope_alarms": ("gauge", "alarms of a kind"),
}


def render(entries: list[ListedRun]) -> str:
    """The metrics of all runs."""
    rows: dict[str, list[str]] = {name: [] for name in _HELP}
    for entry in entries:
        report = entry.report
        if report is None:
            continue
        run = {"run": entry.name}
        if report.ledger.step is not None:
            rows["stepscope_step_seconds"].append(_labels(run, report.ledger.step.typical_s))
        if len(report.run):
            rows["stepscope_steps"].append(_labels(run, int(report.run.steps.step[-1])))
        for total in report.ledger.phases:
            rows["stepscope_phase_seconds"].append(_labels(run | {"phase": total.phase}, total.seconds))
        end = report.forecast
        if isinstance(end, Forecast) and not end.is_finished:
            tail = (1 - end.confidence) / 2
            for quantile, value in ((tail, end.low_s), (0.5, end.remaining_s), (1 - tail, end.high_s)):
                rows["stepscope_eta_seconds"].append(_labels(run | {"quantile": f"{quantile:g}"}, value))
        codes = [alarm.code for alarm in report.alarms]
        for code in sorted(set(codes)):
            rows["stepscope_alarms"].append(_labels(run | {"kind": code}, codes.count(code)))
    lines = []
    for name, (kind, text) in _HELP.items():
        lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{row}" for row in rows[name]]
    return "\n".join(lines) + "\n"


def _labels(labels: dict[str, str], value: float) -> str:
    inside = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
    return f"{{{inside}}} {value:.9g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
