"""Bytes → Run: the one way for files, pipes, growing logs and pasted text.

`LogReader` takes bytes as they come and can be asked for the Run so far at any moment. `recognition.py` decides which
format it is; from then on lines go to the assembler, and those of a long log to the bulk reader.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from stepscope.catalogue import detect
from stepscope.catalogue.taught import taught_formats
from stepscope.core.errors import InputError
from stepscope.core.redact import redact
from stepscope.lines import hints
from stepscope.lines.format import Format
from stepscope.reading.asides import MOST_BYTES, with_asides, with_echoed_total
from stepscope.reading.assembler import RunAssembler
from stepscope.reading.no_steps import assemble_end
from stepscope.reading.recognition import HOLD_CHARS, PIECE_BYTES, Recognition, Verdict
from stepscope.run.model import Candidate, Run
from stepscope.source.files import Source
from stepscope.source.lines import MAX_LINE_CHARS, LineSplitter
from stepscope.source.pasted import unfolded, without_marks
from stepscope.source.printed_source import PrintedSource
from stepscope.source.recording import Exit

if TYPE_CHECKING:
    from stepscope.reading.bulk import BulkReader

_SNIFF_BYTES = 4096
_NVIDIA_SMI = "| NVIDIA-SMI "  # how its table begins
_LONGEST_ROW = 1 << 21  # of a table: what it is shows with the first whole row
_JUDGED_BYTES = 1 << 22  # of a table, once it is there: its columns agree or disagree only over many rows
_SETTLE_BYTES = 1 << 16  # a log of no more is read line by line, and the other way is not even loaded
_HELD = HOLD_CHARS // _SETTLE_BYTES
_LOOK_BYTES = 1 << 13  # looked at together until it is known what this is
_KEPT_BYTES = 1 << 24  # of a pipe or a growing log, to be read again when its later lines favour another format
_LEAST_UNREAD = 200
_LINES_OF_DOCUMENT = 1 << 13  # given to the assembler together
_LOOKED_AT = 1 << 23  # bytes after which the number of rows to come is estimated

Progress = Callable[[int], None]


class LogReader:
    """Grows a Run from bytes. `run()` may be called at any time and does not disturb the reading."""

    def __init__(
        self,
        *,
        paths: Sequence[str] = (),
        format: Format | None = None,
        settle_bytes: int = _SETTLE_BYTES,
        num_bytes: int = 0,
    ) -> None:
        """`num_bytes` is how many are to be expected, as far as that is known."""
        self._paths = tuple(str(path) for path in paths)  # a Path from Python is one too
        self._num_expected, self._num_fed = num_bytes, 0
        self._splitter = LineSplitter()
        self._encoding: str | None = None
        self._num_bytes = 0
        self._format = format
        # A caller that names a format of lines need not be contradicted by the first bytes.
        self._is_text = format is not None and format.document is None
        self._recognition = Recognition(
            taught_formats() if format is None else (), hold_chars=_HELD * settle_bytes, adapt=self._adapted
        )
        self._candidates: tuple[Candidate, ...] = ()
        self._kept: list[bytes] | None = [] if format is None else None
        self._num_unread_seen = _LEAST_UNREAD  # lines left unread when the format was last in question
        self._assembler: RunAssembler | None = RunAssembler(format) if format else None
        self._head = b""  # the first bytes, until it is known what they are; all bytes of a document
        self._pasted = b""  # all bytes of a short log, which may be a piece that somebody pasted
        self._is_sniffed = False
        self._document_format: Format | None = None
        self._bulk: BulkReader | None = None
        self._settle_bytes = settle_bytes
        self._rank: int | None = None
        self._printed_source = PrintedSource()
        self.is_recorded = False  # whether each line comes after its arrival time, which we saw
        self.exit: Exit | None = None  # how the command ended whose output this is, where that is known

    @property
    def is_document(self) -> bool:
        """Whether the file is no text of lines: a table or a document, which is read whole when it ends."""
        return self._document_format is not None

    def begin_file(self, rank: int | None = None) -> None:
        """Start the next file of the same run, perhaps one rank's own."""
        if self._num_fed:
            self._kept = None  # of several files, only the first would be read again
        self._rank = self._recognition.rank = rank
        self._printed_source = PrintedSource()
        if self._assembler is not None:
            self._assembler.begin_file(rank)
        self._splitter = LineSplitter()
        self._head, self._is_sniffed = b"", False
        self._document_format = None
        self._bulk = None

    @property
    def is_open(self) -> bool:
        """Whether no format has been chosen yet."""
        return self._assembler is None

    def foresee(self, pieces: Iterable[bytes]) -> None:
        """Let lines from further down the file take part in choosing the format."""
        for piece in pieces:
            self._kept = None  # what comes later is known
            splitter = LineSplitter()
            self._recognition.foresee([*splitter.feed(piece), *splitter.close()])

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the log."""
        self._num_fed += len(chunk)
        if self._kept is not None:
            self._kept.append(chunk)
            if self._num_fed > _KEPT_BYTES:
                self._kept = None
        if len(self._pasted) < MOST_BYTES:
            self._pasted += chunk[: MOST_BYTES - len(self._pasted)]
        if self._document_format is not None:
            self._head += chunk
            return
        if not self._is_sniffed:
            self._head += chunk
            if len(self._head) < _SNIFF_BYTES or _is_cut_row(self._head):
                return
            chunk = self._sniff()
        self._feed_text(chunk)

    @property
    def wants_help(self) -> bool:
        """Whether so much of one kind was read that it pays to read the rest of a file with `read_on`."""
        return self._bulk is not None and self._bulk.wants_help

    def read_on(self, source: Source, start: int, progress: Progress) -> int:
        """Read on in a plain file from where the last bytes ended, with other processes; where to feed from then."""
        assert self._bulk is not None
        assert source.path is not None
        return self._bulk.read_on(source.path, start, source.size or 0, progress)

    def _feed_text(self, chunk: bytes) -> None:
        while chunk and self._bulk is None:
            # In small pieces until it is known what this is; then in bulk.
            size = min(self._settle_bytes, _LOOK_BYTES)
            piece, chunk = chunk[:size], chunk[size:]
            self._take(self._splitter.feed(piece))
            is_known = self._assembler is not None and self._format is not None and self._printed_source.is_over
            if is_known and self._num_fed > self._settle_bytes:
                rest = self._splitter.take_rest()
                if rest is not None:
                    from stepscope.reading.bulk import BulkReader

                    assert self._format is not None
                    assert self._assembler is not None
                    self._bulk = BulkReader(self._format, self._assembler, rest)
        if self._bulk is None or not chunk:
            return
        self._bulk.feed(chunk)
        if self._assembler is not None and _LOOKED_AT <= self._num_fed < self._num_expected:
            self._assembler.expect_rows(self._num_fed / self._num_expected)
            self._num_expected = 0
        if self._bulk.num_rest > MAX_LINE_CHARS:
            # A monstrous line: the ordinary way knows how to cut it.
            rest, self._bulk = self._bulk.take_rest(), None
            self._take(self._splitter.feed(rest))

    def _sniff(self) -> bytes:
        """Find out whether the file is no text of lines; give back the bytes to read as text, if any."""
        head, self._is_sniffed = self._head, True
        if not self._is_text and not self._recognition.is_user_text(head[:_SNIFF_BYTES]):
            self._document_format = detect.find_document(_whole_rows(head))
        if self._document_format is not None:
            return b""
        self._head = b""
        return head

    @property
    def is_undecided(self) -> bool:
        """Whether too little was read to say what kind of file this is."""
        return not self._is_sniffed

    def ended_here(self, *, with_half_line: bool) -> LogReader:
        """A copy for which the file ends with what was read so far; a table or a document to its last byte."""
        twin = copy.deepcopy(self)
        if twin.is_undecided and not with_half_line:
            twin._head = twin._head[: twin._head.rfind(b"\n") + 1]
        twin.end_file()
        return twin

    def end_file(self) -> None:
        """The file ends here; its last line counts even without a newline."""
        if not self._is_sniffed:
            self._feed_text(self._sniff())
        if self._document_format is not None and self._document_format.document is not None:
            self._num_bytes += len(self._head)
            if self._assembler is None:
                judged = detect.find_document(self._head[:_JUDGED_BYTES])
                if judged is not None and judged.document is not None:
                    self._document_format = judged
                self._format = self._document_format
                self._assembler = RunAssembler(self._document_format)
                self._assembler.begin_file(self._rank)
            document = self._document_format.document
            assert document is not None
            try:
                self._take_document(document.to_lines(self._head))
            except InputError as problem:
                problem.place = problem.place or self._place
                raise
            self._head = b""
            return
        if self._bulk is not None:
            self._take(self._splitter.feed(self._bulk.take_rest()))
            self._bulk = None
        self._take(self._splitter.close())
        for line in self._printed_source.close():
            self._take([line])
        self._num_bytes += self._splitter.num_bytes
        self._encoding = self._encoding or self._splitter.encoding
        if self._assembler is not None:
            self._assembler.end_file()
            self._look_again()
            return
        self._recognition, found = self._without_marks(self._recognition.verdict())
        if found is not None and found.num_rows:
            self._settle(found)
            assert self._assembler is not None
            self._assembler.end_file()
        elif self._splitter.looks_binary:
            raise InputError("binary", place=self._place)

    @property
    def _place(self) -> str:
        return ", ".join(self._paths) or "-"

    def _logged(self, lines: Iterable[str]) -> Iterator[str]:
        """The lines without the source that some programs print first."""
        for line in lines:
            yield from self._printed_source.take(line)

    def _take(self, lines: Iterable[str]) -> None:
        for line in lines if self._printed_source.is_over else self._logged(lines):
            if self._assembler is not None:
                self._assembler.add(line)
                continue
            self._recognition.consider(line)
            found = self._recognition.decide()
            if found is not None:
                self._settle(found)

    def _take_document(self, lines: Iterable[str]) -> None:
        """The lines that a document was written out as: those of a long one in bulk, where they are plain text."""
        lines = iter(lines)
        if len(self._head) <= self._settle_bytes:
            self._take(lines)
            return
        from stepscope.reading.bulk import BulkReader
        from stepscope.reading.bulk.feed_lines import feed_lines

        assert self._assembler is not None
        bulk = BulkReader(self._assembler.format, self._assembler, b"")
        while block := list(islice(lines, _LINES_OF_DOCUMENT if self._printed_source.is_over else 1)):
            if self._printed_source.is_over:
                feed_lines(bulk, block, self._take)
            else:
                self._take(block)

    def _settle(self, found: Verdict) -> None:
        """The format is known, and its assembler has read the lines that were held back."""
        self._format, self._candidates = found.format, found.candidates
        self._assembler = self._recognition.assembler(found.format)
        self._recognition.pending = []

    def _look_again(self) -> None:
        """Where most of what came since the format was chosen is not its own, let the formats compete once more."""
        if self._assembler is None or self._kept is None or self.is_document:
            return
        num_unread = self._assembler.others.num_unread
        if num_unread < max(2 * self._num_unread_seen, len(self._assembler.so_far.rows)):
            return
        self._num_unread_seen = num_unread
        data = b"".join(self._kept)
        again = LogReader(paths=self._paths, settle_bytes=self._settle_bytes)
        again.begin_file(self._rank)
        middle = (HOLD_CHARS + len(data)) // 2
        places = (middle, max(middle + PIECE_BYTES, len(data) - PIECE_BYTES))
        again.foresee(data[at : at + PIECE_BYTES].partition(b"\n")[2] for at in places)
        again.feed(data)
        if again._assembler is None or again._format is None or again._format.name == self._assembler.format.name:
            return
        again._kept, again._num_unread_seen = self._kept, num_unread
        self.__dict__.update(again.__dict__)
        self._recognition.adapt = self._adapted

    def _adapted(self, fmt: Format) -> Format:
        """A format, with what the program itself says of what its trainer is otherwise only known for."""
        if not fmt.habits.schedule_pattern or not self._printed_source.program:
            return fmt
        grows = re.compile(fmt.habits.schedule_pattern)
        is_scheduled = any(grows.search(line) for line in self._printed_source.program)
        return dataclasses.replace(fmt, habits=fmt.habits._replace(step_cost_follows_schedule=is_scheduled))

    def run(self, *, mtime: float | None = None) -> Run:
        """The Run of everything read so far."""
        self._look_again()
        assembler, candidates = self._assembler, self._candidates
        if assembler is None:
            assembler, candidates = self._verdict_so_far()
        encoding = self._encoding or self._splitter.encoding or "utf-8"
        run = assembler.run(paths=self._paths, encoding=encoding, mtime=mtime, is_recorded=self.is_recorded)
        is_short = self._num_fed <= MOST_BYTES and not self.is_document and len(self._paths) <= 1
        run = dataclasses.replace(run, candidates=candidates, exit=self.exit)
        if is_short:
            run = with_asides(run, self._pasted)
        return run if self.is_document or len(self._paths) > 1 else with_echoed_total(run, self._pasted)

    def _verdict_so_far(self) -> tuple[RunAssembler, tuple[Candidate, ...]]:
        """What the lines held back make. Nothing is settled by asking: the next lines may favour another format."""
        found = self._recognition.verdict()
        if found is not None:
            return self._recognition.assembler(found.format), found.candidates
        has_failed = self.exit is not None and self.exit.code != 0
        ended = assemble_end(self._recognition.pending, self._rank, has_failed=has_failed)
        if ended is None:
            raise self._not_a_log()
        return ended, ()

    def _without_marks(self, found: Verdict | None) -> tuple[Recognition, Verdict | None]:
        """The verdict on a short log without the marks of a forum, where those hid step lines; else the one at hand."""
        lines = self._recognition.pending
        if self._num_fed > MOST_BYTES or self._printed_source.program:
            return self._recognition, found
        plain = [row for line in lines for row in unfolded(without_marks(line))]
        if plain == lines:
            return self._recognition, found
        again = Recognition(taught_formats(), hold_chars=MOST_BYTES, adapt=self._adapted)
        again.rank = self._recognition.rank
        for line in plain:
            again.consider(line)
        verdict = again.verdict()
        if verdict is None or (found is not None and verdict.num_rows < found.num_rows):
            return self._recognition, found
        is_better = found is None or verdict.num_rows > found.num_rows or found.format.inferred is not None
        if found is not None and not is_better:
            # As many lines are steps, but a mark can hide what one of them says.
            own, other = self._recognition.account(found.format), again.account(verdict.format)
            is_better = (other.num_rows, -other.num_unread) > (own.num_rows, -own.num_unread)
        return (again, verdict) if is_better else (self._recognition, found)

    def _not_a_log(self) -> InputError:
        if self._num_bytes == 0:
            return InputError("empty", place=self._place)
        lines = [(number, line) for number, line in enumerate(self._recognition.pending, 1) if line.strip()]
        if not lines:
            return InputError("empty", place=self._place)
        table = next(((number, line) for number, line in lines if _NVIDIA_SMI in line), None)
        if table is not None:
            place = f"{self._place}:{table[0]}"
            return InputError("nvidia-smi-table", place=place, excerpt=redact(table[1]), path=self._place)
        # That it is no training log is said only where no line looks like one of a training.
        like = next(((number, line) for number, line in lines if hints.may_be_step(line)), None)
        first = lines[0] if like is None else like
        return InputError(
            "not-a-training-log" if like is None else "no-format-fits",
            place=f"{self._place}:{first[0]}",
            excerpt=redact(first[1]),
            path=self._place,
        )


def _is_cut_row(head: bytes) -> bool:
    """Whether a file begins with a JSON row that is not yet there as a whole."""
    return head[:1] == b"{" and b"\n" not in head and len(head) < _LONGEST_ROW


def _whole_rows(head: bytes) -> bytes:
    """The first bytes of a file; more of them where its first rows are longer."""
    at = head.find(b"\n")
    return head[: max(_SNIFF_BYTES, 4 * at)]
