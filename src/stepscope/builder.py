"""Lines of one known format → the columns of a Run, growing line by line.

`reader.py` finds out which format it is and feeds the lines.
"""

from __future__ import annotations

import math
import re
from array import array

import numpy as np

from stepscope.formats import _notices
from stepscope.formats._base import Format, convert
from stepscope.formats._claim import claim, is_indented
from stepscope.formats._figures import SCALES, figure_ns, step_number
from stepscope.formats._prefix import Prefix
from stepscope.quote import quote
from stepscope.remarks import RemarkTrack
from stepscope.rowtimes import row_times
from stepscope.run import NO_TIME, EventTable, Floats, Ints, Notice, Run, Segment, StepTable
from stepscope.settings import Settings, Value, evaluate_constant, parse_value
from stepscope.stamptrack import StampTrack
from stepscope.units import NS

_MAX_EXCERPTS = 5_000
_MAX_EXCERPT_CHARS = 1_000
_MAX_NOTICES = 200
_MAX_UNREAD = 5
_MAX_STEP = 1 << 53
_MAX_FIGURE_S = 1e9
_EVENTS = frozenset({"evaluation", "checkpoint", "gc", "data"})
_NAMES_STEP = frozenset({"step", "batch", "epoch", "samples_per_s", *SCALES})
_NOT_SETTINGS = frozenset(
    {"path", "total", "batches", "epochs", "stamp", "unix_s", "unix_ms", "text", "step", "epoch", "batch"}
)


