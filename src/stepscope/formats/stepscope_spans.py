"""A file of spans, as Stepscope's recorder and its probes write it: docs/integrations.md describes it."""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.lines.format import Clock, Document, Format, Layout, Line, Sample

_MS = 1e6
_EVENTS = {b"evaluation": "evaluation", b"checkpoint": "checkpoint", b"gc": "gc"}


def is_spans(head: bytes) -> bool:
    """Whether a file begins as one of spans does."""
    return head.startswith(b"H\t") and b"\tformat=stepscope.spans/" in head[:400]


def to_lines(blob: bytes) -> Iterator[str]:
    """One line per step, evaluation, checkpoint and garbage collection of the thread that trains."""
    shift, total, counted, waited_ns = 0, "", 0, 0
    for record in blob.split(b"\n")[:-1]:
        fields = record.split(b"\t")
        if len(fields) != 6 or not fields[1].isdigit():
            continue  # torn by a kill
        mark, kind, at_ns = fields[0], fields[2], int(fields[1])
        if mark == b"H" and fields[4].isdigit():
            shift = shift or int(fields[4]) - at_ns
        elif mark == b"N" and kind == b"total":
            steps = next((word[6:] for word in fields[5].split(b" ") if word.startswith(b"steps=")), b"")
            total = f" of {int(steps)}" if steps.isdigit() else total
        elif mark == b"E" and fields[3] == b"0" and fields[4].isdigit():
            took_ns, moment = int(fields[4]), f"unix_ms {(at_ns + shift) / _MS:.3f}"
            if kind == b"step":
                number = int(fields[5]) if fields[5].isdigit() else counted
                counted = number + 1
                data = f" data_s {waited_ns / 1e9:.9f}" if waited_ns else ""
                yield f"stepscope_spans: step {number}{total} {moment} dur_ms {(took_ns + waited_ns) / _MS:.6f}{data}"
                waited_ns = 0
            elif kind in _EVENTS:
                yield f"stepscope_spans: {_EVENTS[kind]} {moment} took_ms {took_ns / _MS:.6f}"
                waited_ns = 0
            elif kind in {b"data", b"fetch"}:
                waited_ns += took_ns


_AT = r" unix_ms (?P<unix_ms>[\d.]+) took_ms (?P<took_ms>[\d.]+)$"

FORMAT = Format(
    title="Stepscope's own spans",
    url="https://github.com/stepscope/stepscope",
    lines=(
        Line(
            "step",
            r"stepscope_spans: step (?P<step>\d+)(?: of (?P<total>\d+))? unix_ms (?P<unix_ms>[\d.]+) "
            r"dur_ms (?P<dur_ms>[\d.]+)(?: data_s (?P<data_s>[\d.]+))?$",
        ),
        *(Line(kind, rf"stepscope_spans: {kind}{_AT}") for kind in ("evaluation", "checkpoint", "gc")),
    ),
    clock=Clock(
        covers="step",
        includes=("data", "gc", "logging"),
        note="From the beginning of one step to that of the next, without the evaluations and checkpoints between "
        "them: each of those is a span of its own, timed inside the process on the monotonic clock.",
    ),
    layout=Layout(events_follow_step=True),
    document=Document(sniff=is_spans, to_lines=to_lines),
    samples=(
        Sample(
            "stepscope_spans: step 12 of 500 unix_ms 1794858537736.165 dur_ms 412.500000 data_s 0.012500000",
            "step",
            {"step": 12, "total": 500, "dur_ms": 412.5, "data_s": 0.0125},
        ),
        Sample(
            "stepscope_spans: evaluation unix_ms 1794858537736.165 took_ms 8100.5", "evaluation", {"took_ms": 8100.5}
        ),
        Sample(
            "stepscope_spans: checkpoint unix_ms 1794858537736.165 took_ms 1100.5", "checkpoint", {"took_ms": 1100.5}
        ),
        Sample("stepscope_spans: gc unix_ms 1794858537736.165 took_ms 310.0", "gc", {"took_ms": 310.0}),
        Sample("stepscope_spans: step 12 of 500 unix_ms 1794858537736.165", None),
    ),
)
