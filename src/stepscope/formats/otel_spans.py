"""OpenTelemetry spans of a training (Megatron, or any trainer that is traced): one per step, evaluation, save."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stepscope.formats._shared.spans import Span, is_spans, read_spans
from stepscope.formats._shared.tables import NUMBER
from stepscope.lines.format import Clock, Document, Format, Layout, Line, Sample

# What kind a span is, by the words of its name; the first that fits.
_KINDS = (
    (
        "evaluation",
        frozenset({"eval", "evaluate", "evaluation", "evaluating", "validation", "validate", "val", "test"}),
    ),
    ("checkpoint", frozenset({"checkpoint", "checkpointing", "ckpt", "save", "saving", "snapshot"})),
    ("gc", frozenset({"gc"})),
    ("data", frozenset({"data", "dataloader", "dataloading", "loader", "batch", "fetch", "fetching"})),
    ("step", frozenset({"step", "iteration", "iter"})),
)
# Words of work that is not done again and again between steps, or is only a part of one.
_NOT_STOPS = frozenset({"load", "restore", "resume", "init", "startup", "setup", "build", "heartbeat", "finalize"})
_NOT_STEPS = frozenset(
    [
        "optimizer",
        "optim",
        "scheduler",
        "lr",
        "log",
        "logging",
        "report",
        "first",
        "forward",
        "backward",
        "micro",
        "microbatch",
        "layer",
        "grad",
        "sync",
        "generate",
        "rollout",
        "init",
        "startup",
    ]
)
_LOADS = frozenset({"load", "loading"})  # of data, that is no start
_STEPS = ("global_step", "iteration", "step", "train_step", "current_step", "step_num", "iter", "global_iteration")
_TOTALS = ("train_iters", "max_steps", "total_steps", "num_steps", "max_iters", "total_iterations", "max_iterations")
_LOSSES = ("loss", "train_loss", "lm_loss", "lm loss")
_MS = 10**6
_FIGURE = re.compile(NUMBER)


class _Step(NamedTuple):
    span: Span
    inside: dict[str, int]  # nanoseconds by kind
    before_ns: int  # waiting for data before the span began


def kind_of(span: Span) -> str | None:
    """What a span is by its name: a step, an evaluation, a save, loading; None for everything else."""
    words = span.words
    kind = next((kind for kind, names in _KINDS if words & names), None)
    if kind == "step":
        return None if words & _NOT_STEPS else kind
    if kind == "data":
        return None if words & (_NOT_STOPS - _LOADS) or words & _NOT_STEPS else kind
    return None if words & _NOT_STOPS else kind


def to_lines(blob: bytes) -> Iterator[str]:
    """One line per step, evaluation, checkpoint and garbage collection, in the order in which they ended."""
    spans = _of_one_process(read_spans(blob))
    stops = {kind: _outermost([span for span in spans if kind_of(span) == kind]) for kind, _ in _KINDS[:-1]}
    steps = _main_series([span for span in spans if kind_of(span) == "step"], stops["evaluation"])
    taken: set[int] = set()
    rows = _with_parts(steps, stops, taken)
    total = _total(spans, steps)
    lines = [(row.span.end_ns, _step_line(row, at, total)) for at, row in enumerate(rows)]
    for kind in ("evaluation", "checkpoint", "gc"):
        others = [span for span in stops[kind] if id(span) not in taken]
        lines += [(span.end_ns, _event_line(kind, span, steps)) for span in others]
    yield from (text for _, text in sorted(lines))


def _of_one_process(spans: list[Span]) -> list[Span]:
    """The spans of the process with the most steps: every rank of a distributed run may write its own."""
    counts: dict[str, int] = defaultdict(int)
    for span in spans:
        counts[span.process] += kind_of(span) == "step"
    best = max(counts, key=lambda process: counts[process], default="")
    return [span for span in spans if span.process == best]


def _outermost(spans: Sequence[Span]) -> list[Span]:
    """Without those that lie within another."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.begin_ns, -span.end_ns)):
        if not kept or not kept[-1].contains(span):
            kept.append(span)
    return kept


def _main_series(spans: Sequence[Span], evaluations: Sequence[Span]) -> list[Span]:
    """The spans that are the training's steps: those of the name with the most time, outside of evaluations."""
    inside = _owners(spans, evaluations)
    by_name: dict[str, list[Span]] = defaultdict(list)
    for at, span in enumerate(spans):
        if inside[at] is None:
            by_name[span.name].append(span)
    often = {name: found for name, found in by_name.items() if len(found) > 1} or by_name
    if not often:
        return []
    return _outermost(max(often.values(), key=lambda found: sum(span.end_ns - span.begin_ns for span in found)))


def _owners(spans: Sequence[Span], outer: Sequence[Span]) -> list[int | None]:
    """For each span, which of the outer ones (in order, apart from each other) it lies in."""
    found: list[int | None] = [None] * len(spans)
    at = 0
    for index in sorted(range(len(spans)), key=lambda index: spans[index].begin_ns):
        while at < len(outer) and outer[at].end_ns < spans[index].end_ns:
            at += 1
        if at < len(outer) and outer[at].contains(spans[index]):
            found[index] = at
    return found


