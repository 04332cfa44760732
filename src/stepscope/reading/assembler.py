"""Lines of one known format → the columns of a Run, growing line by line.

`reader.py` finds out which format it is and feeds the lines; `line_claims.py` says which line of it each one is;
`growing_run.py` puts rows and events where they belong; `rules/` decides what becomes of a row; `make_run.py`
makes the Run. Lines that are read in bulk come in through `bulk/target.py`.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable

from stepscope.core.settings import Settings
from stepscope.lines.figures import CLOCK_LEFT, whole
from stepscope.lines.format import Format
from stepscope.lines.match import LOOKED_THROUGH, Claim, behind_bar, is_indented
from stepscope.lines.prefix import Prefix, split_prefix
from stepscope.reading.counted_lines import CountedLines, all_steps, counted_lines
from stepscope.reading.events import KINDS as EVENTS
from stepscope.reading.file_track import FileTrack
from stepscope.reading.growing_run import GrowingRun
from stepscope.reading.line_claims import LineClaims
from stepscope.reading.make_run import Assembled, make_run
from stepscope.reading.rows import Row
from stepscope.reading.step_line import Groups
from stepscope.run.model import NO_TIME, Notice, Run

# So much of a row shows that it is one; and how numbers of any length, and the spaces before them, look alike.
_LEAST_START, _MAX_START = 8, 2_000
_MAX_HEAD = 40  # a timestamp and a tag may come before it
_NUMBERS = re.compile(r"\s*\d+(?:\.\d*)?(?:[eE][-+]?\d*)?\s*")


def _is_start_of(text: str, row: str) -> bool:
    """Whether a text is the beginning of a row like another, whatever the numbers."""
    start, whole_row = (_NUMBERS.sub("0", each) for each in (text, row[:_MAX_START]))
    return len(start) >= _LEAST_START and 0 <= whole_row.find(start) <= _MAX_HEAD


class RunAssembler(GrowingRun):
    """Columns that grow line by line, for one known format."""

    def __init__(self, fmt: Format) -> None:
        super().__init__(fmt)
        self._lines = LineClaims(fmt)
        # The last heading of an epoch: its number, of how many, the rows.
        self._headed: tuple[int, int, int] | None = None
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
        self._lines.expect_prefix(shape)

    @property
    def has_own_prefix(self) -> bool:
        """Whether lines are expected behind a prefix of a kind we do not know."""
        return self._lines.has_own_prefix

    # -- lines --------------------------------------------------------------------------------------------

    def add(self, line: str) -> None:
        """Take one clean line."""
        self.num_lines += 1
        text = line.strip()
        if not text:
            return
        found = self._lines.claim(text)
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
            self._lines.last_kind = found.which  # what comes next is most likely another one
            self._row_text = found.text
        self.apply(found.which, found.match.groupdict(), found.match.string, found.prefix)

    def add_rows(self, rows: Iterable[Row]) -> int:
        """Take lines of rows whose numbers are known already: how many, up to one that changes which totals hold."""
        totals, num = self.totals, 0
        known, is_uneven = totals.known, totals.is_uneven
        self.file.notices.in_traceback = False
        self.bars.draw_own()
        for num, row in enumerate(rows, 1):
            self.num_lines = row.line
            self._append(row)
            if totals.known != known or totals.is_uneven != is_uneven:
                return num
        return num

    def claim(self, text: str) -> Claim:
        """Which line of the format a stripped line is."""
        return self._lines.claim(text)

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
            # `320.4 seconds used for training`: a number in front may be no timestamp.
            is_number = head.strip().replace(".", "", 1).isdigit()
            self.others.hear(head + text if is_number else text, self.num_lines)
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
        self.sample_bars.see(groups)
        if groups.get("trained"):
            self.trained = self.file.timestamps.moment
            self.step_lines.expect(groups)  # what the epoch's steps took, too
            return
        if groups.get("bar_left"):
            self._under_way = (self.sample_bars.take(groups), self.num_lines, num_rows)
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
            self.step_lines.expect(groups, self.file.timestamps.moment if self.file.timestamps.is_new else NO_TIME)
        self.file.timestamps.note_inside(groups, self.num_lines)
        self.totals.note(groups, num_rows, on_step=False)
        if groups.get("total"):
            self.bars.state(self.totals.total)
        max_steps = self._header.note(groups)
        if max_steps is not None:
            self.totals.state(max_steps, num_rows)

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
        counted = self._counted(settings)
        if "max_steps" not in settings and (total := all_steps(self._header.values, counted, len(self.so_far.rows))):
            settings = settings.with_layer({"max_steps": total}, "log")
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
            counted=counted,
            batches=self.totals.batches,
            means=self.means,
            rate_tick=self.step_lines.rate_tick,
            figure_doubt=self.step_lines.figure_doubt,
        )
        return make_run(assembled, paths=paths, encoding=encoding, mtime=mtime, is_recorded=is_recorded)

    def _counted(self, settings: Settings) -> CountedLines:
        if not self.format.layout.counts_lines:
            return CountedLines()
        done, num_rows = self.totals.epochs_done, len(self.so_far.rows)
        return counted_lines(settings, self._header.values, epochs_done=done, num_lines=num_rows)
