"""Bytes and the catalogue → Run. The last place that knows which trainer wrote the log.

`LogReader` takes bytes as they come and can be asked for the Run so far at any moment,
so a finished log, a growing one and a pipe are all read by the same code.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
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
from stepscope.reading.files import Arrangement, Head, LogPart, arrange, family
from stepscope.run.model import Run
from stepscope.source.files import Source, resolve
from stepscope.source.lines import MAX_LINE_CHARS, LineSplitter
from stepscope.source.printed_source import PrintedSource

if TYPE_CHECKING:
    from stepscope.reading.bulk import BulkReader

_DIGITS = re.compile(r"\d+")
_SHAPE_CHARS = 400
_MAX_SHAPES = 4096
_MAX_PENDING = 20_000
_SNIFF_BYTES = 4096
# How much of a file is looked at to find its place among others.
_HEAD_ROWS = 8
_TAIL_BYTES = 1 << 16
_SETTLE_BYTES = 1 << 16  # a log of no more is read line by line, and the other way is not even loaded
_LOOK_BYTES = 1 << 13  # looked at together until it is known what this is
_LOOKED_AT = 1 << 23  # bytes after which the number of rows to come is estimated
# A log without any step is still known by its header: this many different lines, and not much else beside them.
_ENOUGH_HEADER = 2
_HEADER_SHARE = 0.05
_WEAK_SHARE = 0.9

Progress = Callable[[int], None]


def read(*paths: str, progress: Progress | None = None) -> Run:
    """Read a log: a file, a folder, `-` for standard input, or several files of one run in any order.

    `progress` is called with the number of bytes read so far, about once a megabyte.
    """
    return read_sources([source for path in paths for source in _pick(path)], progress=progress)


def read_sources(sources: Sequence[Source], *, progress: Progress | None = None) -> Run:
    """Read one run from its files: ranks beside each other, parts in the order of their stamps or steps."""
    plan = Arrangement(tuple(LogPart(source, None) for source in sources), "given", ())
    if len(sources) > 1 and all(source.path is not None for source in sources):
        plan = arrange([_head(source) for source in sources])
    num_bytes = sum(source.size or 0 for source in sources)
    reader = LogReader(paths=[part.source.name for part in plan.parts], num_bytes=num_bytes)
    total = 0
    for part in plan.parts:
        reader.begin_file(part.rank)
        total += _feed(reader, part.source, lambda at: None if progress is None else progress(total + at))  # noqa: B023
        reader.end_file()
    run = reader.run(mtime=max((source.mtime for source in sources if source.mtime is not None), default=None))
    return dataclasses.replace(run, order=plan.order, repeated_paths=plan.repeated)


def _feed(reader: LogReader, source: Source, progress: Progress) -> int:
    """Let a reader have the whole of a source; how many bytes."""
    at = 0
    while True:
        for chunk in source.chunks(at):
            reader.feed(chunk)
            at += len(chunk)
            progress(at)
            if reader.wants_help and source.is_plain:
                break
        else:
            return at
        at = reader.read_on(source, at, progress)


def _pick(path: str) -> list[Source]:
    """The sources to read for one argument: of a folder, the file with the most steps, and what belongs to it."""
    sources = resolve(path)
    if len(sources) == 1:
        return sources
    heads = [(head, score) for head, score in map(_score, sources) if score is not None]
    if not heads:
        raise InputError("folder-without-log", place=path)
    best, _ = max(heads, key=lambda item: item[1])
    return [head.source for head in family(best, [head for head, _ in heads])]


def _score(source: Source) -> tuple[Head, tuple[bool, bool, bool, int] | None]:
    """The beginning of a file, and how good a log it is; None for none.

    A file with times is better than one without, then one that tells of evaluations or saves, then one that says how
    long the run is to be (a log beside its own table of steps), then the one with more steps.
    """
    try:
        run = _read_piece(source, next(iter(source.chunks()), b""))
    except InputError:
        return _blank(source), None
    # What a format claims is the log; what merely looks like one is taken where there is nothing else.
    is_claimed = run.format.inferred is None
    is_timed = run.format.is_timed and len(run) > 1
    has_events = is_claimed and len(run.events) > 0
    last = run.settings.get("max_steps")
    has_end = is_claimed and last is not None and last.origin == "log"
    score = is_claimed and is_timed, has_events, has_end, len(run) if is_claimed else min(len(run), 1)
    return _head_of(source, run), score


def _head(source: Source) -> Head:
    """The beginning of a file, and where it ends."""
    head, _ = _score(source)
    return head


def _blank(source: Source) -> Head:
    return Head(source, None, (), None, None, None, None, dated=False)


def _read_piece(source: Source, piece: bytes, fmt: Format | None = None) -> Run:
    reader = LogReader(paths=[source.name], format=fmt)
    reader.begin_file()
    reader.feed(piece)
    reader.end_file()
    return reader.run()


def _head_of(source: Source, run: Run) -> Head:
    steps = run.steps
    figures = steps.dur_ns[:_HEAD_ROWS].tolist()
    last, last_ns = (int(steps.step[-1]) if len(run) else None), run.stamps.last_ns if run.stamps else None
    tail = source.tail(_TAIL_BYTES)
    if tail and len(run):
        end = _read_piece(source, tail, run.format)
        if len(end) and end.format.layout.first_epoch == run.format.layout.first_epoch:
            last = max(int(end.steps.step[-1]), last or 0)
        last_ns = end.stamps.last_ns if end.stamps is not None else last_ns
    return Head(
        source,
        run.format.name,
        tuple(zip(steps.step[:_HEAD_ROWS].tolist(), figures, strict=True)),
        int(steps.step[0]) if len(run) else None,
        last,
        run.stamps.first_ns if run.stamps else None,
        last_ns,
        dated=bool(run.stamps and run.stamps.dated),
    )


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
        # Whoever says which format it is, and that one is a text of lines, need not be contradicted by its first bytes.
        self._is_text = format is not None and format.document is None
        # What the user taught is asked before the catalogue.
        self._taught = taught_formats() if format is None else ()
        self._pending: list[str] = []
        self._inferred: tuple[int, Format | None] | None = None
        self._candidates: dict[str, set[int]] = {}
        self._num_weak: dict[str, int] = {}
        self._num_claimed = 0
        self._shapes: dict[str, list[tuple[str, int, bool]]] = {}  # shape of a line → who claimed it, and as what
        self._num_considered = 0
        self._assembler: RunAssembler | None = RunAssembler(format) if format else None
        self._head = b""
        self._blob_format: Format | None = None
        self._bulk: BulkReader | None = None
        self._settle_bytes = settle_bytes
        self._rank: int | None = None
        self._listing = PrintedSource()

    @property
    def is_document(self) -> bool:
        """Whether the file is no text of lines: a table or a document, which is read whole when it ends."""
        return self._blob_format is not None

    def begin_file(self, rank: int | None = None) -> None:
        """Start the next file of the same run, perhaps one rank's own."""
        self._rank = rank
        self._listing = PrintedSource()
        if self._assembler is not None:
            self._assembler.begin_file(rank)
        self._splitter = LineSplitter()
        self._head = b""
        self._blob_format = None
        self._bulk = None

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the log."""
        self._num_fed += len(chunk)
        if self._blob_format is not None:
            self._head += chunk
            return
        if len(self._head) < _SNIFF_BYTES:
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
            is_known = self._assembler is not None and self._format is not None and self._listing.is_over
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
        head = self._head
        if not self._is_text and not self._is_taught(head):
            self._blob_format = detect.find_blob(head[:_SNIFF_BYTES])
        if self._blob_format is not None:
            return b""
        self._head = b"\0" * _SNIFF_BYTES  # sniffed: from now on bytes go straight on
        return head

    def _is_taught(self, head: bytes) -> bool:
        """Whether a taught format claims a line of the file's beginning: then it is a text of lines."""
        lines = head[:_SNIFF_BYTES].decode("utf-8", errors="replace").splitlines() if self._taught else []
        return any(detect.settles(fmt, line.strip()) for fmt in self._taught for line in lines if line.strip())

    @property
    def is_undecided(self) -> bool:
        """Whether too little was read to say what kind of file this is."""
        return self._blob_format is None and len(self._head) < _SNIFF_BYTES

    def ended_here(self, *, with_half_line: bool) -> LogReader:
        """A copy for which the file ends with what was read so far; a table or a document to its last byte."""
        twin = copy.deepcopy(self)
        if twin.is_undecided and not with_half_line:
            twin._head = twin._head[: twin._head.rfind(b"\n") + 1]
        twin.end_file()
        return twin

    def end_file(self) -> None:
        """The file ends here; its last line counts even without a newline."""
        if self._blob_format is None and len(self._head) < _SNIFF_BYTES:
            self._feed_text(self._sniff())
        if self._blob_format is not None and self._blob_format.document is not None:
            self._num_bytes += len(self._head)
            if self._assembler is None:
                self._format = self._blob_format
                self._assembler = RunAssembler(self._blob_format)
                self._assembler.begin_file(self._rank)
            self._take(self._blob_format.document.to_lines(self._head))
            self._head = b""
            return
        if self._bulk is not None:
            self._take(self._splitter.feed(self._bulk.take_rest()))
            self._bulk = None
        self._take(self._splitter.close())
        for line in self._listing.close():
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
            yield from self._listing.take(line)

    def _take(self, lines: Iterable[str]) -> None:
        for line in lines if self._listing.is_over else self._logged(lines):
            if self._assembler is not None:
                self._assembler.add(line)
            else:
                self._consider(line)

    def _consider(self, line: str) -> None:
        """Hold lines back until one of them tells which format this is; then read them all with it."""
        if len(self._pending) < _MAX_PENDING:
            self._pending.append(line)
            if len(self._pending) == _MAX_PENDING and self._settle_inferred():
                return
        text = line.strip()
        if not text:
            return
        self._num_considered += 1
        # Whoever did not settle a line will not settle another that differs from it in its digits only.
        shape = _DIGITS.sub("0", text[:_SHAPE_CHARS])
        claims = self._shapes.get(shape)
        if claims is None:
            claims = []
            for fmt in itertools.chain(self._taught, detect.suspects(text)):
                which = detect.telling_line(fmt, text)
                if which is None:
                    continue
                if not fmt.lines[which].weak and fmt.lines[which].kind in detect.SETTLING:
                    self._settle(fmt, text)
                    return
                claims.append((fmt.name, which, fmt.lines[which].weak))
            if len(self._shapes) < _MAX_SHAPES and len(text) <= _SHAPE_CHARS:
                self._shapes[shape] = claims
        for name, which, is_weak in claims:
            if is_weak:
                self._num_weak[name] = self._num_weak.get(name, 0) + 1
            self._candidates.setdefault(name, set()).add(which)
        self._num_claimed += bool(claims)

    def _settle(self, fmt: Format, text: str = "") -> None:
        self._format = fmt
        self._assembler = self._new_assembler(fmt)
        if text:
            self._assembler.expect_prefix(prefix_shape(claim(fmt, text)))
        pending, self._pending = self._pending, []
        for line in pending:
            self._assembler.add(line)

    def _new_assembler(self, fmt: Format) -> RunAssembler:
        if fmt.habits.schedule_pattern and self._listing.program:
            # The program itself tells what its trainer is otherwise only known for.
            grows = re.compile(fmt.habits.schedule_pattern)
            is_scheduled = any(grows.search(line) for line in self._listing.program)
            fmt = dataclasses.replace(fmt, habits=fmt.habits._replace(step_cost_follows_schedule=is_scheduled))
        assembler = RunAssembler(fmt)
        assembler.begin_file(self._rank)
        return assembler

    def _settle_inferred(self) -> bool:
        """So many lines and no format claims them: go by their structure, if it is that of a training."""
        fmt = self._plugin() or self._infer()
        if fmt is None or (self._candidates and not fmt.is_timed):
            return False
        self._settle(fmt)
        return True

    def _infer(self) -> Format | None:
        """The format that the lines so far suggest by their structure."""
        if self._inferred is None or self._inferred[0] != len(self._pending):
            from stepscope.infer.infer import infer

            self._inferred = len(self._pending), infer(self._pending)
        return self._inferred[1]

    def run(self, *, mtime: float | None = None) -> Run:
        """The Run of everything read so far."""
        assembler = self._assembler or self._assembler_so_far()
        return assembler.run(
            paths=self._paths, encoding=self._encoding or self._splitter.encoding or "utf-8", mtime=mtime
        )

    def _assembler_so_far(self) -> RunAssembler:
        """What the lines held back make when no line has told their format: nothing is settled by asking."""
        fmt = self._likeliest()
        if fmt is None:
            raise self._not_a_log()
        assembler = self._new_assembler(fmt)
        for line in self._pending:
            assembler.add(line)
        return assembler

    def _likeliest(self) -> Format | None:
        """Nothing but bars, then the structure of steps with times, then a header, then steps without times."""
        header = None
        if self._candidates:
            # No step yet, but perhaps a header that only one trainer writes. One such line may be a coincidence.
            best = max(self._candidates, key=lambda name: len(self._candidates[name]))
            fmt = next((own for own in self._taught if own.name == best), None) or detect.find_format(best)
            is_mostly_header = self._num_claimed >= _HEADER_SHARE * self._num_considered
            is_known = len(self._candidates[best]) >= _ENOUGH_HEADER and is_mostly_header
            # Nothing but bars: whose else should they be?
            has_bars = self._num_weak.get(best, 0) >= max(_ENOUGH_HEADER, _WEAK_SHARE * self._num_considered)
            if has_bars:
                return fmt
            header = fmt if is_known else None
        plugin = self._plugin()
        if plugin is not None:
            return plugin
        inferred = self._infer()
        if inferred is not None and (inferred.is_timed or header is None):
            return inferred
        return header

    def _plugin(self) -> Format | None:
        """The format of another package that claims a line, where no format of ours does."""
        plugins = detect.plugins()
        texts = [text for line in self._pending if (text := line.strip())] if plugins else []
        return next((fmt for text in texts for fmt in plugins if detect.settles(fmt, text)), None)

    def _not_a_log(self) -> InputError:
        if self._num_bytes == 0:
            return InputError("empty", place=self._place)
        first = next(((number, line) for number, line in enumerate(self._pending, 1) if line.strip()), None)
        if first is None:
            return InputError("empty", place=self._place)
        return InputError(
            "not-a-training-log", place=f"{self._place}:{first[0]}", excerpt=redact(first[1]), path=self._place
        )
