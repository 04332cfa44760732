"""The deaths in a log: several messages about one end of a process are one death, with the cause first.

A process that dies prints a traceback, the exception at its end, perhaps the same from every rank; then its launcher
says that a child failed, and the scheduler that the job is gone. Only one of these lines says why.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from stepscope.core.lazy_pattern import LazyPattern
from stepscope.lines.notices import FATAL, KILLED
from stepscope.run.model import Notice, Run

DeathKind = Literal["crashed", "out_of_memory", "interrupted", "killed"]

# What launchers, shells and schedulers print because a process of theirs has died, not why.
_FALLOUT_TYPES = {
    *("ChildFailedError", "CalledProcessError", "SignalException", "RayTaskError"),
    *("ProcessExitedException", "ProcessRaisedException"),
}
_FALLOUT = LazyPattern(
    r"ChildFailedError|multiprocessing\.api:failed|Killing subprocess|closing signal SIG|exits with return code"
    r"|(?:srun|slurmstepd): .*(?:Exited with|Job step aborted|STEP .* CANCELLED|Terminated|forcing job termination)"
    r"|returned non-zero exit status|Main process received SIG|^traceback\s*:|Signal \d+ \(SIG|^Terminated"
    r"|^(?:Aborted|Killed)\b|^terminate called|failed \(exitcode|^(?:mpirun|mpiexec|prterun) |BAD TERMINATION"
    r"|^Process finished with|exit(?:ed with)? code|^wandb: "
)
_WRAPPED = LazyPattern(r": Caught \w+ in (?:DataLoader worker process|replica|pin memory thread)")
_BY_OTHERS = LazyPattern(
    rf"{'|'.join(map(re.escape, KILLED))}|Kill|SIGKILL|NODE FAIL|[Nn]ode failure|exitcode: -9\b|return code = -9\b"
    "|Evicted"
)
_JOB = LazyPattern(r"slurmstepd\S*: error: \*\*\* JOB \d+ .*CANCELLED")
_LAST_ROWS = 3
_STRONG = {"exception", "interrupted", "killed", "hang"}


class Death(NamedTuple):
    """The end of a process: the notice that says best why, and all the notices about it."""

    cause: Notice
    notices: tuple[Notice, ...]

    @property
    def row(self) -> int:
        """How many rows were printed before it."""
        return self.cause.row

    @property
    def kind(self) -> DeathKind:
        """What kind of end it was."""
        if self.cause.kind == "oom":
            return "out_of_memory"
        if self.cause.kind == "interrupted":
            return "interrupted"
        is_kill = self.cause.kind == "killed" and _BY_OTHERS.search(self.cause.text) is not None
        return "killed" if is_kill else "crashed"

    @property
    def hang(self) -> Notice | None:
        """The first line that says that ranks waited in vain, if one does."""
        return next((notice for notice in self.notices if notice.kind == "hang"), None)


def find_deaths(run: Run) -> tuple[Death, ...]:
    """Every death in the log, in order: what was said of an end between two rows is said of one."""
    by_row: dict[int, list[Notice]] = {}
    last_words = run.last_words
    for notice in run.notices:
        is_last_error = notice.kind == "error" and notice in last_words
        if notice.kind in FATAL or is_last_error or (notice.kind == "error" and notice.row in by_row):
            by_row.setdefault(notice.row, []).append(notice)
    return tuple(Death(_cause(notices), tuple(notices)) for notices in by_row.values())


def final_death(run: Run) -> Death | None:
    """The death after the last row, if the log speaks of one."""
    deaths = find_deaths(run)
    return deaths[-1] if deaths and is_at_end(run, deaths[-1]) else None


def is_at_end(run: Run, death: Death) -> bool:
    """Whether a death is the run's last: after its last row, or the scheduler's end of the whole job just before.

    A job that is cancelled has some seconds left, in which a row or two may still be printed.
    """
    is_cancelled = len(run) - death.row <= _LAST_ROWS and _JOB.search(death.cause.text) is not None
    return death.row == len(run) or (is_cancelled and death.row > 0 and len(run.segments) == 1)


def is_outlived(run: Run, death: Death) -> bool:
    """Whether training went on after it as if nothing had been: the exception was caught, and no process died."""
    firsts = {segment.first_row for segment in run.segments}
    return 0 < death.row < len(run) and death.row not in firsts


def _cause(notices: Sequence[Notice]) -> Notice:
    memory = [notice for notice in notices if notice.kind == "oom"]
    if memory:
        return next((notice for notice in memory if not _is_wrapped(notice)), memory[0])
    strong = [notice for notice in notices if notice.kind in _STRONG]
    own = [notice for notice in strong if not _is_fallout(notice)]
    if own:
        return next((notice for notice in own if not _is_wrapped(notice)), own[0])
    interrupts = [notice for notice in strong if notice.kind == "interrupted"]
    errors = [notice for notice in notices if notice.kind == "error" and not _is_fallout(notice)]
    others = [notice for notice in notices if notice.kind != "traceback"]
    return next(iter([*errors, *interrupts, *others, *notices]))


def _is_wrapped(notice: Notice) -> bool:
    """Whether an exception only says that a worker had one, whose own words follow."""
    return _WRAPPED.search(notice.text) is not None


def _is_fallout(notice: Notice) -> bool:
    return notice.type_name in _FALLOUT_TYPES or _FALLOUT.search(notice.text) is not None
