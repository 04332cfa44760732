"""What grows while a log is read: rows, evaluations and checkpoints, each put where it belongs.

`assembler.py` says which line is one of them; `rules/` decides what becomes of a row.
"""

from __future__ import annotations

import math
from typing import Literal

from stepscope.core.units import NS
from stepscope.lines.figures import MEAN_RATE, SCALES, WORK, figure_ns, whole
from stepscope.lines.format import Format
from stepscope.lines.prefix import Prefix
from stepscope.reading.bars import Bars
from stepscope.reading.epoch_bars import EpochBars
from stepscope.reading.epoch_means import EpochMeans
from stepscope.reading.events import label_of, took_ns
from stepscope.reading.file_track import FileTrack
from stepscope.reading.header import HeaderSettings
from stepscope.reading.nested_bars import NestedBar, NestedBars
from stepscope.reading.other_lines import OtherLines
from stepscope.reading.own_events import OwnEvent, RowPlace, add_own_events, find_own_events, with_those_after
from stepscope.reading.rest_of_epoch import RestOfEpoch
from stepscope.reading.rows import Row
from stepscope.reading.rules import rules_for_row
from stepscope.reading.rules._verdict import DROP, MERGE, NEW_CLOCK, NEW_PROCESS
from stepscope.reading.sample_bars import SampleBars
from stepscope.reading.so_far import SoFar
from stepscope.reading.step_line import NAMES_STEP, NOT_A_TIME, Groups, StepLineReader, number, work_of
from stepscope.reading.totals import Totals
from stepscope.run.model import NO_TIME

# A bar's clock is in whole seconds, and the evaluation's own time is taken a little before or after it is full.
_BAR_TICK_NS, _BAR_SLACK = 2 * NS, 0.05
_LEAST_STEP_NS = 5_000_000  # a model of a Trainer takes longer for a step, and a loop over its texts does not


