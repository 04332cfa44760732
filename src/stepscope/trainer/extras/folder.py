"""The folder of a run: one trainer at a time, and nothing of an earlier run is lost in it.

A run claims its folder before it reads or writes anything there, and writes nothing until it is ready to train. A start
that fails leaves everything as it was.

    train.lock       held by the trainer, and by its writer of checkpoints; the system lets go of it when both are gone
    earlier/1, …     the logs and the best checkpoint of the runs that had this folder before, oldest first
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import time
from pathlib import Path
from typing import IO

from stepscope.trainer.config import TrainerError
from stepscope.trainer.extras.writer import ASIDES, BEST, NAME, SLICES_BEST

LOCK, EARLIER = "train.lock", "earlier"
LOG, STEPS, LEDGER = "train.log", "steps.jsonl", "ledger.json"
# Seconds that the writer of a trainer that was killed may need to notice.
_WRITER_ENDS_IN = 10.0
# Of file systems that have no locks: two trainers are then not noticed.
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})


class RunFolder:
    """The claim of one process on a folder, from its start to its end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._has_made = not path.exists()
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = _take_lock(path / LOCK)
        except OSError as problem:
            raise TrainerError("train-out-dir", place=str(path), reason=problem.strerror or str(problem)) from None
        self._is_begun = False

    @property
    def descriptor(self) -> int:
        """The lock, for a process that belongs to this run."""
        return self._lock.fileno()

    def begin(self, *, resumed: bool) -> Path | None:
        """The run is ready to train: clear up after a killed one, and move what an earlier run left out of the way.

        A resumed run goes on with the files that are there. Gives back where the earlier run's files are now.
        """
        self._is_begun = True
        for left in (path for pattern in ASIDES for path in self.path.glob(pattern)):
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)
        return None if resumed else self._keep_earlier()

    def _keep_earlier(self) -> Path | None:
        """Move logs and the best checkpoint to a folder of their own; a run without a best keeps its last one."""
        moved = [path for name in (LOG, STEPS, LEDGER, BEST, SLICES_BEST) if (path := self.path / name).exists()]
        last = self.path / NAME
        if not moved and not last.exists():
            return None
        numbers = [int(path.name) for path in (self.path / EARLIER).glob("*") if path.name.isdigit()]
        target = self.path / EARLIER / str(max(numbers, default=0) + 1)
        try:
            target.mkdir(parents=True)
            for path in moved:
                path.rename(target / path.name)
            if last.exists() and not (target / BEST).exists():
                # A second name: the first one is this run's to replace.
                with contextlib.suppress(OSError):
                    os.link(last, target / NAME)
        except OSError as problem:
            raise TrainerError("train-out-dir", place=str(target), reason=problem.strerror or str(problem)) from None
        return target

    def release(self) -> None:
        """Let the next trainer in. A folder that only this start has made, and that nothing came of, goes again."""
        with contextlib.suppress(OSError):
            (self.path / LOCK).unlink()
        self._lock.close()
        if self._has_made and not self._is_begun:
            with contextlib.suppress(OSError):  # there is something in it
                self.path.rmdir()


def _take_lock(path: Path) -> IO[str]:
    """The lock of a folder. Its holder is another trainer, or the writer of one that was just killed."""
    import fcntl

    until = time.monotonic() + _WRITER_ENDS_IN
    while True:
        lock = path.open("a+", encoding="ascii")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            if problem.errno in _NO_LOCKS:
                return lock
            lock.seek(0)
            owner = lock.read().strip()
            lock.close()
            if _is_alive(owner) or time.monotonic() > until:
                raise TrainerError("train-locked", place=str(path.parent), process=owner or "?") from None
            time.sleep(0.05)
            continue
        # The one before may have removed the file between our opening and our locking it.
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_ino == os.fstat(lock.fileno()).st_ino:
                with contextlib.suppress(OSError):  # a full disk: the number is only for people
                    lock.truncate(0)
                    os.write(lock.fileno(), str(os.getpid()).encode())
                return lock
        lock.close()


def _is_alive(process: str) -> bool:
    """Whether there is a process of this number; no number is taken for one that has just begun."""
    if not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