def _with_parts(steps: list[Span], stops: dict[str, list[Span]], taken: set[int]) -> list[_Step]:
    """The steps with what lies in them; `taken` gets the spans that are accounted for so."""
    inside: list[dict[str, int]] = [defaultdict(int) for _ in steps]
    for kind, spans in stops.items():
        for span, owner in zip(spans, _owners(spans, steps), strict=True):
            if owner is not None:
                inside[owner][kind] += span.end_ns - span.begin_ns
                taken.add(id(span))
    before = _waits_before(steps, [span for span in stops["data"] if id(span) not in taken])
    return [_Step(span, inside[at], before[at]) for at, span in enumerate(steps)]


def _waits_before(steps: list[Span], waits: list[Span]) -> list[int]:
    """How long each step waited for its batch before its span began: a step's time contains that everywhere."""
    before = [0] * len(steps)
    at = 0
    for span in waits:
        while at < len(steps) and steps[at].begin_ns < span.end_ns:
            at += 1
        if at < len(steps) and (at == 0 or steps[at - 1].end_ns <= span.begin_ns):
            before[at] += span.end_ns - span.begin_ns
    return before


def _number(span: Span, names: Sequence[str]) -> float | None:
    """The attribute of one of these names, whatever group it is in (`megatron.iteration`)."""
    last = {key.lower().rsplit(".", 1)[-1].rsplit("/", 1)[-1]: key for key in span.attributes}
    for name in names:
        value = span.attributes.get(last.get(name, ""))
        if isinstance(value, (int, float, str)) and not isinstance(value, bool) and _FIGURE.fullmatch(str(value)):
            return float(value)
    return None


def _total(spans: Sequence[Span], steps: Sequence[Span]) -> int | None:
    """How many steps there will be, counted from step 0, where an attribute says so."""
    total = next((int(number) for span in spans if (number := _number(span, _TOTALS))), None)
    last = max((int(number) for span in steps if (number := _number(span, _STEPS)) is not None), default=0)
    return total + 1 if total is not None and last == total else total


def _step_line(row: _Step, at: int, total: int | None) -> str:
    span = row.span
    number, loss = _number(span, _STEPS), _number(span, _LOSSES)
    text = f"otel_spans: step {at if number is None or number < 0 else int(number)}"
    text += f" of {total}" if total else ""
    text += f" unix_ms {span.end_ns / _MS:.3f} dur_ms {(span.end_ns - span.begin_ns + row.before_ns) / _MS:.6f}"
    data_ns = row.inside.get("data", 0) + row.before_ns
    parts = {"data_s": data_ns} | {f"{kind}_s": row.inside.get(kind, 0) for kind in ("evaluation", "checkpoint")}
    text += "".join(f" {name} {spent / 1e9:.9f}" for name, spent in parts.items() if spent)
    return text if loss is None else f"{text} loss {loss:.7g}"


def _event_line(kind: str, span: Span, steps: Sequence[Span]) -> str:
    """An evaluation or a save between steps. One that steps go on during runs in the background: it takes no time."""
    text = f"otel_spans: {kind}"
    number = _number(span, _STEPS)
    text += f" step {int(number)}" if number is not None and number >= 0 else ""
    text += f" unix_ms {span.end_ns / _MS:.3f}"
    following = bisect_right(steps, span.begin_ns, key=lambda step: step.end_ns)
    if following < len(steps) and steps[following].begin_ns < span.end_ns:
        return f"{text} in the background"
    return f"{text} took_ms {(span.end_ns - span.begin_ns) / _MS:.6f}"


_AT = r"(?: step (?P<step>\d+))? unix_ms (?P<unix_ms>[\d.]+)(?: took_ms (?P<took_ms>[\d.]+)| in the background)$"

FORMAT = Format(
    title="OpenTelemetry spans",
    url="https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/",
    lines=(
        Line(
            "step",
            r"otel_spans: step (?P<step>\d+)(?: of (?P<total>\d+))? unix_ms (?P<unix_ms>[\d.]+) "
            r"dur_ms (?P<dur_ms>[\d.]+)(?: data_s (?P<data_s>[\d.]+))?(?: evaluation_s (?P<evaluation_s>[\d.]+))?"
            rf"(?: checkpoint_s (?P<checkpoint_s>[\d.]+))?(?: loss (?P<loss>{NUMBER}))?$",
        ),
        *(Line(kind, rf"otel_spans: {kind}{_AT}") for kind in ("evaluation", "checkpoint", "gc")),
    ),
    clock=Clock(
        covers="step",
        includes=("data", "gc", "logging"),
        note="The span of one step, and the spans of loading right before it. Which spans are the steps is decided by "
        "their names (step, iteration) and by which of them hold the most time; their numbers are attributes (step, "
        "iteration, global_step), or they are counted. Spans of evaluation, checkpoints and garbage collection are "
        "events: inside a step's span they count as part of it, and a save that other steps overlap takes no time. Of "
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
            "otel_spans: step 3 unix_ms 1794858537736.165 dur_ms 9412.5 evaluation_s 8.100000000",
            "step",
            {"step": 3, "dur_ms": 9412.5, "evaluation_s": 8.1, "checkpoint_s": None},
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
