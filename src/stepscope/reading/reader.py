"""Files → Run: which files belong to the run, in which order, and reading them."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path

from stepscope.core.errors import InputError
from stepscope.reading.files import Arrangement, Head, LogPart, arrange, split_runs
from stepscope.reading.heads import Scores, read_heads
from stepscope.reading.log_reader import LogReader, Progress
from stepscope.reading.recognition import HOLD_CHARS, PIECE_BYTES
from stepscope.run.model import Run
from stepscope.source.files import Source, resolve, without_log
from stepscope.source.recording import read_exit

# What is wrong with a file that is no log of anything.
_NO_LOG = frozenset({"not-a-training-log", "binary"})


def read(*paths: str | os.PathLike[str], progress: Progress | None = None) -> Run:
    """Read a log: a file, a folder, `-` for standard input, or several files of one run in any order.

    `progress` is called with the number of bytes read so far, about once a megabyte.
    """
    picked = [_pick(os.fspath(path)) for path in paths]
    # The heads of a folder's files have been read to choose among them.
    heads = picked[0][1] if len(picked) == 1 else None
    try:
        return read_sources([source for sources, _ in picked for source in sources], heads=heads, progress=progress)
    except InputError as problem:
        # That a folder's only file is no log is no more than that: it was not the file that was asked about.
        if len(paths) == 1 and problem.key in _NO_LOG and Path(paths[0]).is_dir():
            raise without_log(Path(paths[0])) from None
        raise


def read_sources(
    sources: Sequence[Source], *, heads: Sequence[Head] | None = None, progress: Progress | None = None
) -> Run:
    """Read one run from its files: ranks next to each other, parts in the order of their stamps or steps.

    `heads` are the beginnings of the files, where they are known.
    """
    recorded = sources[0] if len(sources) == 1 and sources[0].is_recorded else None
    if recorded is None or recorded.path is None:
        return _read_lines(sources, heads, progress)
    # Imported for recordings only: a log needs none of it.
    from stepscope.reading.from_spans import with_spans
    from stepscope.source.span_file import read_lanes, recorded_frame

    lanes = read_lanes(recorded.path)
    if not lanes:
        return _read_lines(sources, heads, progress)
    # What was recorded from inside has every step; the lines may be unreadable, or none.
    log: Run | None = None
    problem: InputError | None = None
    try:
        log = _read_lines(sources, heads, progress)
    except InputError as found:
        problem = found
    run = with_spans(log, lanes, recorded_frame(recorded.path), (recorded.name,), recorded.mtime)
    if run is None and problem is not None:
        raise problem
    return run or log  # type: ignore[return-value]


def _read_lines(sources: Sequence[Source], heads: Sequence[Head] | None, progress: Progress | None) -> Run:
    plan = Arrangement(tuple(LogPart(source, None) for source in sources), "given", ())
    if len(sources) > 1 and all(source.path is not None for source in sources):
        plan = arrange(read_heads(sources) if heads is None else list(heads))
    num_bytes = sum(source.size or 0 for source in sources)
    reader = LogReader(paths=[part.source.name for part in plan.parts], num_bytes=num_bytes)
    recorded = [part.source.path for part in plan.parts if part.source.is_recorded and part.source.path is not None]
    reader.is_recorded = bool(recorded) and len(recorded) == len(plan.parts)
    reader.exit = read_exit(recorded[-1]) if recorded else None
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


def _pick(path: str) -> tuple[list[Source], list[Head] | None]:
    """The sources to read for one argument: of a folder, the file with the most steps, and what belongs to it."""
    sources = resolve(path)
    if len(sources) == 1:
        return sources, None
    heads = [(head, score) for head, score in map(Scores().score, sources) if score is not None]
    if not heads:
        raise without_log(Path(path))
    best, _ = max(heads, key=lambda item: item[1])
    # A file without a step that can be counted belongs to no run of several files.
    found = next((run for run in split_runs([head for head, _ in heads]) if best in run), [best])
    return [head.source for head in found], found
