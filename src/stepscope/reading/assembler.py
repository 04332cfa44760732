"""Lines of one known format → the columns of a Run, growing line by line.

`reader.py` finds out which format it is and feeds the lines; `rules/` decides what becomes of a row; `make_run.py`
makes the Run. Lines that are read in bulk come in through `bulk/target.py`.
"""

from __future__ import annotations

import copy
import math
import re
from typing import Literal

from stepscope.core.settings import Settings
from stepscope.core.units import NS
from stepscope.lines.figures import CLOCK_LEFT, MEAN_RATE, SCALES, figure_ns, whole
from stepscope.lines.format import Format
from stepscope.lines.match import LOOKED_THROUGH, Claim, behind_bar, claim, is_indented
from stepscope.lines.prefix import Prefix, split_prefix
from stepscope.reading.bars import Bars
from stepscope.reading.counted_lines import CountedLines, counted_lines
from stepscope.reading.epoch_bars import EpochBars
from stepscope.reading.events import KINDS as EVENTS
from stepscope.reading.events import took_ns
from stepscope.reading.file_track import FileTrack
from stepscope.reading.header import HeaderSettings
from stepscope.reading.make_run import Assembled, make_run
from stepscope.reading.nested_bars import NestedBar, NestedBars
from stepscope.reading.other_lines import OtherLines
from stepscope.reading.own_events import OwnEvent, RowPlace, add_own_events, find_own_events, with_those_after
from stepscope.reading.rows import Row
from stepscope.reading.rules import rules_for_row
from stepscope.reading.rules._verdict import DROP, MERGE, NEW_CLOCK, NEW_PROCESS
from stepscope.reading.so_far import SoFar
from stepscope.reading.step_line import NAMES_STEP, NOT_A_TIME, Groups, StepLineReader, number, work_of
from stepscope.reading.totals import Totals
from stepscope.run.model import NO_TIME, Notice, Run

_MAX_CLAIMS = 64
# So much of a row shows that it is one; and how numbers of any length, and the spaces before them, look alike.
_LEAST_START, _MAX_START = 8, 2_000
_MAX_HEAD = 40  # a timestamp and a tag may come before it
_NUMBERS = re.compile(r"\s*\d+(?:\.\d*)?(?:[eE][-+]?\d*)?\s*")
# A bar's clock is in whole seconds, and the evaluation's own time is taken a little before or after it is full.
_BAR_TICK_NS, _BAR_SLACK = 2 * NS, 0.05


def _is_start_of(text: str, row: str) -> bool:
    """Whether a text is the beginning of a row like another, whatever the numbers."""
    start, whole_row = (_NUMBERS.sub("0", each) for each in (text, row[:_MAX_START]))
    return len(start) >= _LEAST_START and 0 <= whole_row.find(start) <= _MAX_HEAD