class GrowingRun:
    """Rows and events of one known format, as its lines say them."""

    def __init__(self, fmt: Format) -> None:
        self.num_lines = 0
        self.format = fmt
        self._own_file = FileTrack()  # of the run's own files
        self.file = self._own_file  # of the file that is being read
        self.so_far = SoFar(fmt.clock, self.file.timestamps)
        self.totals = Totals(fmt)
        self.means = EpochMeans()
        self._header = HeaderSettings(fmt)
        self.step_lines = StepLineReader(fmt, self.totals, self._header, self.so_far.rows)
        self.rest_of_epoch = RestOfEpoch(fmt, self.totals, self.so_far.rows)
        self.bars = Bars()
        self.epoch_bars = EpochBars(is_used=fmt.layout.bars_hold_evaluation)
        self.sample_bars = SampleBars()
        self.nested = NestedBars()
        self.others = OtherLines()
        self.trained: int | None = None  # when the line came that says that the training of an epoch is done

    def _add_step(self, groups: Groups, text: str, prefix: Prefix | None) -> None:
        own = groups.keys()
        if self.epoch_bars.is_of_evaluation(groups) or self.rest_of_epoch.is_known(groups):
            return
        groups = self.epoch_bars.take(self.sample_bars.take(self.step_lines.complete(groups, self.num_lines)))
        if not own & NAMES_STEP and not self.format.layout.counts_lines:
            self._add_loss_line(groups)
            return
        if self.format.layout.counts_lines and self.step_lines.is_echo(groups, text):
            return
        if self.totals.learn_epoch_length(groups, len(self.so_far.rows)):
            self.so_far.segments.expect()
        step, figure = self.step_lines.step(groups), self.step_lines.figure(groups)
        figure = self.rest_of_epoch.figure(groups, step, figure)
        if step is None and not len(self.so_far.rows) and not groups.keys() & {"step", "epoch", "batch"}:
            step = self.format.layout.first_step  # the line with its number was not pasted
        timestamps, clock = self.file.timestamps, self.format.clock
        timestamps.note_inside(groups, self.num_lines)
        if self.format.layout.bars_nest and self._is_behind_preparation(whole(groups.get("total"))):
            self._disown_bar()
        if self.format.layout.bars_nest and self.bars.draw(whole(groups.get("total"))):
            self._add_other_bar(figure, text)
            return
        is_timeless = figure is None and timestamps.last is None and not clock.is_wall
        if is_timeless and not own & {MEAN_RATE, WORK, *SCALES}:
            self.others.note_unread(text, self.num_lines)  # its time should be on the line before it, and was not
            return
        if step is None or figure == NOT_A_TIME or (is_timeless and not clock.is_sum):
            self.others.note_unread(text, self.num_lines)
            return
        self.step_lines.spend(groups)
        events = find_own_events(groups)
        row = Row(
            step,
            with_those_after(figure, events),
            number(groups.get("loss")),
            number(groups.get("mfu_pct")),
            per=whole(groups.get("per_steps")) or 0,
            line=self.num_lines,
            # A timestamp that was there before the last row already says nothing about this one.
            stamp=timestamps.take(),
            is_stamp_lent=prefix is None or prefix.t_ns is None,
            data=number(groups.get("data_s")),
            work=work_of(groups, figure),
        )
        if self.file.is_other_rank:
            self.file.notices.notices.clear()  # whatever was said before, this rank went on
        if not self._is_other_rank(row, prefix):
            self.rest_of_epoch.note(groups.get("epoch"), step, figure)
            self.totals.note(groups, len(self.so_far.rows), on_step=True)
            self.others.skips.note(text, step, self.num_lines)
            if self._append(row):
                self.totals.note_progress(step, groups)
                self.means.note(groups, len(self.so_far.rows) - 1, step)
                self._add_own_events(events, text)

    def _add_other_bar(self, figure: int | None, text: str) -> None:
        """A bar that is not the training's: an evaluation, if the training's goes on behind it."""
        so_far = self.so_far
        segment = max(0, len(so_far.segments.starts) - 1)
        bar = NestedBar(self.bars.last, self.num_lines, len(so_far.rows), segment, figure or 0, text)
        self.nested.draw(bar, so_far.events)

    def _is_other_rank(self, row: Row, prefix: Prefix | None) -> bool:
        """Whether a row is another rank's; then it is kept next to the run, or held until that is certain."""
        writers = self.so_far.writers
        is_bare = prefix is not None and prefix.is_bare
        rank = writers.writer(prefix.rank if prefix is not None else None, is_bare=is_bare)
        if rank is None:
            return False
        if is_bare and writers.are_line_numbers(row.step):
            for held in writers.dismiss_ranks():
                self._append(held)
            return False
        if not writers.takes_rank(rank, row.step, row.figure, row.stamp):
            return False
        if is_bare and not writers.are_bare_ranks:
            writers.held.append(row)
        return True

    def _append(self, row: Row) -> bool:
        """One more row of the run's own, if the rules keep it; whether they did."""
        so_far = self.so_far
        for rule in rules_for_row(row, so_far):
            verdict = rule.judge(row, so_far)
            if verdict is None:
                continue
            if verdict == DROP:
                return False
            if verdict == MERGE:
                self.set_loss(row.loss)
                if self.format.clock.is_wall:
                    so_far.rows.complete_stamp(row)
                return False
            if isinstance(verdict, Row):
                row = verdict
            else:
                self._begin_segment(row, verdict)
            break
        so_far.segments.forget_announcements()
        so_far.rows.append(row)
        if row.loss is not None:
            self.others.note_loss(row.loss, row.step, self.num_lines)
        return True

    def _add_own_events(self, events: list[OwnEvent], text: str) -> None:
        """The evaluation and the checkpoint that the line of the row added last has."""
        so_far = self.so_far
        segment = max(0, len(so_far.segments.starts) - 1)
        stamp = self.file.timestamps.last
        trained, self.trained = self.trained, None
        place = RowPlace(len(so_far.rows) - 1, so_far.last_step, self.num_lines, segment, stamp, trained)
        add_own_events(so_far.events, events, place, text)

    def _begin_segment(self, row: Row, verdict: Literal["new process", "new clock"]) -> None:
        so_far, segments, at = self.so_far, self.so_far.segments, len(self.so_far.rows)
        first, last = self.format.layout.first_step, so_far.last_step
        if verdict == NEW_CLOCK:
            segments.begin(at, row.step, last, spacing=0, first=first, totals=self.totals)
            return
        assert verdict == NEW_PROCESS
        is_first, spacing = not segments.starts, so_far.spacing
        so_far.doubtful = None if is_first or so_far.is_announced else (last, spacing)
        so_far.writers.other = None
        before = None if is_first else last
        is_new = segments.begin(at, row.step, before, spacing=spacing, first=first, totals=self.totals)
        if is_new and not is_first:
            self.totals.begin_training(at)
        self.bars.has_loss = False

    def _add_loss_line(self, groups: Groups) -> None:
        """A line without a step has the loss of the step printed last; with bars, it shows which is the training's."""
        bars, so_far = self.bars, self.so_far
        if self.format.layout.bars_nest and not (bars.is_on_own or bars.is_on_disowned):
            if bars.is_stated:
                return
            if not bars.has_loss and so_far.segments.starts:
                so_far.drop_segment()  # those were the bars of something else
            bars.take_last()
            so_far.segments.expect()
            return
        bars.has_loss = True
        self.set_loss(number(groups.get("loss")))

    def set_loss(self, loss: float | None) -> None:
        """The loss of the last row, where its own line has none."""
        rows = self.so_far.rows
        last = rows.last_step
        if loss is None or last is None or not math.isnan(rows.last_loss):
            return
        rows.last_loss = loss
        self.others.note_loss(loss, last, self.num_lines)

    # -- events -------------------------------------------------------------------------------------------

    def _add_event(self, kind: str, groups: Groups, text: str, prefix: Prefix | None) -> None:
        so_far, timestamps = self.so_far, self.file.timestamps
        timestamps.note_inside(groups, self.num_lines)
        if so_far.copied_row is not None:
            return  # read before
        step = whole(groups.get("step"))
        is_new = self._add_step_reached(step, groups)
        last, row = so_far.rows.last_step, len(so_far.rows)
        if self.format.layout.events_follow_step and row:
            row -= 1
            step = last if step is None else step
        is_bare = prefix is not None and prefix.is_bare
        rank = so_far.writers.writer(prefix.rank if prefix is not None else None, is_bare=is_bare)
        is_bar = groups.get("took_clock") or groups.get("took_samples")
        bar = f"{label_of(text)} {groups.get('took_samples')}" if is_bar else None  # of another total: another bar
        loss = number(groups.get("val_loss"))
        if kind == "evaluation" and took_ns(groups) is None and (took_s := self._evaluation_took()) is not None:
            groups = {**groups, "took_s": f"{took_s:.9f}"}
        if kind == "evaluation" and self._is_result_of_own_bar(took_ns(groups)):
            self._disown_bar()
            last, row = None, 0
        if kind == "evaluation" and self.nested.take_result(so_far.events, took_ns(groups), loss, len(so_far.rows)):
            return
        if so_far.events.continue_last(kind, groups, row, loss) or so_far.events.is_same_again(kind, groups, row, loss):
            return
        if rank in so_far.writers.ranks or so_far.events.is_repeated(kind, row, groups, rank=rank, bar=bar):
            return
        starts = so_far.segments.starts
        segment = max(0, len(starts) - 1)
        # An event belongs to the step that follows it, and so to that step's segment.
        if starts and (so_far.segments.starting or (step is not None and last is not None and row and step < last)):
            segment += 1
        so_far.events.add(
            kind,
            groups,
            step=step,
            row=row,
            line=self.num_lines,
            stamp=timestamps.last,
            before=timestamps.before,
            segment=segment,
            loss=loss,
            rank=rank,
            text=text,
            # A running clock on the event's own line holds the event, if it runs during it.
            is_on_row=is_new and self.format.clock.runs_during(kind),
        )
        losses = (loss, number(groups.get("train_loss")))
        if step is not None and any(value is not None and not math.isfinite(value) for value in losses):
            self.others.note_nonfinite(1, (step, self.num_lines), (step, self.num_lines))

    def _evaluation_took(self) -> float | None:
        """The seconds that the lines before an evaluation's tell, or their timestamps."""
        timestamps = self.file.timestamps
        since = self.step_lines.take_since(timestamps.moment) if timestamps.is_new else None
        stated = self.step_lines.take_duration()
        return since if stated is None else stated

    def _is_result_of_own_bar(self, took: int | None) -> bool:
        """Whether the bar that was taken for the training's is full, and an evaluation took just as long as it."""
        bars, last = self.bars, self.so_far.rows.last_figure
        if took is None or not self.format.layout.bars_nest or not (bars.is_assumed and bars.is_on_own):
            return False
        is_full = self.so_far.rows.last_step == bars.total
        return is_full and last != NO_TIME and abs(took - last) <= max(_BAR_TICK_NS, _BAR_SLACK * took)

    def _is_behind_preparation(self, total: int | None) -> bool:
        """Whether another bar begins after the one taken for the training's ran full faster than any model trains."""
        bars, last = self.bars, self.so_far.rows.last_figure
        if total == bars.total or not (bars.is_assumed and bars.is_on_own) or last == NO_TIME:
            return False
        return self.so_far.rows.last_step == bars.total and last + _BAR_TICK_NS < _LEAST_STEP_NS * (bars.total or 0)

    def _disown_bar(self) -> None:
        """The rows so far are those of something else: of evaluations, of a preparation."""
        so_far = self.so_far
        while so_far.segments.starts and so_far.last_step <= (self.bars.total or 0):
            so_far.drop_segment()
        self.bars.disown()
        so_far.segments.expect()

    def _add_step_reached(self, step: int | None, groups: Groups) -> bool:
        """The line of an event or of the end with a running clock is a step's line too, where the step has none."""
        if step is None or not self.format.clock.is_running:
            return False
        rows, figure = self.so_far.rows, figure_ns(groups)
        last = self.format.layout.first_step - 1 if rows.last_step is None else rows.last_step
        if figure is not None and figure >= 0 and step > last:
            self.totals.note(groups, len(rows), on_step=True)
            stamp = self.file.timestamps.take()
            return self._append(Row(step, figure, None, None, per=0, line=self.num_lines, stamp=stamp))
        return False