class RunBuilder:
    """Columns that grow line by line, for one known format."""

    def __init__(self, fmt: Format) -> None:
        self._format = fmt
        self._last_kind = 0
        self.num_lines = 0
        self._num_unread = 0
        self._first_unread: list[tuple[int, str]] = []
        self._step = array("q")
        self._figure = array("q")
        self._per = array("q")  # how many steps the figure was printed for, where the line says so
        self._ahead: dict[str, str | None] = {}  # step, epoch and batch as the lines before a step line tell them
        self._place: tuple[int, int] | None = None  # epoch and batch of the last step
        self._loss = array("d")
        self._mfu = array("d")
        self._data = array("d")  # seconds a step waited for its batch, and how much work it did, where printed
        self._work = array("d")
        self._line = array("q")
        self._t = array("q")
        self._segment_starts: list[tuple[int, bool]] = []
        self._event_kind: list[str] = []
        self._event_columns = tuple(array("q") for _ in range(6))
        self._event_loss = array("d")
        self._event_took = array("q")
        self._excerpts: dict[int, str] = {}
        self._notices: list[Notice] = []
        self._remarks = RemarkTrack()
        self._num_nonfinite = 0
        self._first_nonfinite: tuple[int, int] | None = None
        self._values: dict[str, Value] = {}
        self._config_seen = False
        self._ranks = 0
        self._batches: int | None = None
        self._epochs: int | None = None
        self._total: int | None = None
        self._starting = False  # a start line was seen since the last step
        self._bar_total: int | None = None  # of the training's bar, where bars nest
        self._is_bar_total_stated = False
        self._last_bar: int | None = None
        self._has_loss = False  # a line with the loss confirmed this segment
        self._in_traceback = False
        self._shape: re.Pattern[str] | None = None
        self._stamps = StampTrack()

    def expect_prefix(self, shape: re.Pattern[str] | None) -> None:
        """Take lines that begin like this for the trainer's own behind a prefix of a kind we do not know."""
        self._shape = shape

    def add(self, line: str) -> None:
        """Take one clean line."""
        self.num_lines += 1
        text = line.strip()
        if not text:
            return
        found = claim(self._format, text, self._last_kind)
        if found.which is None and self._shape is not None:
            known = self._shape.match(found.text)
            if known is not None and known.end() < len(found.text):
                found = claim(self._format, found.text[known.end() :], self._last_kind)._replace(prefix=found.prefix)
        if self._in_traceback and is_indented(line, found.prefix):
            kind = None if found.which is None else self._format.lines[found.which].kind
            if kind not in {"step", "evaluation"}:
                return  # the traceback's own lines: code, not log
        if found.prefix is not None:
            self._stamps.note(found.prefix)
        if found.which is None or found.match is None:
            if found.text:
                self._add_unclaimed(found.text)
            return
        if self._format.lines[found.which].kind == "step":
            self._last_kind = found.which  # what comes next is most likely another one
        self._in_traceback = False
        self._apply(found.which, found.match)

    def _apply(self, index: int, match: re.Match[str]) -> None:
        line = self._format.lines[index]
        groups = match.groupdict()
        if line.kind == "step":
            self._add_step(groups, match.string)
        elif line.kind in _EVENTS:
            self._add_event(line.kind, groups, match.string)
        elif line.kind == "setting":
            if self._step and not self._starting:
                self._unread(match.string)  # after the first step, `name = value` is nobody's config echo
            else:
                self._add_setting(groups["key"], groups["value"])
        elif line.kind == "remark":
            self._remarks.note(match.string, line=self.num_lines, row=len(self._step), t_ns=self._stamps.moment)
        elif line.kind != "chatter":
            self._add_fact(line.kind, groups)
        self._values.update(line.sets)

    def _add_step(self, groups: dict[str, str | None], text: str) -> None:
        if self._ahead:
            groups = groups | {name: told for name, told in self._ahead.items() if not groups.get(name)}
        if not groups.keys() & _NAMES_STEP:
            self._add_figures(groups)
            return
        self._learn_epoch_length(groups)
        step = step_number(groups, first_epoch=self._format.first_epoch, batches=self._batches)
        figure = self._rate_figure(groups) if groups.get("samples_per_s") else figure_ns(groups)
        self._stamps.note_inside(groups)
        if self._format.bars_nest and self._is_other_bar(groups):
            return
        timeless = figure is None and self._stamps.last is None and self._format.clock.covers != "stamp"
        if step is None or figure == -1 or timeless:
            self._unread(text)
            return
        # An epoch's number holds for all its batches, but only once for the epoch as a whole.
        spent = {"step", "batch"} if groups.get("batch") else {"step", "epoch"}
        self._ahead = {name: told for name, told in self._ahead.items() if name not in spent}
        self._note_total(groups)
        self._append(
            step,
            NO_TIME if figure is None else figure,
            _number(groups.get("loss")),
            _number(groups.get("mfu_pct")),
            per=_whole(groups.get("per_steps")) or 0,
            data=_number(groups.get("data_s")),
            work=_work(groups, figure),
        )

    def _append(
        self,
        step: int,
        figure: int,
        loss: float | None,
        mfu: float | None,
        *,
        per: int = 0,
        data: float | None = None,
        work: float = math.nan,
    ) -> None:
        """One more row at the present line and stamp."""
        row = len(self._step)
        same = self._segment_starts and row > self._segment_starts[-1][0]
        covers = self._format.clock.covers
        if same and step == self._step[-1] and (figure == self._figure[-1] or covers != "step"):
            self._set_loss(loss)  # the same step again: two writers of one process, or two states of one bar
            return
        restarts = bool(self._segment_starts) and step <= self._step[-1]
        if covers == "cumulative" and same and not self._starting and NO_TIME not in (figure, self._figure[-1]):
            # A resumed process starts its clock anew; the slower of two writers does not.
            clock_restarts = figure < self._figure[-1] // 2
            if restarts and not clock_restarts:
                return
            restarts = restarts or (clock_restarts and self._format.clock_is_process)
        if not self._segment_starts or self._starting or restarts:
            # A step number that goes back is a new process, with or without a header.
            fresh = self._starting or step == self._format.first_step or bool(self._segment_starts)
            self._segment_starts.append((row, fresh))
            self._has_loss = False
        self._starting = False
        self._step.append(step)
        self._figure.append(figure)
        self._per.append(per)
        self._loss.append(math.nan if loss is None else loss)
        self._mfu.append(mfu / 100 if mfu is not None and 0 < mfu < math.inf else math.nan)
        self._data.append(data if data is not None and 0 <= data < _MAX_FIGURE_S else math.nan)
        self._work.append(work)
        self._line.append(self.num_lines)
        # A stamp that was there before the last row already says nothing about this one.
        stamp = self._stamps.take()
        if stamp != NO_TIME and not self._t:
            self._t.extend([NO_TIME] * row)
        if self._t or stamp != NO_TIME:
            self._t.append(stamp)
        if loss is not None and not math.isfinite(loss):
            self._note_nonfinite(step)

    def _rate_figure(self, groups: dict[str, str | None]) -> int | None:
        """Samples a second make a time only where the log also tells how many samples a step takes."""
        rate, samples = _number(groups.get("samples_per_s")), self._values.get("samples_per_step")
        if not rate or not isinstance(samples, int):
            return None
        seconds = samples / rate
        return round(seconds * NS) if 0 <= seconds < _MAX_FIGURE_S else -1

    def _learn_epoch_length(self, groups: dict[str, str | None]) -> None:
        """Where no line tells how many batches an epoch has, the last batch of the first whole epoch does."""
        epoch, batch = _whole(groups.get("epoch")), _whole(groups.get("batch"))
        if epoch is None or batch is None or groups.get("batches"):
            return
        if self._place is not None and self._batches is None and epoch == self._place[0] + 1:
            self._batches = self._place[1] or None
            self._starting = self._starting or self._place[0] != self._format.first_epoch
        self._place = epoch, batch

    def _add_figures(self, groups: dict[str, str | None]) -> None:
        """What a line without a step says of the step printed last; with bars, it tells which of them is training."""
        if self._format.bars_nest and self._last_bar is not None and self._last_bar != self._bar_total:
            if self._is_bar_total_stated:
                return
            if not self._has_loss and self._segment_starts:
                self._drop_segment()  # those were the bars of something else
            self._bar_total, self._starting = self._last_bar, True
            return
        self._has_loss = True
        self._set_loss(_number(groups.get("loss")))

    def _set_loss(self, loss: float | None) -> None:
        if loss is None or not self._step or not math.isnan(self._loss[-1]):
            return
        self._loss[-1] = loss
        if not math.isfinite(loss):
            self._note_nonfinite(self._step[-1])

    def _is_other_bar(self, groups: dict[str, str | None]) -> bool:
        """Whether a bar is not the training's: it counts up to another total."""
        self._last_bar = _whole(groups.get("total"))
        if self._bar_total is None:
            self._bar_total = self._last_bar
        return self._last_bar != self._bar_total

    def _drop_segment(self) -> None:
        first, _ = self._segment_starts.pop()
        columns = (
            *(self._step, self._figure, self._per, self._loss, self._mfu),
            *(self._data, self._work, self._line, self._t),
        )
        for column in columns:
            del column[first:]
        rows = self._event_columns[1]
        for index, row in enumerate(rows):
            rows[index] = min(row, first)

    def add_rows(
        self,
        *,
        step: Ints,
        figure: Ints,
        loss: Floats,
        has_loss: np.ndarray,
        mfu: Floats,
        data: Floats,
        line: Ints,
        t_ns: Ints | None,
        prefix: Prefix | None,
    ) -> None:
        """Many rows at once, as if their lines had been added one by one."""
        if not len(step):
            return
        self._in_traceback = False
        ordinary = (
            self._segment_starts
            and not self._starting
            and step[0] > self._step[-1]
            and bool((np.diff(step) > 0).all())
            and (self._format.clock.covers != "cumulative" or self._is_rising(figure))
            and (t_ns is None) == (not self._t)
            and not (t_ns is None and self._stamps.is_new)
            and (t_ns is None or bool((t_ns != NO_TIME).all()))
        )
        if not ordinary:
            for index in range(len(step)):
                self.num_lines = int(line[index])
                if t_ns is not None and prefix is not None and t_ns[index] != NO_TIME:
                    self._stamps.note(prefix._replace(t_ns=int(t_ns[index])))
                own_loss = float(loss[index]) if has_loss[index] else None
                own_mfu = None if math.isnan(mfu[index]) else float(mfu[index])
                self._append(int(step[index]), int(figure[index]), own_loss, own_mfu, data=float(data[index]))
            return
        self._step.frombytes(step.tobytes())
        self._figure.frombytes(figure.tobytes())
        self._per.frombytes(bytes(8 * len(step)))
        self._loss.frombytes(np.where(has_loss, loss, math.nan).tobytes())
        self._mfu.frombytes(np.where((mfu > 0) & (mfu < math.inf), mfu / 100, math.nan).tobytes())
        self._data.frombytes(np.where((data >= 0) & (data < _MAX_FIGURE_S), data, math.nan).tobytes())
        self._work.frombytes(np.full(len(step), math.nan).tobytes())
        self._line.frombytes(line.tobytes())
        if t_ns is not None and prefix is not None:
            self._t.frombytes(t_ns.tobytes())
            self._stamps.note_many(t_ns, prefix)
        bad = has_loss & ~np.isfinite(loss)
        if bad.any():
            self._num_nonfinite += int(bad.sum())
            first = int(np.argmax(bad))
            self._first_nonfinite = self._first_nonfinite or (int(step[first]), int(line[first]))

    def _is_rising(self, figure: Ints) -> bool:
        return self._figure[-1] <= figure[0] and bool((np.diff(figure) >= 0).all())

    def _note_total(self, groups: dict[str, str | None]) -> None:
        """The number of the last step, where a line tells how many there are."""
        total, batches, epochs = (_whole(groups.get(name)) for name in ("total", "batches", "epochs"))
        self._batches = batches or self._batches
        self._epochs = epochs or self._epochs
        if self._batches:
            self._values["steps_per_epoch"] = self._batches
        if total is None and self._batches and self._epochs:
            total = self._batches * self._epochs
        if total is not None and total != self._total:
            self._total = total
            self._values["max_steps"] = max(0, total - 1 + self._format.first_step)

    def _add_event(self, kind: str, groups: dict[str, str | None], text: str) -> None:
        self._stamps.note_inside(groups)
        step = _whole(groups.get("step"))
        row = len(self._step)
        if self._format.events_follow_step and row:
            row -= 1
            step = self._step[-1] if step is None else step
        if groups.get("took_clock") and self._event_kind[-1:] == [kind] and self._event_columns[1][-1] == row:
            return  # two states of one bar
        segment = len(self._segment_starts) - 1
        # An event belongs to the step that follows it, and so to that step's segment.
        if self._starting or (step is not None and row and step < self._step[-1]):
            segment += 1
        if not self._segment_starts:
            segment = 0
        loss = _number(groups.get("val_loss"))
        values = (
            -1 if step is None else step,
            row,
            self.num_lines,
            self._stamps.moment,
            NO_TIME if self._stamps.before is None else self._stamps.before,
            segment,
        )
        self._event_kind.append(kind)
        for column, value in zip(self._event_columns, values, strict=True):
            column.append(value)
        self._event_loss.append(math.nan if loss is None else loss)
        took = figure_ns(
            {"dur_ms": groups.get("took_ms"), "dur_s": groups.get("took_s"), "dur_clock": groups.get("took_clock")}
        )
        self._event_took.append(NO_TIME if took is None or took < 0 else took)
        if len(self._excerpts) < _MAX_EXCERPTS:
            self._excerpts[self.num_lines] = text[:_MAX_EXCERPT_CHARS]
        losses = (loss, _number(groups.get("train_loss")))
        if step is not None and any(value is not None and not math.isfinite(value) for value in losses):
            self._note_nonfinite(step)

    def _note_nonfinite(self, step: int) -> None:
        self._num_nonfinite += 1
        self._first_nonfinite = self._first_nonfinite or (step, self.num_lines)

    def _add_setting(self, key: str, value: str) -> None:
        import ast

        self._config_seen = True
        name = self._format.canonical(key)
        text = value.strip()
        try:
            tree = ast.parse(text, mode="eval")
            parsed = evaluate_constant(tree.body, self._values)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            parsed = None
        if parsed is None:
            parsed = parse_value(text.split("#")[0])
        self._values[name] = parsed

    def _add_fact(self, kind: str, groups: dict[str, str | None]) -> None:
        if kind in {"start", "resume"}:
            if not self._starting:
                self._ranks = 0
            self._starting = True
            self._bar_total, self._is_bar_total_stated = None, False
        if groups.get("tokens_per_step") and kind == "start":
            self._ranks += 1  # every rank prints its start
            self._values["world_size"] = self._ranks
        self._ahead.update((name, groups[name]) for name in ("step", "epoch", "batch") if groups.get(name))
        self._stamps.note_inside(groups)
        self._note_total(groups)
        if groups.get("total"):
            self._bar_total, self._is_bar_total_stated = self._total, True
        for name, raw in groups.items():
            if raw is not None and name not in _NOT_SETTINGS:
                value = convert(name, raw)
                if value is not None:
                    self._values[name] = value

    def _add_unclaimed(self, text: str) -> None:
        kind = _notices.classify(text)
        if kind == "traceback":
            self._in_traceback = True
            self._notice("traceback", text)
            return
        if kind is not None:
            self._notice(kind, text)
            self._in_traceback = False
            return
        if self._in_traceback:
            exception = _notices.EXCEPTION.match(text)
            self._in_traceback = False
            if exception is not None:
                self._notice("exception", text, type_name=exception["type"].rpartition(".")[2])
                return
        self._remarks.note(text, line=self.num_lines, row=len(self._step), t_ns=self._stamps.moment)
        self._unread(text)

    def _notice(self, kind: _notices.NoticeKind, text: str, type_name: str | None = None) -> None:
        if len(self._notices) < _MAX_NOTICES:
            self._notices.append(
                Notice(kind=kind, line=self.num_lines, row=len(self._step), text=quote(text), type_name=type_name)
            )

    def _unread(self, text: str) -> None:
        self._num_unread += 1
        if len(self._first_unread) < _MAX_UNREAD:
            self._first_unread.append((self.num_lines, quote(text)))

    def run(self, *, paths: tuple[str, ...], encoding: str, mtime: float | None) -> Run:
        """A frozen copy of what has grown so far."""
        starts = self._segment_starts
        edges = [row for row, _ in starts] + [len(self._step)]
        segments = tuple(
            Segment(first_row=first, num_rows=edges[index + 1] - first, fresh=fresh)
            for index, (first, fresh) in enumerate(starts)
        )
        event_step, event_row, event_line, event_t, event_before, event_segment = map(_ints, self._event_columns)
        segment = np.repeat(np.arange(len(segments), dtype=np.int64), [s.num_rows for s in segments])
        dur_ns, span = row_times(
            self._format.clock.covers,
            step=_ints(self._step),
            figure=_ints(self._figure),
            per=_ints(self._per),
            t_ns=_ints(self._t),
            segment=segment,
            first_step=self._format.first_step,
        )
        steps = StepTable(
            step=_ints(self._step),
            dur_ns=dur_ns,
            span=span,
            loss=np.array(self._loss, dtype=np.float64),
            mfu=np.array(self._mfu, dtype=np.float64),
            data_s=np.array(self._data, dtype=np.float64),
            work=np.array(self._work, dtype=np.float64),
            line=_ints(self._line),
            t_ns=_ints(self._t),
            segment=segment,
        )
        events = EventTable(
            kind=tuple(self._event_kind),
            step=event_step,
            row=event_row,
            line=event_line,
            t_ns=event_t,
            before_ns=event_before,
            val_loss=np.array(self._event_loss, dtype=np.float64),
            took_ns=_ints(self._event_took),
            segment=event_segment,
        )
        return Run(
            paths=paths,
            format=self._format,
            encoding=encoding,
            num_lines=self.num_lines,
            num_unread=self._num_unread,
            first_unread=tuple(self._first_unread),
            steps=steps,
            events=events,
            segments=segments,
            settings=self._settings(),
            notices=tuple(self._notices),
            excerpts={**self._remarks.texts, **self._excerpts},
            remarks=self._remarks.kinds(),
            num_nonfinite=self._num_nonfinite,
            first_nonfinite=self._first_nonfinite,
            stamps=self._stamps.stamps(),
            mtime=mtime,
        )

    def _settings(self) -> Settings:
        values = dict(self._values)
        decayed, other = values.pop("decayed_parameters", None), values.pop("other_parameters", None)
        if isinstance(decayed, int) and isinstance(other, int):
            values["parameters"] = decayed + other
        settings = Settings().with_layer(values, "log")
        return settings.with_layer(self._format.defaults, "default") if self._config_seen else settings


def _whole(text: str | None) -> int | None:
    value = int(text.replace(",", "")) if text and len(text) < 24 else None
    return value if value is not None and value < _MAX_STEP else None


def _number(text: str | None) -> float | None:
    """A printed number, NaN and infinity included; None when there is none."""
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _work(groups: dict[str, str | None], figure: int | None) -> float:
    """How much a step had to do, in whatever the log counts: printed, or its rate times its time."""
    printed, rate = _number(groups.get("tokens")), _number(groups.get("tokens_per_s"))
    if printed is not None:
        return printed
    return rate * figure / NS if rate is not None and figure is not None and figure > 0 else math.nan


def _ints(column: array[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(column, dtype=np.int64)
