"""Which runs a candidate or a folder holds: files become runs in one place, for one folder as for a whole fleet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path, PurePath
from typing import NamedTuple

from stepscope.reading.files import Head, same_text, split_runs
from stepscope.reading.heads import Scores, read_heads
from stepscope.source.candidates import Candidate, candidates
from stepscope.source.files import Source
from stepscope.source.listing import listings
from stepscope.source.mlflow import last_written
from stepscope.source.recording import LOG

# Candidates that are known by name at a time: of more, the newest are those of the folders that were met first.
_MOST_CANDIDATES = 20_000
# What trainers write their figures to besides what they print.
_TABLES = frozenset({".jsonl", ".json", ".csv", ".tsv"})


class FoundRun(NamedTuple):
    """The files of one run, and their beginnings; None where nobody has looked at them."""

    sources: tuple[Source, ...]
    heads: tuple[Head, ...] | None

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(source.size or 0 for source in self.sources)

    @property
    def mtime(self) -> float:
        """When the last of its files was written, as Unix seconds."""
        return max((source.mtime or 0.0 for source in self.sources), default=0.0)


class FolderRuns(NamedTuple):
    """The newest runs below a folder, and the number of files that may be older ones and were not looked at."""

    runs: tuple[FoundRun, ...]
    num_unseen: int


def runs_below(folder: str, *, most: int, note: Callable[[str], None] = lambda _: None) -> FolderRuns:
    """The newest `most` runs below a folder, newest first; `note` is called for each folder that cannot be read."""
    names = (found for listing in listings(folder, note) for found in candidates(listing))
    waiting = sorted(islice(names, _MOST_CANDIDATES), key=lambda one: -max(file.mtime for file in one.files))
    scores, found = Scores(), list[FoundRun]()
    num_seen = 0
    for candidate in waiting:
        if len(found) > most:
            break
        num_seen += 1
        for run in _looked_at(candidate, scores):
            _add(run, found)
    found = sorted(_without_shown_elsewhere(found), key=lambda run: -run.mtime)
    num_unseen = sum(len(candidate.files) for candidate in waiting[num_seen:])
    shown = tuple(_named_below(run, folder) for run in found[:most])
    return FolderRuns(shown, num_unseen + sum(len(run.sources) for run in found[most:]))


def _named_below(run: FoundRun, folder: str) -> FoundRun:
    """The run with its files called by the path of the folder as it was given."""
    root = Path(folder).absolute()

    def named(source: Source) -> Source:
        return source._replace(name=str(Path(folder) / Path(source.name).relative_to(root)))

    heads = tuple(head._replace(source=named(head.source)) for head in run.heads or ())
    return FoundRun(tuple(map(named, run.sources)), heads if run.heads is not None else None)


def runs_of(candidate: Candidate, look: Callable[[list[Source]], list[Head]] = read_heads) -> Iterator[FoundRun]:
    """The runs of a candidate, files that nobody can read last; `look` reads the beginnings of its files."""
    sources = sources_of(candidate)
    if len(sources) == 1:
        yield FoundRun((sources[0],), None)
        return
    yield from _split(look(sources))


def _looked_at(candidate: Candidate, scores: Scores) -> Iterator[FoundRun]:
    """The runs of a candidate without the files that are no log of a training."""
    sources = sources_of(candidate)
    if candidate.kind in {"mlflow", "recorded"}:
        yield FoundRun(tuple(sources), None)
        return
    heads = [head for head, score in map(scores.score, sources) if score is not None]
    yield from _split(heads)


def _split(heads: list[Head]) -> Iterator[FoundRun]:
    runs = split_runs(heads)
    claimed = {head.source.name for run in runs for head in run}
    for run in _without_side_tables(runs):
        yield FoundRun(tuple(head.source for head in run), tuple(run))
    # A file that holds no run is worth a word where it could have been one: alone, or called like a log.
    for head in heads:
        if head.source.name not in claimed and (not runs or _is_called_log(head.source.name)):
            yield FoundRun((head.source,), None)


def _without_side_tables(runs: list[list[Head]]) -> list[list[Head]]:
    """The runs without those that are another one's figures again in another format: a table next to its log."""
    kept: list[list[Head]] = []
    for run in sorted(runs, key=lambda run: -sum(head.source.size or 0 for head in run)):
        if not any(_is_same_run(run[0], other[0]) for other in kept):
            kept.append(run)
    return kept


def _is_same_run(one: Head, other: Head) -> bool:
    """Whether files of two formats end at the same step, or a log and a table of its steps are called alike."""
    if one.last_step is None or other.last_step is None:
        return False
    stems = {Path(head.source.name).name.partition(".")[0] for head in (one, other)}
    if one.format == other.format:
        num = min(len(one.rows), len(other.rows))
        is_table = {Path(head.source.name).suffix.lower() in _TABLES for head in (one, other)}
        return len(stems) == 1 and len(is_table) == 2 and one.steps[:num] == other.steps[:num]
    return _is_level(one, other) or len(stems) == 1


def _is_level(one: Head, other: Head) -> bool:
    spacing = max((head.steps[1] - head.steps[0] for head in (one, other) if len(head.rows) > 1), default=1)
    first, second = one.last_step or 0, other.last_step or 0
    return abs(first - second) <= 2 * max(1, spacing) and first > 0


def _add(run: FoundRun, found: list[FoundRun]) -> None:
    """Add a run unless its lines are known: what a trainer copies into each checkpoint is its log so far."""
    heads = run.heads or ()
    for place, other in enumerate(found):
        if heads and other.heads and same_text(heads[0], other.heads[0]):
            if (heads[0].last_step or 0) > (other.heads[0].last_step or 0):
                found[place] = run
            return
    found.append(run)


def _without_shown_elsewhere(runs: list[FoundRun]) -> list[FoundRun]:
    """The runs without those whose figures a file of a folder above or below holds in another format."""
    kept: list[FoundRun] = []
    for run in sorted(runs, key=lambda run: -run.size):
        if not any(_are_nested(run, other) and _is_one(run, other) for other in kept):
            kept.append(run)
    return kept


def _is_one(run: FoundRun, other: FoundRun) -> bool:
    if not run.heads or not other.heads or run.heads[0].format == other.heads[0].format:
        return False
    return run.heads[0].last_step is not None and _is_level(run.heads[0], other.heads[0])


def _are_nested(run: FoundRun, other: FoundRun) -> bool:
    folders = [PurePath(each.sources[0].name).parent for each in (run, other)]
    return folders[0] != folders[1] and (folders[0] in folders[1].parents or folders[1] in folders[0].parents)


def _is_called_log(name: str) -> bool:
    return any(part in Path(name).name.lower() for part in ("log", "out", "train"))


def sources_of(candidate: Candidate) -> list[Source]:
    """What to read of a candidate."""
    pairs = [(file, Path(file.uri)) for file in candidate.files]
    if candidate.kind == "mlflow":
        folder = Path(candidate.folder)
        return [Source(name=candidate.folder, path=folder, mtime=last_written(folder), is_mlflow=True)]
    if candidate.kind == "recorded":
        file, path = next(pair for pair in pairs if pair[1].name == LOG)
        return [Source(name=file.uri, path=path, mtime=file.mtime, is_recorded=True)]
    return [Source(name=file.uri, path=path, mtime=file.mtime, size=file.size) for file, path in pairs]
