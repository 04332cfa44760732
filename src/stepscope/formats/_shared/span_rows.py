"""Spans of a training, whatever wrote them, as lines of a format: one per step, evaluation, save and collection."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stepscope.formats._shared.spans import Span
from stepscope.formats._shared.tables import NUMBER
from stepscope.lines.format import Line

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
# Stops of the training: events of their own, also where a step's span has them inside.
_APART = ("evaluation", "checkpoint")
_MS = 10**6
_MOST_STEPS = 1 << 62
_FIGURE = re.compile(NUMBER)


class _Step(NamedTuple):
    span: Span
    waited_ns: int  # for data, inside the span
    before_ns: int  # for data, before the span began


def kind_of(span: Span) -> str | None:
    """What a span is by its name: a step, an evaluation, a save, loading; None for everything else."""
    words = span.words
    kind = next((kind for kind, names in _KINDS if words & names), None)
    if kind == "step":
        return None if words & _NOT_STEPS else kind
    if kind == "data":
        return None if words & (_NOT_STOPS - _LOADS) or words & _NOT_STEPS else kind
    return None if words & _NOT_STOPS else kind


def span_lines(prefix: str, spans: list[Span]) -> Iterator[str]:
    """One line per step, evaluation, checkpoint and garbage collection, in the order in which they ended."""
    spans = _of_one_process(spans)
    stops = {kind: _outermost([span for span in spans if kind_of(span) == kind]) for kind, _ in _KINDS[:-1]}
    steps = _main_series([span for span in spans if kind_of(span) == "step"], stops["evaluation"])
    _take_stops_out(steps, stops)
    rows, collections = _with_parts(steps, stops["data"], stops["gc"])
    total = _total(spans, steps)
    lines = [(row.span.end_ns, _step_line(row, at, total)) for at, row in enumerate(rows)]
    lines += [(span.end_ns, _event_line("gc", span, steps)) for span in collections]
    for kind in _APART:
        lines += [(span.end_ns, _event_line(kind, span, steps)) for span in stops[kind]]
    yield from (f"{prefix}: {text}" for _, text in sorted(lines))


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


def _take_stops_out(steps: list[Span], stops: dict[str, list[Span]]) -> None:
    """Put the evaluations and saves inside a step after it: how long they took counts, not where in it they were."""
    both = _outermost([span for kind in _APART for span in stops[kind]])
    inside: dict[int, list[Span]] = defaultdict(list)
    for span, owner in zip(both, _owners(both, steps), strict=True):
        if owner is not None:
            inside[owner].append(span)
    for kind in _APART:
        owners = _owners(stops[kind], steps)
        stops[kind] = [span for span, owner in zip(stops[kind], owners, strict=True) if owner is None]
    for owner, found in inside.items():
        end_ns = steps[owner].end_ns
        for span in reversed(found):
            begin_ns = end_ns - (span.end_ns - span.begin_ns)
            stops[str(kind_of(span))].append(span._replace(begin_ns=begin_ns, end_ns=end_ns))
            end_ns = begin_ns
        steps[owner] = steps[owner]._replace(end_ns=end_ns)


def _with_parts(steps: list[Span], waits: list[Span], collections: list[Span]) -> tuple[list[_Step], list[Span]]:
    """The steps with their waits for data, and the collections of garbage that are not inside one."""
    owners = _owners(waits, steps)
    inside = [0] * len(steps)
    for span, owner in zip(waits, owners, strict=True):
        if owner is not None:
            inside[owner] += span.end_ns - span.begin_ns
    before = _waits_before(steps, [span for span, owner in zip(waits, owners, strict=True) if owner is None])
    rows = [_Step(span, inside[at], before[at]) for at, span in enumerate(steps)]
    outside = _owners(collections, steps)
    return rows, [span for span, owner in zip(collections, outside, strict=True) if owner is None]


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
        if (
            isinstance(value, (int, float, str))
            and not isinstance(value, bool)
            and _FIGURE.fullmatch(text := str(value))
        ):
            return float(text)  # of hundreds of digits: infinite, where a whole number would be an error
    return None


def _count(span: Span, names: Sequence[str]) -> int | None:
    """The same, where it is a number that steps can have."""
    number = _number(span, names)
    return int(number) if number is not None and 0 <= number < _MOST_STEPS else None


def _total(spans: Sequence[Span], steps: Sequence[Span]) -> int | None:
    """How many steps there will be, counted from step 0, where an attribute says so."""
    total = next((number for span in spans if (number := _count(span, _TOTALS))), None)
    last = max((number for span in steps if (number := _count(span, _STEPS)) is not None), default=0)
    return total + 1 if total is not None and last == total else total


def _step_line(row: _Step, at: int, total: int | None) -> str:
    span = row.span
    number, loss = _count(span, _STEPS), _number(span, _LOSSES)
    text = f"step {at if number is None else number}"
    text += f" of {total}" if total else ""
    text += f" unix_ms {span.end_ns / _MS:.3f} dur_ms {(span.end_ns - span.begin_ns + row.before_ns) / _MS:.6f}"
    data_ns = row.waited_ns + row.before_ns
    text += f" data_s {data_ns / 1e9:.9f}" if data_ns else ""
    return text if loss is None else f"{text} loss {loss:.7g}"


def _event_line(kind: str, span: Span, steps: Sequence[Span]) -> str:
    """An evaluation or a save. One that one of `steps` goes on during runs in the background: it takes no time."""
    text = kind
    number = _count(span, _STEPS)
    text += f" step {number}" if number is not None else ""
    text += f" unix_ms {span.end_ns / _MS:.3f}"
    following = bisect_right(steps, span.begin_ns, key=lambda step: step.end_ns)
    if following < len(steps) and steps[following].begin_ns < span.end_ns:
        return f"{text} in the background"
    return f"{text} took_ms {(span.end_ns - span.begin_ns) / _MS:.6f}"


_AT = r"(?: step (?P<step>\d+))? unix_ms (?P<unix_ms>[\d.]+)(?: took_ms (?P<took_ms>[\d.]+)| in the background)$"


def line_patterns(prefix: str) -> tuple[Line, ...]:
    """The patterns of the lines that `span_lines` writes."""
    return (
        Line(
            "step",
            rf"{prefix}: step (?P<step>\d+)(?: of (?P<total>\d+))? unix_ms (?P<unix_ms>[\d.]+) "
            rf"dur_ms (?P<dur_ms>[\d.]+)(?: data_s (?P<data_s>[\d.]+))?(?: loss (?P<loss>{NUMBER}))?$",
        ),
        *(Line(kind, rf"{prefix}: {kind}{_AT}") for kind in ("evaluation", "checkpoint", "gc")),
    )