class RunAssembler:
    """Columns that grow line by line, for one known format."""

    def __init__(self, fmt: Format) -> None:
        self.num_lines = 0
        self.format = fmt
        self._last_kind = 0  # the line of the format that was matched last
        self._prefix_shape: re.Pattern[str] | None = None
        self._claims: dict[str, Claim] = {}  # of the last lines: some are printed again and again
        self._own_file = FileTrack()  # of the run's own files
        self.file = self._own_file  # of the file that is being read
        self.so_far = SoFar(fmt.clock, self.file.timestamps)
        self.totals = Totals(fmt)
        self._header = HeaderSettings(fmt)
        self.step_lines = StepLineReader(fmt, self.totals, self._header, self.so_far.rows)
        self.bars = Bars()
        self.epoch_bars = EpochBars(is_used=fmt.layout.bars_hold_evaluation)
        self.nested = NestedBars()
        self.others = OtherLines()
        self._headed: tuple[int, int, int] | None = (
            None  # the last heading of an epoch: its number, of how many, the rows
        )
        self._notices_of_ranks: list[Notice] = []  # how other ranks ended, by their own files
        self._under_way: tuple[Groups, int, int] | None = None  # an epoch's bar, its line and the rows before it
        self._row_text = ""  # of the step's line that was read last
        self._unread: tuple[int, str] = (0, "")  # the last line that was not

    # -- files --------------------------------------------------------------------------------------------

    def begin_file(self, rank: int | None) -> None:
        """The next lines come from another file of the run, perhaps one rank's own."""
        writers = self.so_far.writers
        writers.of_file = rank
        if rank is not None and writers.own_rank is None:
            writers.own_rank = rank
        if self.file.is_other_rank:
            self._notices_of_ranks += self.file.notices.notices
        is_other_rank = rank is not None and rank != writers.own_rank
        self.file = FileTrack(is_other_rank=True) if is_other_rank else self._own_file
        self.so_far.timestamps = self.file.timestamps
        self.file.notices.in_traceback = False

    def end_file(self) -> None:
        """Nothing comes after the line read last: how far the bar of an epoch has come is then a row, too.

        A row that was cut off there has not been read, so its timestamp does not count either.
        """
        line, text = self._unread
        if line == self.num_lines and _is_start_of(text, self._row_text):
            self.file.timestamps.forget_last(line)
        under_way, self._under_way = self._under_way, None
        if under_way is None or not 0 < under_way[2] == len(self.so_far.rows):
            return
        bar, line, _ = under_way
        batches, done = bar["bar_batches"], bar["bar_batch"]
        if whole(batches) != self.totals.batches or not self.step_lines.expects_epoch:
            return  # another bar's: an evaluation's
        num_lines, self.num_lines = self.num_lines, line
        self._add_step({"batch": done, "batches": batches, "per_steps": done, CLOCK_LEFT: bar["bar_left"]}, "", None)
        self.num_lines = num_lines

    def expect_prefix(self, shape: re.Pattern[str] | None) -> None:
        """Take lines that begin like this for the trainer's own behind a prefix of a kind we do not know."""
        self._prefix_shape = shape
        self._claims.clear()

    @property
    def has_own_prefix(self) -> bool:
        """Whether lines are expected behind a prefix of a kind we do not know."""
        return self._prefix_shape is not None

    # -- lines --------------------------------------------------------------------------------------------

    def add(self, line: str) -> None:
        """Take one clean line."""
        self.num_lines += 1
        text = line.strip()
        if not text:
            return
        found = self.claim(text)
        if (glued := behind_bar(text)) is not None and found.leaves(text, glued):
            # A message that did not wait for the bar's end of line.
            self.num_lines -= 1
            self.add(text[:glued])
            self.num_lines -= 1
            self.add(text[glued:])
            return
        indent = 0 if found.prefix is not None else len(line) - len(line.lstrip())
        is_inside = found.prefix is not None or indent != self.file.notices.indent
        if self.file.notices.in_traceback and is_inside and is_indented(line, found.prefix):
            kind = None if found.which is None else self.format.lines[found.which].kind
            if kind not in {"step", "evaluation"}:
                return  # the traceback's own lines: code, not log
        prefix = found.prefix
        if prefix is None and self.format.inferred is not None and found.which is not None:
            # A total is looked for anywhere in its line: behind what comes first, too.
            own = self.format.lines[found.which]
            prefix = split_prefix(text) if own.kind == "fact" and own.pattern.startswith(".{") else None
        if prefix is not None:
            of_row = found.which is not None and self.format.lines[found.which].kind == "step"
            self.file.timestamps.note(prefix, self.num_lines, of_row=of_row)
            if prefix.is_bare and prefix.rank is not None:
                self.so_far.writers.see(prefix.rank)
        if found.which is None or found.match is None:
            if found.text:
                head = text[: -len(found.text)] if found.prefix is not None else ""
                self._add_unclaimed(found.text, head=head, indent=indent)
            return
        if self.format.lines[found.which].kind == "step":
            self._last_kind = found.which  # what comes next is most likely another one
            self._row_text = found.text
        self.apply(found.which, found.match.groupdict(), found.match.string, found.prefix)

    def add_row(self, row: Row) -> None:
        """Take the line of a row whose numbers are known already."""
        self.num_lines = row.line
        self.file.notices.in_traceback = False
        self.bars.draw_own()
        self._append(row)

    def claim(self, text: str) -> Claim:
        """Which line of the format a stripped line is."""
        known = self._claims.get(text)
        if known is None:
            known = self._find_claim(text)
            if known.prefix is None:
                if len(self._claims) >= _MAX_CLAIMS:
                    self._claims.clear()
                self._claims[text] = known
        return known

    def _find_claim(self, text: str) -> Claim:
        found = claim(self.format, text, self._last_kind)
        if found.which is None and self._prefix_shape is not None:
            known = self._prefix_shape.match(found.text)
            if known is not None and known.end() < len(found.text):
                found = claim(self.format, found.text[known.end() :], self._last_kind)._replace(prefix=found.prefix)
        is_inside = found.match is not None and (found.match.start() > 0 or found.text != text)
        if is_inside and found.prefix is None and behind_bar(text) is not None:
            return Claim(None, None, None, text)  # the bar is taken off first: a timestamp may come behind it
        return found

    def apply(self, index: int, groups: Groups, text: str, prefix: Prefix | None) -> None:
        """A line that was claimed as the format's line `index`, and its groups."""
        line = self.format.lines[index]
        if self.file.is_other_rank and line.kind != "step":
            return  # the run's own rank says the rest
        self.epoch_bars.see_evaluation(groups)
        if line.kind in {"chatter", "fact"}:
            self.others.hear(text, self.num_lines)
        if line.kind == "chatter":
            if self.format.clock.is_wall:
                self.file.timestamps.note_inside(groups, self.num_lines)  # start-up and the end count
            self.others.passed.note(text, self.num_lines)
            self.file.notices.moment = self.file.timestamps.moment
            if self.file.notices.hear(text, line=self.num_lines):
                self.so_far.segments.note_end()
            self._header.values.update(line.sets)
            return
        self.file.notices.in_traceback = False
        if line.kind == "step":
            self._add_step(groups, text, prefix)
        elif line.kind in EVENTS:
            self._add_event(line.kind, groups, text, prefix)
        elif line.kind == "setting":
            self._add_setting(groups, text)
        elif line.kind == "remark":
            self.file.timestamps.note_inside(groups, self.num_lines)
            self.others.remarks.note(text, line=self.num_lines, t_ns=self.file.timestamps.moment)
        else:
            self._add_fact(index, groups)
        self._header.values.update(line.sets)

    def _add_unclaimed(self, text: str, *, head: str = "", indent: int = 0) -> None:
        """A line that the format does not know: it may speak of an end, or say why the next step is slow."""
        file, text = self.file, text[:LOOKED_THROUGH]
        if not file.is_other_rank:
            self.others.hear(text, self.num_lines)
        file.notices.moment = file.timestamps.moment
        if file.notices.take(text, line=self.num_lines, head=head, indent=indent):
            if file.notices.is_fatal:
                self.so_far.segments.note_end()
            return
        if not file.is_other_rank:
            self.others.remarks.note(text, line=self.num_lines, t_ns=file.timestamps.moment)
        self.others.note_unread(text, self.num_lines)
        self._unread = self.num_lines, text

    def _add_setting(self, groups: Groups, text: str) -> None:
        so_far = self.so_far
        if len(so_far.rows) and not so_far.segments.starting:
            self.others.note_unread(text, self.num_lines)  # after the first step, `name = value` echoes no config
            return
        name, value = self._header.echo(groups["key"] or "", groups["value"] or "")
        if name == "max_steps":
            self.totals.state(value, len(so_far.rows))

    def _begins_last_epoch_again(self, groups: Groups, num_rows: int) -> bool:
        """Whether a heading, `Epoch 1/1`, is there again after its epoch, the last of all: another call trains on."""
        epoch, epochs = whole(groups.get("epoch")), whole(groups.get("epochs"))
        if epoch is None or epochs is None:
            return False
        before, self._headed = self._headed, (epoch, epochs, num_rows)
        return epoch == epochs and before is not None and before[:2] == (epoch, epochs) and num_rows > before[2]

    def _add_fact(self, index: int, groups: Groups) -> None:
        kind, num_rows = self.format.lines[index].kind, len(self.so_far.rows)
        if groups.get("bar_left"):
            self._under_way = (groups, self.num_lines, num_rows)
            return
        if groups.get("epoch"):
            self._under_way = None  # of the epoch before
        if kind in {"start", "resume"}:
            if not self.so_far.segments.starting:
                self._header.begin()
            self.so_far.segments.launch(index, resumed=kind == "resume")
            self.bars.begin()
        if self._begins_last_epoch_again(groups, num_rows):
            self.so_far.segments.is_over = True
            self.so_far.segments.expect()
        if groups.get("train_runtime_s") and num_rows:
            self.so_far.segments.close(self.so_far.last_step, groups["train_runtime_s"] or "")
        if groups.get("tokens_per_step") and kind == "start":
            self._header.count_start()
        if groups.get("reached"):
            self._add_step_reached(whole(groups["reached"]), groups)
        else:
            self.step_lines.expect(groups)
        self.file.timestamps.note_inside(groups, self.num_lines)
        self.totals.note(groups, num_rows, on_step=False)
        if groups.get("total"):
            self.bars.state(self.totals.total)
        max_steps = self._header.note(groups)
        if max_steps is not None:
            self.totals.state(max_steps, num_rows)

    # -- steps --------------------------------------------------------------------------------------------

    def _add_step(self, groups: Groups, text: str, prefix: Prefix | None) -> None:
        own = groups.keys()
        if self.epoch_bars.is_of_evaluation(groups):
            return
        groups = self.epoch_bars.take(self.step_lines.complete(groups, self.num_lines))
        if not own & NAMES_STEP and not self.format.layout.counts_lines:
            self._add_loss_line(groups)
            return
        if self.totals.learn_epoch_length(groups, len(self.so_far.rows)):
            self.so_far.segments.expect()
        step, figure = self.step_lines.step(groups), self.step_lines.figure(groups)
        if step is None and not len(self.so_far.rows) and not groups.keys() & {"step", "epoch", "batch"}:
            step = self.format.layout.first_step  # the line with its number was not pasted
        timestamps, clock = self.file.timestamps, self.format.clock
        timestamps.note_inside(groups, self.num_lines)
        if self.format.layout.bars_nest and self.bars.draw(whole(groups.get("total"))):
            self._add_other_bar(figure, text)
            return
        is_timeless = figure is None and timestamps.last is None and not clock.is_wall
        if is_timeless and not own & {MEAN_RATE, *SCALES}:
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
            self.totals.note(groups, len(self.so_far.rows), on_step=True)
            self.others.skips.note(text, step, self.num_lines)
            if self._append(row):
                self.totals.note_progress(step, groups)
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
        self.others.note_loss(row.loss, row.step, self.num_lines)
        return True

    def _add_own_events(self, events: list[OwnEvent], text: str) -> None:
        """The evaluation and the checkpoint that the line of the row added last has."""
        so_far = self.so_far
        segment = max(0, len(so_far.segments.starts) - 1)
        stamp = self.file.timestamps.last
        place = RowPlace(len(so_far.rows) - 1, so_far.last_step, self.num_lines, segment, stamp)
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
        is_bar = bool(groups.get("took_clock") or groups.get("took_samples"))
        loss = number(groups.get("val_loss"))
        if kind == "evaluation" and took_ns(groups) is None and (took_s := self.step_lines.take_duration()) is not None:
            groups = {**groups, "took_s": f"{took_s:.9f}"}
        if kind == "evaluation" and self._is_result_of_own_bar(took_ns(groups)):
            self._disown_bar()
            last, row = None, 0
        if kind == "evaluation" and self.nested.take_result(so_far.events, took_ns(groups), loss, len(so_far.rows)):
            return
        if so_far.events.continue_last(kind, groups, row, self.num_lines, loss):
            return
        if rank in so_far.writers.ranks or so_far.events.is_repeated(kind, row, groups, rank=rank, is_bar=is_bar):
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

    def _is_result_of_own_bar(self, took: int | None) -> bool:
        """Whether the bar that was taken for the training's is full, and an evaluation took just as long as it."""
        bars, last = self.bars, self.so_far.rows.last_figure
        if took is None or not self.format.layout.bars_nest or not (bars.is_assumed and bars.is_on_own):
            return False
        is_full = self.so_far.rows.last_step == bars.total
        return is_full and last != NO_TIME and abs(took - last) <= max(_BAR_TICK_NS, _BAR_SLACK * took)

    def _disown_bar(self) -> None:
        """The rows so far are those of evaluations."""
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

    def expect_rows(self, share_read: float) -> None:
        """Make room for the rows to come, when this share of the log has been read."""
        self.so_far.rows.expect(share_read)

    # -- the Run ------------------------------------------------------------------------------------------

    def run(self, *, paths: tuple[str, ...], encoding: str, mtime: float | None, is_recorded: bool = False) -> Run:
        """A frozen copy of what has grown so far."""
        if self.so_far.writers.is_undecided:
            # Too little was read to separate ranks from line numbers: without a second look at one, they number lines.
            twin = copy.deepcopy(self)
            for held in twin.so_far.writers.dismiss_ranks():
                twin._append(held)
            return twin.run(paths=paths, encoding=encoding, mtime=mtime, is_recorded=is_recorded)
        settings = self._header.settings(self.totals)
        self.nested.settle(self.so_far.events, len(self.so_far.rows))
        assembled = Assembled(
            format=self.format,
            num_lines=self.num_lines,
            so_far=self.so_far,
            settings=settings,
            tokens_per_step=self._header.values.get("tokens_per_step"),
            others=self.others,
            own_file=self._own_file,
            notices_of_ranks=self._notices_of_ranks + (self.file.notices.notices if self.file.is_other_rank else []),
            counted=self._counted(settings),
            batches=self.totals.batches,
        )
        return make_run(assembled, paths=paths, encoding=encoding, mtime=mtime, is_recorded=is_recorded)

    def _counted(self, settings: Settings) -> CountedLines:
        if not self.format.layout.counts_lines:
            return CountedLines()
        done, num_rows = self.totals.epochs_done, len(self.so_far.rows)
        return counted_lines(settings, self._header.values, epochs_done=done, num_lines=num_rows)
