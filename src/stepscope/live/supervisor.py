"""The supervisor: starts a command on its terminal or pipes and a recorder next to it, and a new one if that dies.

    stepscope run ── supervisor ─┬─ recorder
                                 └─ the command

All three of ours hold the terminal and the pipes, so the command loses them only if all three are killed at once.
`stepscope run` may go away at any time; if the supervisor does, `stepscope run` starts another and learns itself how
the command ended.

It does nothing but wait, in little memory. Recorders are forked, not started: that takes a millisecond, and no file of
ours has to be there any more. POSIX only.

Started as `python -m stepscope.live.supervisor FOLDER ENDS HANDLES… -- CMD…`; without a command, it takes over one
that is running.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import termios
import time
import traceback
from pathlib import Path
from typing import NamedTuple

from stepscope.live.recorder import Handles, record
from stepscope.live.shared_state import SharedState

# A recorder that dies at once is not started again at once.
_REST_S = 1.0
# What Python ignores by itself, and what we ignore: a command must not inherit that.
_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
_BY_US = (signal.SIGINT, signal.SIGHUP)


class Ends(NamedTuple):
    """The command's own ends of what connects it: numbers of open files; `terminal` is -1 where it has none."""

    terminal: int
    input: int
    output: int
    error: int


NO_ENDS = Ends(-1, -1, -1, -1)


def arguments_of(folder: Path, ends: Ends, handles: Handles, command: list[str]) -> list[str]:
    """The command line of a supervisor."""
    numbers = map(str, (*ends, *handles))
    return [sys.executable, "-m", "stepscope.live.supervisor", str(folder), *numbers, "--", *command]


def main(arguments: list[str]) -> None:
    """Supervise a command until it has ended and its recording is complete."""
    # What was ignored when we were started (nohup, a job in the background) is ignored by the command as well.
    reset = [*_BY_PYTHON, *(number for number in _BY_US if signal.getsignal(number) != signal.SIG_IGN)]
    # Signals meant for the command are sent to it, not to us.
    for number in (*_BY_US, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    cut = arguments.index("--")
    folder, numbers = arguments[0], [int(number) for number in arguments[1:cut]]
    ends, handles, command = Ends(*numbers[:4]), Handles(*numbers[4:]), arguments[cut + 1 :]
    for handle in handles.opened:
        os.set_inheritable(handle, False)
    state = SharedState(handles.state)
    if command:
        state.command = _start(state, ends, command, reset)
        for end in {end for end in ends if end >= 0}:
            os.close(end)
    _supervise(Path(folder), handles, state)


def _supervise(folder: Path, handles: Handles, state: SharedState) -> None:
    recorder, started = _fork_recorder(folder, handles), time.monotonic()
    while True:
        pid, status = os.waitpid(-1, os.WUNTRACED | os.WCONTINUED)
        if os.WIFSTOPPED(status) or os.WIFCONTINUED(status):
            if pid == state.command:
                state.is_stopped = int(os.WIFSTOPPED(status))
        elif pid == state.command:
            state.note_status(status)
        elif pid == recorder:
            if status == 0:
                return
            time.sleep(max(0.0, started + _REST_S - time.monotonic()))
            recorder, started = _fork_recorder(folder, handles), time.monotonic()


def _fork_recorder(folder: Path, handles: Handles) -> int:
    while True:
        try:
            pid = os.fork()
            break
        except OSError:  # no memory for a process: the command waits for its output to be read
            time.sleep(_REST_S)
    if pid:
        return pid
    try:
        record(folder, handles)
        os._exit(0)
    except BaseException:  # the top of a process: whatever it is, another recorder takes over
        traceback.print_exc()
    finally:
        os._exit(1)


def _start(state: SharedState, ends: Ends, command: list[str], reset: list[signal.Signals]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        state.command = os.getpid()  # from here on it is known to run, also if the supervisor was killed just now
        os.setsid()
        if ends.terminal >= 0:
            fcntl.ioctl(ends.terminal, termios.TIOCSCTTY, 0)
        _connect(ends)
        for number in reset:
            signal.signal(number, signal.SIG_DFL)
        _become(command)
    finally:
        os._exit(126)


def _connect(ends: Ends) -> None:
    """In the child process: make the ends standard input, output and error; a closed one stays closed."""
    # Copies first: an end may have the number of a stream that is replaced before it.
    copies = [os.dup(end) if end >= 0 else -1 for end in ends[1:]]
    for number, copy in enumerate(copies):
        if copy >= 0:
            os.dup2(copy, number)
    for end in {*copies, *ends} - {0, 1, 2, -1}:
        os.close(end)
    if copies[0] < 0:
        os.close(0)


def _become(command: list[str]) -> None:
    """In the child process: run the command, or print why it cannot be run."""
    try:
        os.execvp(command[0], command)
    except FileNotFoundError:
        os.write(2, f"stepscope: command not found: {command[0]}\n".encode())
        os._exit(127)
    except OSError as problem:
        os.write(2, f"stepscope: {command[0]}: {problem.strerror}\n".encode())
        os._exit(126)


if __name__ == "__main__":
    main(sys.argv[1:])
