"""Several files of one run: which of them are ranks, which follow each other and in which order, which say the same.

Nothing is opened here: the reader hands over the beginning and the end of each file.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Literal, NamedTuple

from stepscope.core.lazy_pattern import LazyPattern
from stepscope.core.units import NS
from stepscope.source.files import Source

Order = Literal["given", "stamps", "steps"]

_COMPRESSED = LazyPattern(r"\.(?:gz|xz|zst|bz2)$")
_ROTATED = LazyPattern(r"\.\d{1,4}$")
_LEAST_SAME = 3
# Without moments to compare, so many different figures at the beginning are no chance.
_LEAST_FIGURES = 5
# A file of another name goes on where one ended if it begins within a day of that.
_SOON_NS = 86_400 * NS
# Words of a name that say nothing of the job.
_WORDS = LazyPattern(r"[^\W\d_]{2,}")
_COMMON_WORDS = frozenset(
    {"log", "logs", "out", "err", "txt", "json", "jsonl", "csv", "tsv"}
    | {"part", "cont", "continued", "resume", "resumed", "restart"}
)
# A number in a name that is a rank's: `rank_3.log`, `worker-0/out.log`, torchelastic's `attempt_0/3/stdout.log`.
_COUNTS_RANKS = LazyPattern(
    r"(?i)(?<![a-z])(?:local_)?(?:rank|worker|proc|process)[-_.]?\d{1,5}|(?<=attempt_)\d{1,5}/\d{1,5}(?=/)"
)


class Head(NamedTuple):
    """What the beginning of a file says, and how far it goes. Steps are None where it holds none."""

    source: Source
    format: str | None
    rows: tuple[tuple[int, int], ...]  # the first steps with their figures
    first_step: int | None
    last_step: int | None
    first_ns: int | None
    last_ns: int | None
    dated: bool

    @property
    def steps(self) -> tuple[int, ...]:
        """The first steps."""
        return tuple(step for step, _ in self.rows)


class LogPart(NamedTuple):
    """A file to read, and the rank whose file it is."""

    source: Source
    rank: int | None


class Arrangement(NamedTuple):
    """What to read in which order, what that order is, and the files that only repeat another one."""

    parts: tuple[LogPart, ...]
    order: Order
    repeated: tuple[str, ...]


def arrange(heads: list[Head]) -> Arrangement:
    """Sort the files of one run: ranks separated, repeated ones left out, the others by stamps, else by steps."""
    kept, repeated = _without_repeated(heads)
    ranks = _ranks(kept)
    lowest = min(ranks.values(), default=None)
    # The run's own rank comes first, whole; the others are read next to it.
    groups: dict[int | None, list[Head]] = {}
    for head in kept:
        rank = ranks.get(head.source.name)
        groups.setdefault(None if rank is None else rank, []).append(head)
    order: Order = "given"
    parts: list[LogPart] = []
    for rank in sorted(groups, key=lambda number: (number is not None and number != lowest, number or 0)):
        ordered, how = _ordered(groups[rank])
        if [head.source for head in ordered] != [head.source for head in groups[rank]]:
            order = how
        parts += [LogPart(head.source, rank) for head in ordered]
    return Arrangement(tuple(parts), order, repeated)


def split_runs(heads: list[Head]) -> list[list[Head]]:
    """Files that lie together, by run: ranks, rotated and resumed parts and what repeats them are one.

    Unrelated runs of one program must not be joined: files are ranks only where their names count ranks, and a part
    only where one run alone can be what it goes on from.
    """
    kept, repeated = _without_repeated([head for head in heads if head.rows])
    runs: list[list[Head]] = []
    for name in dict.fromkeys(head.format for head in kept):
        alike = [head for head in kept if head.format == name]
        numbers = _ranks([head for head in alike if _COUNTS_RANKS.search(_tail_of(head))])
        launches: dict[str, list[Head]] = {}
        for head in alike:
            key = _COUNTS_RANKS.sub("#", _tail_of(head)) if head.source.name in numbers else head.source.name
            launches.setdefault(key, []).append(head)
        runs += _chained(list(launches.values()))
    copies = [head for head in heads if head.source.name in repeated]
    for copy in copies:
        original = next((run for run in runs if any(same_text(copy, head) for head in run)), None)
        if original is not None:
            original.append(copy)
    return runs


def _chained(launches: list[list[Head]]) -> list[list[Head]]:
    """Launches joined with those that went on where they ended."""
    ordered, _ = _ordered([launch[0] for launch in launches])
    by_name = {launch[0].source.name: launch for launch in launches}
    chains: list[list[Head]] = []  # the first file of each launch
    for head in ordered:
        before = [chain for chain in chains if _goes_on(chain[-1], head) or _is_rotated(head, chain[-1])]
        if len(before) == 1:
            before[0].append(head)
        else:
            chains.append([head])
    return [[file for head in chain for file in by_name[head.source.name]] for chain in chains]


def _goes_on(before: Head, after: Head) -> bool:
    """Whether a file begins in the middle of a training, where another one ended.

    Two jobs of one trainer often overlap in their steps by chance: where the names have nothing in common, the second
    must begin right where or when the first one ended.
    """
    spacing = after.steps[1] - after.steps[0] if len(after.rows) > 1 else 1
    if (after.first_step or 0) <= 2 * spacing or not _follows(before, after):
        return False
    return _are_called_alike(before, after) or _is_at_the_end(before, after, spacing)


def _are_called_alike(one: Head, other: Head) -> bool:
    first, second = (
        {word.lower() for word in _WORDS.findall(PurePath(head.source.name).name)} - _COMMON_WORDS
        for head in (one, other)
    )
    return first <= second or second <= first


def _is_at_the_end(before: Head, after: Head, spacing: int) -> bool:
    if before.dated and after.dated:
        return 0 <= (after.first_ns or 0) - (before.last_ns or 0) <= _SOON_NS
    return abs((after.first_step or 0) - (before.last_step or 0)) <= 2 * spacing


def _tail_of(head: Head) -> str:
    path = PurePath(head.source.name)
    return "/".join(path.parts[-3:])


def _without_repeated(heads: list[Head]) -> tuple[list[Head], tuple[str, ...]]:
    """The files without those whose lines another one holds too; of two the one that goes further stays."""
    kept: list[Head] = []
    repeated = []
    for head in heads:
        twin = next((index for index, other in enumerate(kept) if same_text(head, other)), None)
        if twin is None:
            kept.append(head)
        elif _says_more(head, kept[twin]):
            repeated.append(kept[twin].source.name)
            kept[twin] = head
        else:
            repeated.append(head.source.name)
    return kept, tuple(repeated)


def _says_more(one: Head, other: Head) -> bool:
    """Whether a file goes further than its copy, or has the moments of its lines besides."""
    return (one.last_step or 0, one.first_ns is not None) > (other.last_step or 0, other.first_ns is not None)


def same_text(one: Head, other: Head) -> bool:
    """Whether two files begin with the same rows, in times that are never quite the same by chance."""
    num = min(len(one.rows), len(other.rows))
    if num < _LEAST_SAME or one.rows[:num] != other.rows[:num]:
        return False
    figures = {figure for _, figure in one.rows[:num]}
    if one.first_ns == other.first_ns:
        return len(figures) > 1 or one.first_ns is not None
    # The lines of one, recorded with the moment of each: only the program's own figures can be compared.
    is_recorded = None in (one.first_ns, other.first_ns) and one.last_step == other.last_step
    return is_recorded and len(figures) >= _LEAST_FIGURES


def _ranks(heads: list[Head]) -> dict[str, int]:
    """The rank of each file by its name, where files that differ in a number print the same steps at the same time."""
    groups: dict[tuple[str, int], dict[Head, int]] = {}
    for head in heads:
        for place, number in _number_places(head).items():
            groups.setdefault(place, {})[head] = number
    found: dict[str, int] = {}
    for group in sorted(groups.values(), key=len, reverse=True):
        first, *others = group
        # Each launch of a resumed run has ranks of its own.
        if others and first.rows and all(_are_simultaneous(first, other) for other in others):
            for head, number in group.items():
                found.setdefault(head.source.name, number)
    return found


def _number_places(head: Head) -> dict[tuple[str, int], int]:
    """Each number in a file's name (or its folder's), by the name without it."""
    path = PurePath(_COMPRESSED.sub("", head.source.name))
    name = f"{path.parent.name}/{path.name}" if path.parent.name else path.name
    return {
        (name[: match.start()] + "#" + name[match.end() :], match.start()): int(match[0])
        for match in re.finditer(r"\d{1,5}", name)
    }


def _are_simultaneous(one: Head, other: Head) -> bool:
    """Whether two files print the same steps over the same time: ranks of one run."""
    if one.format != other.format or one.first_step != other.first_step:
        return False
    if None not in (one.first_ns, one.last_ns, other.first_ns, other.last_ns):
        return max(one.first_ns or 0, other.first_ns or 0) <= min(one.last_ns or 0, other.last_ns or 0)
    num = min(len(one.rows), len(other.rows))
    spacing = one.steps[1] - one.steps[0] if len(one.rows) > 1 else 1
    last = abs((one.last_step or 0) - (other.last_step or 0))
    return one.steps[:num] == other.steps[:num] and last <= 2 * max(1, spacing)


def _ordered(heads: list[Head]) -> tuple[list[Head], Order]:
    """By their first stamp where every file has one of the same kind, else by their first step, else as given."""
    if len(heads) < 2:
        return heads, "given"
    if all(head.first_ns is not None for head in heads) and len({head.dated for head in heads}) == 1:
        return sorted(heads, key=lambda head: head.first_ns or 0), "stamps"
    if all(head.first_step is not None for head in heads):
        # Two attempts that begin alike: the one written last is the later one.
        return sorted(heads, key=lambda head: (head.first_step or 0, head.source.mtime or 0.0)), "steps"
    return heads, "given"


def _is_rotated(head: Head, best: Head) -> bool:
    one, other = (_COMPRESSED.sub("", each.source.name) for each in (best, head))
    return _ROTATED.sub("", one) == _ROTATED.sub("", other)


def _follows(before: Head, after: Head) -> bool:
    """Whether a file goes on where the other one ended, or a little before: a resumed run's next part."""
    if before.last_step is None or after.first_step is None or before.first_step is None:
        return False
    spacing = after.steps[1] - after.steps[0] if len(after.rows) > 1 else 1
    return before.first_step < after.first_step <= before.last_step + 2 * spacing
