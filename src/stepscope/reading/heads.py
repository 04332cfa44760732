"""The beginning and the end of a file, read to find its place among others: its format, first rows, last step."""

from __future__ import annotations

from collections.abc import Iterable

from stepscope.core.errors import InputError
from stepscope.lines.format import Format
from stepscope.reading.files import Head
from stepscope.reading.log_reader import LogReader
from stepscope.run.model import Run
from stepscope.source.files import Source

_HEAD_ROWS = 8
_TAIL_BYTES = 1 << 16
# A file that begins with these many bytes like so many before it, but for its digits, is one more of them.
_ALIKE_BYTES, _MANY_ALIKE, _MOST_KINDS = 256, 32, 1000
_DIGITS = bytes(48 if 48 <= byte <= 57 else byte for byte in range(256))


Score = tuple[bool, bool, bool, int]


class Scores:
    """Looks at the files of a folder one after the other.

    Of thousands, most are ranks or parts of one run: a file that begins like many before it is of their format, and
    the formats need not compete for it.
    """

    def __init__(self) -> None:
        self._alike: dict[bytes, tuple[Format, int]] = {}  # by how files begin: their format, and how many have it

    def score(self, source: Source) -> tuple[Head, Score | None]:
        """The beginning of a file, and how good a log it is; None for none."""
        piece = next(iter(source.chunks()), b"")
        key = piece[:_ALIKE_BYTES].translate(_DIGITS)
        fmt, num = self._alike.get(key, (None, 0))
        head, score, own = _score(source, piece, fmt if num >= _MANY_ALIKE else None)
        if own is None or own.document is not None or own.inferred is not None or (fmt is not None and fmt != own):
            self._alike.pop(key, None)
        elif fmt is not None or len(self._alike) < _MOST_KINDS:
            self._alike[key] = own, num + 1
        return head, score


def _score(source: Source, piece: bytes, fmt: Format | None) -> tuple[Head, Score | None, Format | None]:
    """The beginning of a file, how good a log it is, and its format.

    A file with times is better than one without, then one with evaluations or checkpoints, then one that says how
    long the run is to be (a log next to its own table of steps), then the one with more steps.
    """
    try:
        run = _read_piece(source, piece, fmt)
    except InputError:
        return _blank(source), None, None
    # What a format claims is the log; what merely looks like one is taken where there is nothing else.
    is_claimed = run.format.inferred is None
    is_timed = run.format.is_timed and len(run) > 1
    has_events = is_claimed and len(run.events) > 0
    last = run.settings.get("max_steps")
    has_end = is_claimed and last is not None and last.origin == "log"
    score = is_claimed and is_timed, has_events, has_end, len(run) if is_claimed else min(len(run), 1)
    return _head_of(source, run), score, run.format


def read_heads(sources: Iterable[Source]) -> list[Head]:
    """The beginnings of files, and where each ends."""
    scores = Scores()
    return [scores.score(source)[0] for source in sources]


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
