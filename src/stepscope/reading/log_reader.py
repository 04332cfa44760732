"""Bytes → Run: the one way for files, pipes, growing logs and pasted text.

`LogReader` takes bytes as they come and can be asked for the Run so far at any moment. `recognition.py` decides which
format it is; from then on lines go to the assembler, and those of a long log to the bulk reader.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from stepscope.catalogue import detect
from stepscope.catalogue.user_formats import taught_formats
from stepscope.core.errors import InputError
from stepscope.core.redact import redact
from stepscope.lines.format import Format
from stepscope.lines.match import claim, prefix_shape
from stepscope.reading.assembler import RunAssembler
from stepscope.reading.recognition import Recognition
from stepscope.run.model import Run
from stepscope.source.files import Source
from stepscope.source.lines import MAX_LINE_CHARS, LineSplitter
from stepscope.source.printed_source import PrintedSource

if TYPE_CHECKING:
    from stepscope.reading.bulk import BulkReader

_SNIFF_BYTES = 4096
_SETTLE_BYTES = 1 << 16  # a log of no more is read line by line, and the other way is not even loaded
_LOOK_BYTES = 1 << 13  # looked at together until it is known what this is
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
        self._paths = tuple(paths)
        self._num_expected, self._num_fed = num_bytes, 0
        self._splitter = LineSplitter()
        self._encoding: str | None = None
        self._num_bytes = 0
        self._format = format
        # A caller that names a format of lines need not be contradicted by the first bytes.
        self._is_text = format is not None and format.document is None
        self._recognition = Recognition(taught_formats() if format is None else ())
        self._assembler: RunAssembler | None = RunAssembler(format) if format else None
        self._head = b""  # the first bytes, until it is known what they are; all bytes of a document
        self._is_sniffed = False
        self._document_format: Format | None = None
        self._bulk: BulkReader | None = None
        self._settle_bytes = settle_bytes
        self._rank: int | None = None
        self._printed_source = PrintedSource()

    @property
    def is_document(self) -> bool:
        """Whether the file is no text of lines: a table or a document, which is read whole when it ends."""
        return self._document_format is not None

    def begin_file(self, rank: int | None = None) -> None:
        """Start the next file of the same run, perhaps one rank's own."""
        self._rank = rank
        self._printed_source = PrintedSource()
        if self._assembler is not None:
            self._assembler.begin_file(rank)
        self._splitter = LineSplitter()
        self._head, self._is_sniffed = b"", False
        self._document_format = None
        self._bulk = None

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the log."""
        self._num_fed += len(chunk)
        if self._document_format is not None:
            self._head += chunk
            return
        if not self._is_sniffed:
            self._head += chunk
            if len(self._head) < _SNIFF_BYTES:
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
            self._document_format = detect.find_document(head[:_SNIFF_BYTES])
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
                self._format = self._document_format
                self._assembler = RunAssembler(self._document_format)
                self._assembler.begin_file(self._rank)
            self._take(self._document_format.document.to_lines(self._head))
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
        if self._splitter.looks_binary and self._assembler is None:
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
            elif (found := self._recognition.consider(line)) is not None:
                self._settle(*found)

    def _settle(self, fmt: Format, text: str) -> None:
        """The format is known, by a line with this text or, without one, by the structure of all of them."""
        self._format = fmt
        self._assembler = self._new_assembler(fmt)
        if text:
            self._assembler.expect_prefix(prefix_shape(claim(fmt, text)))
        pending, self._recognition.pending = self._recognition.pending, []
        for line in pending:
            self._assembler.add(line)

    def _new_assembler(self, fmt: Format) -> RunAssembler:
        if fmt.habits.schedule_pattern and self._printed_source.program:
            # The program itself says what its trainer is otherwise only known for.
            grows = re.compile(fmt.habits.schedule_pattern)
            is_scheduled = any(grows.search(line) for line in self._printed_source.program)
            fmt = dataclasses.replace(fmt, habits=fmt.habits._replace(step_cost_follows_schedule=is_scheduled))
        assembler = RunAssembler(fmt)
        assembler.begin_file(self._rank)
        return assembler

    def run(self, *, mtime: float | None = None) -> Run:
        """The Run of everything read so far."""
        assembler = self._assembler or self._assembler_so_far()
        return assembler.run(
            paths=self._paths, encoding=self._encoding or self._splitter.encoding or "utf-8", mtime=mtime
        )

    def _assembler_so_far(self) -> RunAssembler:
        """What the lines held back make when none of them has shown their format: nothing is settled by asking."""
        fmt = self._recognition.likeliest()
        if fmt is None:
            raise self._not_a_log()
        assembler = self._new_assembler(fmt)
        for line in self._recognition.pending:
            assembler.add(line)
        return assembler

    def _not_a_log(self) -> InputError:
        if self._num_bytes == 0:
            return InputError("empty", place=self._place)
        first = next(((number, line) for number, line in enumerate(self._recognition.pending, 1) if line.strip()), None)
        if first is None:
            return InputError("empty", place=self._place)
        return InputError(
            "not-a-training-log", place=f"{self._place}:{first[0]}", excerpt=redact(first[1]), path=self._place
        )
