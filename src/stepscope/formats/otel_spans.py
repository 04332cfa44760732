"""OpenTelemetry spans of a training (Megatron, or any trainer that is traced): one per step, evaluation, save."""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.formats._shared.span_rows import line_patterns, span_lines
from stepscope.formats._shared.spans import is_spans, read_spans
from stepscope.lines.format import Clock, Document, Format, Layout, Sample


def to_lines(blob: bytes) -> Iterator[str]:
    """The spans of the file as lines of this format."""
    return span_lines("otel_spans", read_spans(blob))


FORMAT = Format(
    title="OpenTelemetry spans",
    url="https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/",
    lines=line_patterns("otel_spans"),
    clock=Clock(
        covers="step",
        includes=("data", "gc", "logging"),
        note="The span of one step, and the spans of loading right before it. Which spans are the steps is decided by "
        "their names (step, iteration) and by which of them hold the most time; their numbers are attributes (step, "
        "iteration, global_step), or they are counted. Spans of evaluation, checkpoints and garbage collection are "
        "events of their own, also inside a step's span; a save that other steps overlap takes no time. Of "
        "several processes in one file, the one with the most steps is read.",
    ),
    layout=Layout(events_follow_step=True),
    document=Document(sniff=is_spans, to_lines=to_lines),
    samples=(
        Sample(
            "otel_spans: step 12 of 500 unix_ms 1794858537736.165 dur_ms 412.500000 data_s 0.012500000 loss 2.75",
            "step",
            {"step": 12, "total": 500, "dur_ms": 412.5, "data_s": 0.0125, "loss": 2.75},
        ),
        Sample(
            "otel_spans: evaluation step 20 unix_ms 1794858537736.165 took_ms 8100.5",
            "evaluation",
            {"step": 20, "took_ms": 8100.5},
        ),
        Sample("otel_spans: checkpoint unix_ms 1794858537736.165 took_ms 5100.5", "checkpoint", {"took_ms": 5100.5}),
        Sample("otel_spans: checkpoint unix_ms 1794858537736.165 in the background", "checkpoint", {"took_ms": None}),
        Sample("otel_spans: gc unix_ms 1794858537736.165 took_ms 310", "gc", {"took_ms": 310}),
        Sample("otel_spans: step 12 unix_ms 17948", None),
        Sample('{"name": "train_step", "start_time": "2026-11-18T00:00:00.000000Z"}', None),
    ),
)
