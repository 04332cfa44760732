"""Chrome's trace events of a training, as PyTorch's profiler (Kineto), JAX's and other tracers write them."""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.formats._shared.chrome_events import is_trace, read_trace
from stepscope.formats._shared.span_rows import line_patterns, span_lines
from stepscope.lines.format import Clock, Document, Format, Layout, Sample


def to_lines(blob: bytes) -> Iterator[str]:
    """The events of the file as lines of this format."""
    return span_lines("chrome_trace", read_trace(blob))


FORMAT = Format(
    title="Chrome trace (PyTorch profiler)",
    url="https://docs.pytorch.org/docs/stable/profiler.html",
    lines=line_patterns("chrome_trace"),
    clock=Clock(
        covers="step",
        includes=("data", "gc", "logging"),
        note="From one step mark of the profiler to the next (ProfilerStep#N, JAX's step_num); where there is none, "
        "spans whose names say step or iteration, else from one step of the optimizer to the next. Evaluations and "
        "checkpoints are the annotations with such names, and no part of a step. A trace covers the steps that the "
        "profiler was on for, and the profiler itself takes time.",
    ),
    layout=Layout(events_follow_step=True),
    document=Document(sniff=is_trace, to_lines=to_lines),
    samples=(
        Sample(
            "chrome_trace: step 12 unix_ms 1794858537736.165 dur_ms 412.500000 data_s 0.012500000",
            "step",
            {"step": 12, "dur_ms": 412.5, "data_s": 0.0125},
        ),
        Sample("chrome_trace: evaluation unix_ms 1794858537736.165 took_ms 8100.5", "evaluation", {"took_ms": 8100.5}),
        Sample("chrome_trace: checkpoint unix_ms 1794858537736.165 in the background", "checkpoint", {"took_ms": None}),
        Sample("chrome_trace: gc unix_ms 1794858537736.165 took_ms 310", "gc", {"took_ms": 310}),
        Sample("chrome_trace: step 12 unix_ms 17948", None),
        Sample('{"ph": "X", "name": "ProfilerStep#12", "ts": 4206055693643.17, "dur": 412500.0}', None),
    ),
)
