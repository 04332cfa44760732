"""Spans that a training recorded from inside → its Run: a row per step, with what the log says of them added.

The log may print every tenth step, round to whole seconds or say nothing at all; the spans have each step to the
microsecond. So the rows, the evaluations and the checkpoints are theirs, and the log gives losses, settings and words.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

from stepscope.core.settings import Settings
from stepscope.formats import stepscope_spans
from stepscope.lines.format import Format
from stepscope.reading.span_lane import LATE_NS, MainLane, as_printed, main_lane, printed_lane
from stepscope.run.model import NO_TIME, EventTable, Floats, Ints, Rank, Run, Segment, Stamps, StepTable
from stepscope.run.save_tails import save_tails
from stepscope.run.span_rows import OUTSIDE, WAITS, inside, joined, overlaps
from stepscope.source.span_file import Lane

FORMAT = dataclasses.replace(stepscope_spans.FORMAT, name="stepscope_spans")
# The log's own lines are the frame of the run where they cover this share of the steps' time.
_COVERS = 0.8
_STOPS = ("evaluation", "checkpoint")
# Kinds that are a training's own, at whatever time.
_WORK = ("step", *WAITS, *_STOPS, "compile")
_LOSSES = ("loss", "train_loss", "train/loss")
_VAL_LOSSES = ("val_loss", "eval_loss", "valid_loss", "validation_loss", "test_loss")


def with_spans(
    log: Run | None, lanes: Sequence[Lane], frame: tuple[int, int] | None, paths: tuple[str, ...], mtime: float | None
) -> Run | None:
    """The run as its spans show it; None where there are too few steps.

    log
        What the lines gave; None where they gave nothing.
    frame
        When the first and the last line came, where there are any.
    """
    main = main_lane(lanes)
    if main is None and frame is not None:
        main = printed_lane(lanes, log, frame[0])  # no hook tells of steps
    if main is None:
        return None
    main = as_printed(main, log)
    starts = main.starts()
    segments, is_first = _segments(main)
    first_rows = np.flatnonzero(is_first)
    ends = _row_ends(main, starts, is_first)
    stamps = _frame(frame, main)
    rows = _Rows(main, starts, ends, log, stamps.last_ns)
    run = log if log is not None else _empty(paths, mtime)
    return dataclasses.replace(
        run,
        format=_format(run, main),
        steps=StepTable(
            kept_step=main.number,
            kept_dur=rows.dur_ns(),
            spans=main.span,
            kept_loss=rows.loss(),
            kept_mfu_pct=np.full(len(starts), np.nan),
            data_s=rows.data_s(),
            work=np.full(len(starts), np.nan),
            kept_line=rows.lines,
            t_ns=main.end,
            first_rows=first_rows,
        ),
        events=rows.events(np.cumsum(is_first) - 1),
        segments=segments,
        settings=_settings(run.settings, main, lanes),
        notices=tuple(notice._replace(row=rows.row_at(notice.t_ns, notice.row, log)) for notice in run.notices),
        remarks=tuple(
            remark._replace(row=np.searchsorted(main.end, remark.t_ns)) for remark in run.remarks if len(remark.t_ns)
        ),
        stamps=stamps,
        clock_steps=(),
        tick_ns=0,
        is_interval=False,
        runtimes=(),
        ranks=_ranks(lanes),
        num_other_rows=0,
        skips=None,
    )


def _empty(paths: tuple[str, ...], mtime: float | None) -> Run:
    """A run of which no line was read."""
    none = np.zeros(0, dtype=np.int64)
    nothing = np.zeros(0)
    return Run(
        paths=paths,
        format=FORMAT,
        encoding="utf-8",
        num_lines=0,
        num_unread=0,
        first_unread=(),
        steps=StepTable(
            kept_step=none,
            kept_dur=none,
            spans=none,
            kept_loss=nothing,
            kept_mfu_pct=nothing,
            data_s=nothing,
            work=nothing,
            kept_line=none,
            t_ns=none,
            first_rows=none,
        ),
        events=EventTable(
            kind=(),
            step=none,
            row=none,
            line=none,
            t_ns=none,
            before_ns=none,
            val_loss=nothing,
            took_ns=none,
            segment=none,
        ),
        segments=(),
        settings=Settings(),
        notices=(),
        mtime=mtime,
    )


def _format(run: Run, main: MainLane) -> Format:
    """The trainer that the log shows, with the clock of the spans."""
    known = run.format if run.format.inferred is None else FORMAT
    first = 0 if int(main.number[0]) == 0 else 1
    layout = known.layout._replace(events_follow_step=True, first_step=first)
    habits = known.habits._replace(evaluates_at_first_step=None, saves_at_first_step=None)
    return dataclasses.replace(known, clock=FORMAT.clock, layout=layout, habits=habits)


def _segments(main: MainLane) -> tuple[tuple[Segment, ...], np.ndarray]:
    """Processes, and trainings within one: where the numbers go back, another training begins."""
    is_back = np.concatenate([[True], np.diff(main.number) <= 0])
    is_other = np.concatenate([[True], np.diff(main.process) != 0])
    is_first = is_back | is_other
    edges = [*np.flatnonzero(is_first).tolist(), len(main.number)]
    found, training = [], 0
    for index, (first, last) in enumerate(itertools.pairwise(edges)):
        training += bool(index and is_back[first] and int(main.number[first]) <= int(main.number[edges[index - 1]]))
        found.append(Segment(first_row=first, num_rows=last - first, fresh=True, training=training))
    return tuple(found), is_first


def _row_ends(main: MainLane, starts: Ints, is_first: np.ndarray) -> Ints:
    """Where each row ends: where the next begins, and the last of a process with its step."""
    ends = np.concatenate([starts[1:], main.end[-1:]])
    last = np.concatenate([is_first[1:], [True]])
    return np.where(last, main.end, np.maximum(ends, main.end))


def _frame(frame: tuple[int, int] | None, main: MainLane) -> Stamps:
    """From the first line to the last, where the lines cover the steps; else all that was recorded."""
    begin, end = int(main.begin[0]), int(main.end[-1])
    if frame is not None and min(end, frame[1]) - max(begin, frame[0]) >= _COVERS * (end - begin):
        first, last = frame
        # What began right after the first line was printed may have done so before we had that line.
        begins = joined(main.lanes[0].spans, ("evaluation", "checkpoint"))[:, 0]
        first = int(begins[(begins > first - LATE_NS) & (begins < first)].min(initial=first))
    else:
        # Collections while packages are imported, and when the process ends, are no part of it.
        own = [lane.spans[kind] for lane in main.lanes for kind in _WORK if len(lane.spans.get(kind, ()))]
        lines = [frame] if frame is not None else []
        first = min(*(int(spans[0, 0]) for spans in own), *(line[0] for line in lines), begin)
        last = max(*(int(spans[:, 1].max()) for spans in own), *(line[1] for line in lines), end)
        last = max(
            last, *(lane.last_ns for lane in main.lanes if any(still.kind in _STOPS for still in lane.open)), last
        )
    return Stamps(first_ns=first, last_ns=last, dated=True, zoned=True, daily=False, resolution_ns=1)


def _settings(settings: Settings, main: MainLane, lanes: Sequence[Lane]) -> Settings:
    found = {}
    lane = main.lanes[-1]
    if lane.last_step is not None:
        found["max_steps"] = lane.last_step
    elif lane.total_steps is not None:
        found["max_steps"] = lane.total_steps - (1 if int(main.number.min()) == 0 else 0)
    world = max(own.world for own in lanes)
    if world > 1:
        found["world_size"] = world
    kept = Settings({name: own for name, own in settings.items() if own.origin != "detected"})
    for name, value in found.items():
        kept = kept.replaced(name, value, "log")
    return kept


def _ranks(lanes: Sequence[Lane]) -> tuple[Rank, ...]:
    """The steps of every rank, where there are several."""
    numbers = sorted({lane.rank for lane in lanes if lane.num_steps})
    if len(numbers) < 2:
        return ()
    found = []
    for number in numbers:
        main = main_lane([lane for lane in lanes if lane.rank == number])
        if main is not None:
            starts = main.starts()
            dur_ns = _row_ends(main, starts, _segments(main)[1]) - starts
            for kind in OUTSIDE:
                dur_ns -= overlaps(main.spans(kind), starts, starts + dur_ns)
            host = main.lanes[-1].host
            found.append(Rank(number, main.number, np.maximum(dur_ns, 0), len(starts), host))
    return tuple(found)


class _Rows:
    """The columns of the rows, each worked out from the spans in it and from the log's lines at the time."""

    def __init__(self, main: MainLane, starts: Ints, ends: Ints, log: Run | None, until: int) -> None:
        self._until = until
        self._main, self._starts, self._ends, self._log = main, starts, ends, log
        self.lines = self._line_at(main.end)

    def _line_at(self, moments: Ints) -> Ints:
        """The line of the log that was printed last at each moment; 1 where there is none."""
        log = self._log
        if log is None or not len(log.steps.t_ns):
            return np.ones(len(moments), dtype=np.int64)
        is_timed = log.steps.t_ns != NO_TIME
        t_ns, lines = log.steps.t_ns[is_timed], log.steps.line[is_timed]
        if not len(t_ns):
            return np.ones(len(moments), dtype=np.int64)
        # A step's own line comes just after it.
        return np.asarray(lines[np.minimum(np.searchsorted(t_ns, moments), len(lines) - 1)], dtype=np.int64)

    def dur_ns(self) -> Ints:
        """What each step takes, without evaluations, checkpoints and compiles."""
        spans = {kind: self._main.spans(kind) for kind in (*OUTSIDE, *WAITS, "gc")}
        every = np.concatenate(
            [*(spans[kind] for kind in OUTSIDE), save_tails(self._starts, self._main.end, spans, self._until)]
        )
        own = self._ends - self._starts - overlaps(every, self._starts, self._ends)
        return np.asarray(np.maximum(own // self._main.span, 1), dtype=np.int64)

    def data_s(self) -> Floats:
        """What each step spent on its batch; NaN where no fetch was recorded."""
        waits = np.concatenate([self._main.spans(kind) for kind in WAITS])
        if not len(waits):
            return np.full(len(self._starts), np.nan)
        stops = np.concatenate([self._main.spans("evaluation"), self._main.spans("checkpoint")])
        waits = waits[~inside(waits[:, 0], stops)]
        return overlaps(waits, self._starts, self._ends) / 1e9 / self._main.span

    def loss(self) -> Floats:
        """The loss that the training reported, or that the log prints, of each step."""
        found = np.full(len(self._starts), np.nan)
        log = self._log
        if log is not None and len(log.steps):
            _, own, others = np.intersect1d(self._main.number, log.steps.step, return_indices=True)
            found[own] = log.steps.loss[others]
        for lane in self._main.lanes:
            for value in lane.values:
                loss = next((value.figures[name] for name in _LOSSES if name in value.figures), None)
                row = int(np.searchsorted(self._main.end, value.t_ns, side="right")) - 1
                if loss is not None and row >= 0:
                    found[row] = loss
        return found

    def events(self, segment: Ints) -> EventTable:
        """The evaluations and checkpoints, each in the row that it lies in."""
        found = [
            (int(begin), int(end), kind)
            for kind in ("evaluation", "checkpoint")
            for begin, end in self._main.spans(kind).tolist()
        ]
        found.sort(key=lambda item: item[1])
        begin = np.array([item[0] for item in found], dtype=np.int64)
        end = np.array([item[1] for item in found], dtype=np.int64)
        step, row = self._step_at(begin)
        return EventTable(
            kind=tuple(item[2] for item in found),
            step=step,
            row=np.asarray(row, dtype=np.int64),
            line=self.lines[row],
            t_ns=end,
            before_ns=begin,
            val_loss=self._val_losses(found),
            took_ns=end - begin,
            segment=np.asarray(segment[row], dtype=np.int64),
        )

    def _step_at(self, moments: Ints) -> tuple[Ints, Ints]:
        """The step that these moments follow, and its row: of a row that is a line, those before are known as well."""
        row = np.clip(np.searchsorted(self._starts, moments, side="right") - 1, 0, len(self._starts) - 1)
        if not self._main.is_lines:
            return self._main.number[row], row
        stops = np.concatenate([self._main.spans(kind) for kind in OUTSIDE])
        starts, ends = self._starts[row], self._main.end[row]
        before, whole = (upto - starts - overlaps(stops, starts, upto) for upto in (np.minimum(moments, ends), ends))
        span = self._main.span[row]
        left = span - np.minimum(span, np.rint(span * before / np.maximum(whole, 1))).astype(np.int64)
        return self._main.number[row] - left, np.where((left == span) & (row > 0), row - 1, row)

    def _val_losses(self, events: list[tuple[int, int, str]]) -> Floats:
        """What each evaluation found: reported at its end, or printed after it."""
        found = np.full(len(events), np.nan)
        known = [
            (value.t_ns, loss)
            for lane in self._main.lanes
            for value in lane.values
            for loss in [next((value.figures[name] for name in _VAL_LOSSES if name in value.figures), None)]
            if loss is not None
        ]
        log = self._log
        if log is not None:
            printed = log.events
            known += [
                (int(moment), float(loss))
                for kind, moment, loss in zip(printed.kind, printed.t_ns, printed.val_loss, strict=True)
                if kind == "evaluation" and moment != NO_TIME and np.isfinite(loss)
            ]
        moments = np.array([begin for begin, _, kind in events if kind == "evaluation"], dtype=np.int64)
        places = [index for index, (_, _, kind) in enumerate(events) if kind == "evaluation"]
        for moment, loss in known:
            at = int(np.searchsorted(moments, moment, side="right")) - 1
            if at >= 0:
                found[places[at]] = loss
        return found

    def row_at(self, t_ns: int, row: int, log: Run | None) -> int:
        """The row that follows a line of the log, by its time; the end stays the end."""
        if log is not None and row >= len(log.steps):
            return len(self._starts)
        return int(np.searchsorted(self._main.end, t_ns)) if t_ns != NO_TIME else 0
