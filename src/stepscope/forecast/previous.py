"""Find a previous run of the same program next to a log: a few files of its folder, by their settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stepscope.core.boundary import is_readable
from stepscope.core.errors import InputError, StepscopeError
from stepscope.forecast.profile import same_program
from stepscope.reading.reader import read
from stepscope.run.intervals import with_settings
from stepscope.run.model import Run

# Looking must not take longer than reading: this many files at most, none larger than this.
_MAX_READ = 3
_MAX_LISTED = 500
_MAX_BYTES = 4_000_000


def find_previous(run: Run, *, reads: Callable[[str], Run] = read) -> list[Run]:
    """Complete runs of the same program in the folder of `run`'s log, nearest in time first; often none.

    `reads` reads one file; a caller that looks more than once passes one that keeps its results.
    """
    if len(run.paths) != 1 or run.paths[0] == "-" or run.settings.count("max_steps") is None:
        return []
    path = Path(run.paths[0])
    found: list[Run] = []
    for other in _candidates(path)[:_MAX_READ]:
        try:
            previous = with_settings(reads(str(other)))
        except (StepscopeError, OSError):
            continue
        if same_program(run, previous):
            found.append(previous)
    return found


def read_like(run: Run, path: str) -> Run:
    """The run that the user names as one like this; said plainly when it cannot serve."""
    previous = with_settings(read(path))
    if previous.format.name != run.format.name:
        raise InputError("like-format", place=path, own=run.format.title, its=previous.format.title)
    total = run.settings.count("max_steps")
    if total is not None and (not len(previous) or int(previous.steps.step[-1]) < total - 1):
        last = int(previous.steps.step[-1]) if len(previous) else 0
        raise InputError("like-short", place=path, last=last, total=total)
    return previous


def _candidates(path: Path) -> list[Path]:
    """Files like this one: same ending, not much smaller, not too large; those written nearest before it first."""
    try:
        own = path.stat()
        # A log that is still growing is smaller than a complete one.
        least = min(own.st_size // 4, _MAX_BYTES)
        listed = []
        for index, other in enumerate(path.parent.iterdir()):
            if index >= _MAX_LISTED:
                return []
            if other.suffix != path.suffix or other.name == path.name or not is_readable(other):
                continue
            stat = other.stat()
            if least <= stat.st_size <= _MAX_BYTES and other.is_file():
                listed.append((abs(stat.st_mtime - own.st_mtime), other.name, other))
    except OSError:
        return []
    return [other for _, _, other in sorted(listed)]
