"""TraceML's final summary: the mean step of each rank, and what it waited for data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from stepscope.formats._shared.json_values import object_of
from stepscope.lines.format import Clock, Document, Format, Line, Sample

_STEP, _WAIT = "step_time_ms", "input_wait_ms"
_MOST_DIGITS = 9


def is_summary(head: bytes) -> bool:
    """Whether a file begins as such a summary does."""
    start = head.lstrip()
    return start.startswith(b"{") and b'"schema_version"' in start[:200] and b'"analysis_window"' in start


def to_lines(blob: bytes) -> Iterator[str]:
    """For each rank a line at the last step of the window that was analysed, with the sum of its steps."""
    try:
        summary = json.loads(blob)
    except (ValueError, RecursionError):
        return
    section = object_of(object_of(summary).get("step_time"))
    window = object_of(object_of(section.get("global")).get("window"))
    first, last = (_whole(window.get(key)) for key in ("start_step", "end_step"))
    ranks = _means(section)
    if first is None or last is None or last < first or not ranks:
        return
    num = last - first + 1
    for rank, mean in ranks.items():
        tag = f"[rank{rank}]: " if len(ranks) > 1 else ""
        yield f"{tag}traceml: step {last} sum_ms {mean[_STEP] * num:.6f} of {num} data_s {mean[_WAIT] / 1e3:.9f}"
    if object_of(object_of(object_of(summary).get("run_context")).get("run")).get("status") == "completed":
        yield "traceml: Training complete"


def _means(section: Mapping[str, object]) -> dict[int, dict[str, float]]:
    """The means of each rank; of all of them as those of rank 0, where the ranks are not listed."""
    rows = object_of(object_of(section.get("groups")).get("rows"))
    found = {
        rank: object_of(object_of(rows.get(str(rank))).get("metrics"))
        for rank in sorted(int(name) for name in rows if name.isdecimal() and len(name) < _MOST_DIGITS)
    }
    found = found or {0: object_of(object_of(section.get("global")).get("average"))}
    means = {rank: {key: _positive(metrics.get(key)) for key in (_STEP, _WAIT)} for rank, metrics in found.items()}
    return {rank: mean for rank, mean in means.items() if mean[_STEP]}


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62 else None


def _positive(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and 0 < value < 1e15 else 0.0


FORMAT = Format(
    title="TraceML's final summary",
    url="https://github.com/traceopt-ai/traceml",
    lines=(
        Line(
            "step",
            r"traceml: step (?P<step>\d+) sum_ms (?P<dur_ms>[\d.]+) of (?P<per_steps>\d+) data_s (?P<data_s>[\d.]+)$",
        ),
        Line("chatter", r"traceml: Training complete$"),
    ),
    clock=Clock(
        covers="window",
        includes=("data", "logging"),
        note="The mean of the steps that every rank has, over the window that TraceML analysed (the last half hour "
        "by default), with the wait for data inside. Evaluations and checkpoints are not in it; neither is the total.",
    ),
    document=Document(sniff=is_summary, to_lines=to_lines),
    samples=(
        Sample(
            "traceml: step 640 sum_ms 154560.000000 of 640 data_s 0.020250000",
            "step",
            {"step": 640, "dur_ms": 154560, "per_steps": 640, "data_s": 0.02025},
        ),
        Sample("traceml: Training complete", "chatter"),
        Sample("traceml: step 640 sum_ms 154560", None),
        Sample(
            '{"schema_version": 1.9, "step_time": {"global": {"window": {"start_step": 1, "end_step": 640}}}}', None
        ),
    ),
)
