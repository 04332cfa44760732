"""The supervisor: starts a command on a pseudo-terminal and a recorder next to it, and a new recorder if one dies.

    stepscope run ── supervisor ─┬─ recorder
                                 └─ the command

All three of ours hold the terminal, so the command loses it only if all three are killed at once. `stepscope run` may
go away at any time; if the supervisor does, `stepscope run` starts another and learns itself how the command ended.

It does nothing but wait, in little memory. Recorders are forked, not started: that takes a millisecond, and no file of
ours has to be there any more. POSIX only.

Started as `python -m stepscope.live.supervisor FOLDER SLAVE HANDLES… -- CMD…`; without a command, it takes over one
that is running.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from pathlib import Path

from stepscope.live.recorder import Handles, record
from stepscope.live.shared_state import SharedState

# A recorder that dies at once is not started again at once.
_REST_S = 1.0


def arguments_of(folder: Path, slave: int, handles: Handles, command: list[str]) -> list[str]:
    """The command line of a supervisor."""
    numbers = map(str, (slave, *handles))
    return [sys.executable, "-m", "stepscope.live.supervisor", str(folder), *numbers, "--", *command]


def main(arguments: list[str]) -> None:
    """Supervise a command until it has ended and its recording is complete."""
    # Signals meant for the command are sent to it, not to us.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    cut = arguments.index("--")
    folder, slave, *numbers = arguments[:cut]
    handles, command = Handles(*map(int, numbers)), arguments[cut + 1 :]
    for handle in handles:
        os.set_inheritable(handle, False)
    state = SharedState(handles.state)
    if command:
        state.command = _start(state, int(slave), command)
        os.close(int(slave))
    _supervise(Path(folder), handles, state)


def _supervise(folder: Path, handles: Handles, state: SharedState) -> None:
    recorder, started = _fork_recorder(folder, handles), time.monotonic()
    while True:
        pid, status = os.wait()
        if pid == state.command:
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


def _start(state: SharedState, slave: int, command: list[str]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        state.command = os.getpid()  # from here on it is known to run, also if the supervisor was killed just now
        os.login_tty(slave)
        _become(command)
    finally:
        os._exit(126)


def _become(command: list[str]) -> None:
    """In the child process: run the command, or print why it cannot be run."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
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
