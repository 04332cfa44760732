"""Files → Run: which files belong to the run, in which order, and reading them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from stepscope.core.errors import InputError
from stepscope.reading.files import Arrangement, LogPart, arrange, family
from stepscope.reading.heads import read_head, score_file
from stepscope.reading.log_reader import LogReader, Progress
from stepscope.reading.recognition import HOLD_CHARS, PIECE_BYTES
from stepscope.run.model import Run
from stepscope.source.files import Source, resolve


def read(*paths: str, progress: Progress | None = None) -> Run:
    """Read a log: a file, a folder, `-` for standard input, or several files of one run in any order.

    `progress` is called with the number of bytes read so far, about once a megabyte.
    """
    return read_sources([source for path in paths for source in _pick(path)], progress=progress)


def read_sources(sources: Sequence[Source], *, progress: Progress | None = None) -> Run:
    """Read one run from its files: ranks next to each other, parts in the order of their stamps or steps."""
    plan = Arrangement(tuple(LogPart(source, None) for source in sources), "given", ())
    if len(sources) > 1 and all(source.path is not None for source in sources):
        plan = arrange([read_head(source) for source in sources])
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
    if reader.is_open:
        reader.foresee(source.pieces(HOLD_CHARS, PIECE_BYTES))
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
    heads = [(head, score) for head, score in map(score_file, sources) if score is not None]
    if not heads:
        raise InputError("folder-without-log", place=path)
    best, _ = max(heads, key=lambda item: item[1])
    return [head.source for head in family(best, [head for head, _ in heads])]
