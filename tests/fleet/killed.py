"""A scan that is killed again and again, each time at another moment: `python -m tests.fleet.killed LOGS STORE KILLS`.

Half of the kills come at an operation on the store's files, before or after it, so that each of them is hit; the others
at a moment of the clock. Children are forked: one start of Python for all of them.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from stepscope.fleet import store
from stepscope.fleet.engines import Inline
from stepscope.fleet.scan import scan
from stepscope.source import candidates

# One run a chunk, parts put together by four: many files are written, renamed and removed.
CHUNK, MANY = 1, 4


def scan_as_killed(logs: str, folder: str) -> None:
    """The scan whose store is compared."""
    candidates._MOST_TOGETHER = 4
    store._MANY = MANY
    scan([logs], store.Store(Path(folder)), Inline(), chunk_size=CHUNK)


def killed_at(goal: int, *, before: bool) -> None:
    """Let this process kill itself at an operation on files."""
    num = 0

    def counted(operation):
        def operate(*args, **kwargs):
            nonlocal num
            num += 1
            if num == goal and before:
                os.kill(os.getpid(), signal.SIGKILL)
            found = operation(*args, **kwargs)
            if num == goal:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        return operate

    os.fsync = counted(os.fsync)
    Path.replace = counted(Path.replace)
    Path.unlink = counted(Path.unlink)
    Path.open = counted(Path.open)


def main(logs: str, folder: str, kills: str) -> None:
    dice = random.Random(7)
    num_killed = 0
    for attempt in range(int(kills)):
        goal, is_before, wait_s = dice.randint(1, 40), dice.random() < 0.5, dice.uniform(0.005, 0.1)
        child = os.fork()
        if not child:
            if attempt % 2:
                killed_at(goal, before=is_before)
            scan_as_killed(logs, folder)
            os._exit(0)
        if not attempt % 2:
            time.sleep(wait_s)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        num_killed += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    print(num_killed)


if __name__ == "__main__":
    main(*sys.argv[1:])
