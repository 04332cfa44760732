"""Chrome's trace events in a JSON file (PyTorch's profiler, JAX's, any tracer): the spans of a training's work."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from stepscope.formats._shared.span_rows import kind_of
from stepscope.formats._shared.spans import Span

_DECODER = json.JSONDecoder()
# Single operators and kernels: thousands a step, and none of them is a step, an evaluation or a save.
_OF_CPU = ("cpu_op", "python_function", "fwdbwd", "overhead", "Trace")
_OF_GPU = ("kernel", "cuda_runtime", "cuda_driver", "cuda_sync", "ac2g", "async_gpu", "gpu_memcpy", "gpu_memset")
_PARTS = frozenset((*_OF_CPU, *_OF_GPU, "gpu_user_annotation"))
_STEP = re.compile(r"ProfilerStep\*?#?\*?(\d+)")
_OPTIMIZER = re.compile(r"Optimizer\.step#\w+\.step")
_BASE = re.compile(r'"baseTimeNanoseconds": ?(\d{1,19})')
_MOST_TORN = 50  # objects that are none: the end of a file that was cut, or no trace at all
_US = 1000
# Nobody traces before this: smaller moments count from the start of the machine or of the process.
_EARLIEST_NS = 10**18


class _Event(NamedTuple):
    name: str
    begin_ns: int
    end_ns: int
    thread: str
    number: int | None

    def span(self, name: str, begin_ns: int | None = None) -> Span:
        """As a span of the process that it is of; `begin_ns` where it began earlier."""
        attributes = {} if self.number is None else {"step": self.number}
        return Span(name, self.begin_ns if begin_ns is None else begin_ns, self.end_ns, attributes, self.thread)


def is_trace(head: bytes) -> bool:
    """Whether a file begins as a trace does: with `traceEvents`, or as PyTorch's profiler begins."""
    start = head.lstrip()
    if start.startswith(b"["):
        return all(key in start[:400] for key in (b'"ph"', b'"ts"', b'"name"'))
    return start.startswith(b"{") and (b'"traceEvents"' in start or b'"deviceProperties"' in start)


def read_trace(blob: bytes) -> list[Span]:
    """The steps, evaluations, saves, collections and waits for data of a trace, in the order in which they ended.

    Steps are the profiler's own marks (`ProfilerStep#12`, JAX's `step_num`), else spans that are called so, else they
    end with each step of the optimizer.
    """
    text = blob.decode("utf-8", errors="replace")
    events = list(_events(text))
    marks = [event for event in events if event.number is not None]
    if marks:
        found = [event.span("step") for event in marks]
    else:
        found = [event.span(event.name) for event in events if _kind(event) == "step"] or _from_optimizer(events)
    found += [event.span(event.name) for event in events if event.number is None and _kind(event) not in {None, "step"}]
    trainer = {span.process for span in found if kind_of(span) == "step"}
    base = int(match[1]) if (match := _BASE.search(text, 0, 1 << 16)) else 0
    shifted = [_shifted(span, base) for span in found if span.process in trainer]
    return sorted(shifted, key=lambda span: (span.end_ns, -span.begin_ns))


def _shifted(span: Span, base_ns: int) -> Span:
    """With moments since 1970, where the trace says which moment it counts from."""
    return span._replace(begin_ns=span.begin_ns + base_ns, end_ns=span.end_ns + base_ns)


def _kind(event: _Event) -> str | None:
    return kind_of(event.span(event.name))


def _from_optimizer(events: list[_Event]) -> list[Span]:
    """A step from the end of each step of the optimizer to that of the next one."""
    ends = [event for event in events if _OPTIMIZER.fullmatch(event.name)]
    return [event.span("step", before.end_ns) for before, event in pairwise(ends)]


def _events(text: str) -> Iterator[_Event]:
    """What begins and ends and may be work of a training, in the order of the file."""
    open_at: dict[tuple[str, str], int] = {}
    for row in _objects(text):
        phase, name, begin = row.get("ph"), row.get("name"), _nanoseconds(row.get("ts"))
        if not isinstance(name, str) or begin is None or str(row.get("cat")) in _PARTS:
            continue
        thread = f"{row.get('pid')}/{row.get('tid')}"
        if phase == "B":
            open_at[thread, name] = begin
        elif phase == "E" and (thread, name) in open_at:
            yield _event(row, name, thread, open_at.pop((thread, name)), begin)
        elif phase == "X" and (took := _nanoseconds(row.get("dur"))) is not None and took >= 0:
            yield _event(row, name, thread, begin, begin + took)


def _event(row: Mapping[str, object], name: str, thread: str, begin: int, end: int) -> _Event:
    mark = _STEP.fullmatch(name)
    if mark is not None:
        return _Event(name, begin, end, thread, int(mark[1][:15]))
    args = row.get("args")
    number = str(args.get("step_num", "")) if isinstance(args, dict) else ""
    return _Event(name, begin, max(begin, end), thread, int(number[:15]) if number.isdecimal() else None)


def _nanoseconds(value: object) -> int | None:
    """A moment or a duration in microseconds; None where it is no number of a size that a clock can show."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < _EARLIEST_NS:
        return None
    return round(value * _US)


def _objects(text: str) -> Iterator[Mapping[str, object]]:
    """The objects of the list of events, one at a time: a trace may be larger than what one wants to hold at once."""
    listed = text.find('"traceEvents"')
    position, torn = text.find("{", max(listed, 0)), 0
    while position >= 0 and torn < _MOST_TORN:
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            end, torn = position + 1, torn + 1
        else:
            if isinstance(value, dict):
                yield value
        position = text.find("{", end)
