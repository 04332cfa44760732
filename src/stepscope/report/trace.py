"""The run as a Chrome trace: opens in ui.perfetto.dev, next to the profiler's own traces.

One track per family of phases, nothing overlapping on a track; times are microseconds since the run's first.
"""

from __future__ import annotations

from stepscope.analysis.report import Report
from stepscope.core.unseen import to_json
from stepscope.i18n import Language
from stepscope.ledger.timeline import timeline

_TRACKS = {"step": 1, "evaluation": 2, "checkpoint": 3, "warmup": 4}
_OTHER = 5
_NAMES = {1: "steps", 2: "evaluation", 3: "checkpoint", 4: "warm-up", 5: "stalls and gaps"}


def render(report: Report, language: Language) -> str:
    """The trace as JSON text; `language` is not used."""
    del language
    run = report.run
    events: list[dict[str, object]] = [
        {"ph": "M", "pid": 1, "tid": 0, "name": "process_name", "args": {"name": f"{run.format.title} (stepscope)"}}
    ]
    for track, name in _NAMES.items():
        events.append({"ph": "M", "pid": 1, "tid": track, "name": "thread_name", "args": {"name": name}})
        events.append({"ph": "M", "pid": 1, "tid": track, "name": "thread_sort_index", "args": {"sort_index": track}})
    for piece in timeline(run, report.ledger):
        steps = str(piece.last_step) if piece.first_step >= piece.last_step else f"{piece.first_step}–{piece.last_step}"
        events.append(
            {
                "ph": "X",
                "pid": 1,
                "tid": _TRACKS.get(piece.phase, _OTHER),
                "ts": round(piece.start_s * 1e6, 3),
                "dur": round(piece.seconds * 1e6, 3),
                "name": f"{piece.phase} {steps}",
                "cat": piece.phase,
                "args": {"first_step": piece.first_step, "last_step": piece.last_step},
            }
        )
    return to_json({"traceEvents": events, "displayTimeUnit": "ms"}) + "\n"
