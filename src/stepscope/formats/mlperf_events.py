"""Files of MLPerf event lines and nothing else: the intervals between their moments, training apart from evaluation.

Where a trainer's own lines are among them, `mlperf.py` or that trainer's format reads the file as it comes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from stepscope.lines.format import Clock, Document, Format, Layout, Line, Sample

_PREFIX = rb"(?:\[\d+\] |\d+: )?"
_EVENT = re.compile(
    r"(?:\[\d+\] |\d+: )?:::(?:MLLOG (?P<json>\{.*\})\s*$|MLL (?P<t>\d{10}\.\d+) (?P<key>\w+): (?P<old>\{.*\})\s*$"
    r"|MLPv\S+ \w+ (?P<t5>\d{10}\.\d+) \([^)]*\) (?P<key5>\w+)(?:: (?P<old5>.*))?$)"
)
_ALL_EVENTS = re.compile(rb"(?:" + _PREFIX + rb":::[A-Z][^\n]*\n|[^\S\n]*\n)+")
_SNIFF_BYTES = 4096
_UNIX = (1e9, 4.2e9)
_FINE = 1000  # fractions of an epoch count in thousandths
_MAX_COUNT = 1 << 53
_ENDS = frozenset({"epoch_stop", "block_stop", "eval_start", "eval_accuracy"})
_NUMBER = r"-?[\d.]++(?:e[-+]?\d++)?"
_NAME = "mlperf_events"
_MOMENT = r" unix_s (?P<unix_s>[\d.]+)"


class _Event(NamedTuple):
    line: int
    t_s: float
    key: str
    value: object
    about: Mapping[str, object]


class _Block(NamedTuple):
    """A stretch of training: up to which count, at which moment it ended, how many seconds it took."""

    line: int
    upto: float
    t_s: float
    seconds: float
    loss: float | None


def sniff(head: bytes) -> bool:
    """Whether the first lines are events, all of them."""
    whole = head[:_SNIFF_BYTES].rpartition(b"\n")[0].lstrip() + b"\n"
    return b":::ML" in whole and _ALL_EVENTS.fullmatch(whole) is not None


def to_lines(blob: bytes) -> Iterator[str]:
    """One line per event line, so that line numbers stay the same; most lines are blank."""
    texts = blob.decode("utf-8", "replace").splitlines()
    events = [event for number, text in enumerate(texts) if (event := _parse(number, text)) is not None]
    lines: dict[int, str] = {}
    blocks = _read(events, lines)
    scale = _FINE if any(block.upto != int(block.upto) for block in blocks) else 1
    counts = [round(block.upto * scale) for block in blocks]
    gaps = [after - before for before, after in pairwise(counts)]
    # Where fractions of an epoch are counted, the first stretch is as long as the second: epochs may begin with 1.
    first = gaps[0] if scale > 1 and gaps else (counts[0] if counts else 0)
    for block, count, steps in zip(blocks, counts, [first, *gaps], strict=False):
        loss = "" if block.loss is None else f" loss {block.loss:g}"
        if steps > 0 and count < _MAX_COUNT:
            lines[block.line] = (
                f"{_NAME}: step {count} of_these {steps} dur_s {block.seconds:.3f} unix_s {block.t_s:.3f}{loss}"
            )
    for number in range(len(texts)):
        yield lines.get(number, "")


def _read(events: list[_Event], lines: dict[int, str]) -> list[_Block]:
    """The stretches of training between run_start and run_stop; lines for all other events are added to `lines`."""
    first = next((index for index, event in enumerate(events) if event.key == "run_start"), None)
    if first is None:
        return []
    last = next((index for index in range(first, len(events)) if events[index].key == "run_stop"), len(events))
    lines[events[first].line] = f"{_NAME}: start unix_s {events[first].t_s:.3f}"
    if last < len(events):
        lines[events[last].line] = f"{_NAME}: stop unix_s {events[last].t_s:.3f}"
    intervals = _Intervals(_Counting.of(events), events[first].t_s)
    for event in events[first:last]:
        count = intervals.count_of(event)
        intervals.end_block(event, count)
        evaluation = intervals.end_evaluation(event, count)
        if evaluation is not None:
            lines[event.line] = evaluation
    return intervals.blocks


class _Counting(NamedTuple):
    """What counts the steps of this file: tracked_stats where they do, else epochs, blocks and evaluations."""

    by_stats: bool
    ends_are_counted: bool  # some end of an epoch, block or evaluation has a count of its own

    @classmethod
    def of(cls, events: list[_Event]) -> _Counting:
        by_stats = any(event.key == "tracked_stats" and _number(event.about.get("step")) for event in events)
        return cls(by_stats, any(event.key in _ENDS and _count(event, 0) for event in events))

    @property
    def ends(self) -> frozenset[str]:
        """The events that end a stretch of training."""
        return frozenset({"tracked_stats"}) if self.by_stats else _ENDS


class _Intervals:
    """Makes stretches of training and evaluations out of the events, one event after the other."""

    def __init__(self, counting: _Counting, start_s: float) -> None:
        self.blocks: list[_Block] = []
        self._counting = counting
        self._training_since = start_s
        self._evaluating_since: float | None = None
        self._last_evaluated: float | None = None  # the count: several ranks may report the same evaluation
        self._epochs_per_block = 0.0
        self._uncounted_end: _Event | None = None  # the end of a block whose count only its evaluation gives

    def count_of(self, event: _Event) -> float | None:
        """What `event` counts up to; None when it has no count."""
        if event.key == "block_start":
            length = None if self._counting.ends_are_counted else _number(event.about.get("epoch_count"))
            self._epochs_per_block = length or 0.0
        return _number(event.about.get("step")) if self._counting.by_stats else _count(event, self._epochs_per_block)

    @property
    def _counted_upto(self) -> float:
        return self.blocks[-1].upto if self.blocks else -math.inf

    def end_block(self, event: _Event, count: float | None) -> None:
        """End the stretch of training here if `event` is the end of one."""
        is_training = self._evaluating_since is None
        if event.key in self._counting.ends and is_training and count and count > self._counted_upto:
            end, earlier = event, self._uncounted_end
            if earlier is not None and event.key == "eval_accuracy" and earlier.t_s > self._training_since:
                end = earlier
            self.blocks.append(_Block(end.line, count, end.t_s, end.t_s - self._training_since, _loss(event)))
            self._training_since, self._uncounted_end = end.t_s, None
        elif event.key in {"block_stop", "epoch_stop"} and not self._counting.by_stats and not count:
            self._uncounted_end = event

    def end_evaluation(self, event: _Event, count: float | None) -> str | None:
        """Begin or end an evaluation if `event` does; the line of an evaluation that has its result."""
        key, t_s, begun = event.key, event.t_s, self._evaluating_since
        if key == "eval_start":
            self._evaluating_since = t_s
        elif key == "eval_accuracy" and (count is None or count != self._last_evaluated):
            self._training_since = self._training_since if begun is None else t_s
            self._evaluating_since, self._last_evaluated = None, count
            took = "" if begun is None else f" took_s {t_s - begun:.3f}"
            value = _number(event.value)
            return f"{_NAME}: evaluation{took} unix_s {t_s:.3f}" + ("" if value is None else f" value {value:g}")
        elif key == "eval_stop" or (key in {"block_start", "epoch_start"} and begun is not None):
            self._evaluating_since, self._training_since = None, t_s
        return None


def _count(event: _Event, length: float) -> float | None:
    """What an event counts up to: samples, else epochs, else the last epoch of its block."""
    for name in ("samples_count", "epoch_num", "epoch"):
        number = _number(event.about.get(name))
        if number:
            return number
    first = _number(event.about.get("first_epoch_num"))
    return first + length - 1 if first is not None and length else None


def _loss(event: _Event) -> float | None:
    if event.key != "tracked_stats" or not isinstance(event.value, dict):
        return None
    names = (name for name in ("reduced_train_loss", "train_loss", "loss") if name in event.value)
    return _number(event.value.get(next(names, "")))


def _parse(number: int, text: str) -> _Event | None:
    match = _EVENT.match(text)
    if match is None:
        return None
    try:
        if match["json"]:
            data = json.loads(match["json"])
            t_s = _number(data.get("time_s")) or (_number(data.get("time_ms")) or 0.0) / 1e3
            key, value, about = data.get("key"), data.get("value"), data.get("metadata")
        else:
            t_s, key = float(match["t"] or match["t5"]), match["key"] or match["key5"]
            data = json.loads(match["old"] or match["old5"] or "{}")
            data = data if isinstance(data, dict) else {"value": data, "epoch": data}
            value, about = data.get("value"), data.get("metadata", data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(key, str) or not _UNIX[0] < t_s < _UNIX[1]:
        return None
    return _Event(number, t_s, key, value, about if isinstance(about, dict) else {})


def _number(value: object) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < _MAX_COUNT else None  # type: ignore[arg-type]


FORMAT = Format(
    title="MLPerf Training results",
    url="https://github.com/mlcommons/logging",
    lines=(
        Line(
            "step",
            rf"{_NAME}: step (?P<step>\d+) of_these (?P<per_steps>\d+) dur_s (?P<dur_s>[\d.]+){_MOMENT}"
            rf"(?: loss (?P<loss>{_NUMBER}))?$",
        ),
        Line("evaluation", rf"{_NAME}: evaluation(?: took_s (?P<took_s>[\d.]+))?{_MOMENT}(?: value {_NUMBER})?$"),
        Line("start", rf"{_NAME}: start{_MOMENT}$"),
        Line("fact", rf"{_NAME}: stop{_MOMENT}$"),
    ),
    clock=Clock(
        covers="window",
        includes=("data", "logging"),
        note="The time of a stretch of training from its events' moments, evaluations taken out where they have a "
        "beginning and an end of their own. A step is what the events count: steps, samples, tokens, epochs, or "
        "thousandths of an epoch. The run is from run_start to run_stop; there is neither a total nor an ETA.",
    ),
    layout=Layout(first_step=1, events_follow_step=True),
    document=Document(sniff=sniff, to_lines=to_lines),
    samples=(
        Sample(
            "mlperf_events: step 1536 of_these 384 dur_s 178.060 unix_s 1714898686.027",
            "step",
            {"step": 1536, "per_steps": 384, "dur_s": 178.06, "unix_s": 1714898686.027},
        ),
        Sample("mlperf_events: step 50 of_these 50 dur_s 9.5 unix_s 1714898686.027 loss 3.25", "step", {"loss": 3.25}),
        Sample("mlperf_events: evaluation took_s 36.960 unix_s 1714898722.987 value 0.925", "evaluation"),
        Sample("mlperf_events: start unix_s 1714897740.668", "start"),
        Sample("mlperf_events: stop unix_s 1714899369.711", "fact"),
        Sample(':::MLLOG {"namespace": "", "time_ms": 1714897740668, "key": "run_start"}', None),
    ),
)
