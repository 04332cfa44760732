"""The recorder: reads what a command prints, from its pseudo-terminal or from pipes, and writes it down.

It is a process of its own, so that neither a failure of the view nor its own death reaches the run: `supervisor.py`
starts another recorder, which goes on where this one was killed. The command never waits for a disk or a view.

What is read lands in shared memory first, so that a kill at any moment loses no byte and writes none twice. Three
stages, in `SharedState.mark` with the number of bytes: READING, the buffer is all zeros and what the system put there
has not been looked at; HELD, so many bytes are to be written after `log_start`; WRITTEN, they are in the log.

Where standard output and standard error are apart, the log has both, each on lines of its own, and `streams.tsv` says
which byte came from where.

When the disk takes no more, the output goes to the view directly, through a pipe. POSIX only.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import select
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from stepscope.live.process import is_alive
from stepscope.live.shared_state import SharedState
from stepscope.live.streams import ERROR, NOBODY, OUTPUT, TERMINAL, switch_record
from stepscope.source.recording import EXIT, RESERVED, SUSPENDS

# A program that has ended may leave children that hold its terminal: they get this long to finish printing.
_GRACE_S = 2.0
_LOOK_S = 0.5
# Output that the view has not taken yet while the disk is full; what is beyond that is not shown.
_MOST_QUEUED = 64 << 20
READING, HELD, WRITTEN = 0, 1, 2
NOTHING, LINES, INSIDE_LINE = 0, 1, 2  # see `SharedState.gap`
_LINE_ENDS = b"\r\n"
_BACK = b"\b"  # goes back over what is there, as some bars do before they are drawn again
_MOST_RECORD_BYTES = 128


class Handles(NamedTuple):
    """The numbers of open files that the processes around a command share."""

    master: int  # the terminal, from our side
    state: int
    log: int
    stamps: int
    spill: int  # the pipe to the view
    output: int = -1  # a pipe that is the command's standard output; -1 where it has none of its own
    error: int = -1  # the same of standard error
    streams: int = -1  # the file that says which byte of the log came from where
    error_spill: int = -1  # the pipe to the view for what does not go to its standard output

    @property
    def opened(self) -> list[int]:
        """Those that there are."""
        return [number for number in self if number >= 0]

    @property
    def sources(self) -> dict[int, int]:
        """Where the command's output is read: numbers of open files, and which of its streams each is."""
        streams = ((self.master, TERMINAL), (self.output, OUTPUT), (self.error, ERROR))
        return {number: source for number, source in streams if number >= 0}

    def spill_of(self, source: int) -> int:
        """The pipe to the view for the bytes of a stream."""
        is_error = source == ERROR or (source == TERMINAL and self.output >= 0)
        return self.error_spill if is_error and self.error_spill >= 0 else self.spill


# A shorter difference is the jitter of the clocks.
_LEAST_SLEEP_S = 1.0


def asleep_s() -> float:
    """Seconds that the machine has been suspended since a fixed moment: the clock that counts them minus the one that
    does not. Where there is no such clock the wall clock is used, which may also be set."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
    return time.time() - time.monotonic()


class Sleeps:
    """Measures how long the machine was suspended between two calls."""

    def __init__(self, clock: Callable[[], float] = asleep_s) -> None:
        self._clock = clock
        self._before = clock()

    def last_s(self) -> float | None:
        """Seconds suspended since the last call; None when it was not."""
        now = self._clock()
        slept, self._before = now - self._before, now
        return slept if slept >= _LEAST_SLEEP_S else None


def append(number: int, data: bytes) -> tuple[int, int]:
    """Append to a file: how many bytes it took, and the error that stopped it (0: none)."""
    done = 0
    while done < len(data):
        try:
            done += os.write(number, data[done:])
        except OSError as problem:
            return done, problem.errno or errno.EIO
    return done, 0


class Spill:
    """The way of the output to the view past the disk. It never waits: what the pipe does not take is queued."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.queue: deque[bytes] = deque()
        self._num_queued = 0
        self._has_reader = True

    def add(self, data: bytes) -> None:
        """Send bytes after those that are still queued."""
        if self._has_reader and self._num_queued < _MOST_QUEUED:
            self.queue.append(data)
            self._num_queued += len(data)
        self.send()

    def send(self) -> None:
        """Send as much as the pipe takes."""
        while self.queue:
            try:
                done = os.write(self.number, self.queue[0])
            except BlockingIOError:
                return
            except OSError:  # the view is gone: nobody to show it to
                self._has_reader = False
                self.queue.clear()
                return
            self._num_queued -= done
            first = self.queue.popleft()
            if done < len(first):
                self.queue.appendleft(first[done:])

    def drain(self) -> None:
        """Wait until the view has taken everything or is gone."""
        while self.queue:
            select.select([], [self.number], [], _LOOK_S)
            self.send()


class Recorder:
    """Records until the command has ended and everything it printed is written."""

    def __init__(self, folder: Path, handles: Handles, state: SharedState) -> None:
        self._folder, self._handles, self._state = folder, handles, state
        self._suspends, self._sleeps = folder / SUSPENDS, Sleeps()
        self._begun: bytes | None = None  # when the line that has no end yet was last added to
        self._spills = {number: Spill(number) for number in (handles.spill, handles.error_spill) if number >= 0}
        _cut_half_record(handles.stamps)
        if handles.streams >= 0:
            _cut_half_record(handles.streams)

    def record(self) -> None:
        """Go on where an earlier recorder stopped, until the end."""
        self._recover()
        deadline = None
        sources = self._handles.sources
        while sources:
            waiting = [spill.number for spill in self._spills.values() if spill.queue]
            ready, _, _ = select.select(list(sources), waiting, [], _LOOK_S)
            self._note_sleep()
            for spill in self._spills.values():
                spill.send()
            for number in ready:
                if not self._take(number, sources[number]):
                    del sources[number]
            if deadline is None and self._has_ended():
                deadline = time.monotonic() + _GRACE_S
            if deadline is not None and not ready and time.monotonic() > deadline:
                break
        self._finish(self._status())

    # -- from the command to the log ----------------------------------------------------------------------------

    def _take(self, number: int, source: int) -> bool:
        """Read once from the terminal or a pipe; False when its other end is closed."""
        state = self._state
        state.log_start = os.fstat(self._handles.log).st_size
        state.source = source
        try:
            num = os.readv(number, [state.buffer])
        except OSError as problem:
            if problem.errno == errno.EIO:  # Linux's answer when the other end is closed
                return False
            raise
        if not num:
            return False
        self._mark(HELD, num, self._holds_return())
        self._write(num)
        return True

    def _recover(self) -> None:
        """Finish what a killed recorder had begun."""
        state = self._state
        stage, num = state.mark & 3, state.mark >> 3
        if stage == READING:
            num = len(bytes(state.buffer).rstrip(b"\0"))
            if num:
                self._mark(HELD, num, self._holds_return())
        if stage == WRITTEN:
            self._clear(self._holds_return())
        elif num:
            self._write(num, is_again=True)

    def _write(self, num: int, *, is_again: bool = False) -> None:
        """Write the bytes in the buffer to the log, with the moment at which their lines came."""
        wall, monotonic = time.time(), time.monotonic()
        state = self._state
        data, holds_return = bytes(state.buffer[:num]), self._holds_return()
        if state.source == TERMINAL:
            # The terminal ends lines with "\r\n"; a log has "\n". A return at the end waits for what comes after it.
            data = (b"\r" if holds_return else b"") + data
            holds_return = data.endswith(b"\r")
            data = (data[:-1] if holds_return else data).replace(b"\r\n", b"\n")
        data = self._switched(data)
        before = 0
        if is_again and state.spilled_at is None:
            before = min(len(data), max(0, os.fstat(self._handles.log).st_size - state.log_start))
        self._keep(data, before, b"\t%.6f\t%.6f\n" % (wall, monotonic))
        if data.strip(_BACK) and data[-1] not in _LINE_ENDS:
            self._begun = b"\t%.6f\t%.6f\n" % (wall, monotonic)
        self._mark(WRITTEN, 0, holds_return)
        self._clear(holds_return, num)

    def _switched(self, data: bytes) -> bytes:
        """The bytes for the log where they come from another stream than those before: on a line of their own.

        Asked again after a kill it gives the same: nothing it looks at has changed.
        """
        state, streams = self._state, self._handles.streams
        if streams < 0 or state.source == state.last_source or not data or state.spilled_at is not None:
            return data
        start = state.log_start
        is_inside_line = start > 0 and os.pread(self._handles.log, 1, start - 1) not in (b"\n", b"\r")
        records = switch_record(start, NOBODY) if is_inside_line else b""
        append(streams, records + switch_record(start + is_inside_line, state.source))
        return (b"\n" if is_inside_line else b"") + data

    def _keep(self, data: bytes, before: int, moment: bytes) -> None:
        """Put bytes into the log, of which it has the first `before` already, or send them to the view instead."""
        state, lead = self._state, b""
        spill = self._spills[self._handles.spill_of(state.source)]
        if state.spilled_at is not None:
            spill.add(data)
            lead, data = self._after_gap(data)
        start = os.fstat(self._handles.log).st_size - before
        done, problem = append(self._handles.log, lead + data[before:])
        done += before
        if problem:
            rest = data[max(0, done - len(lead)) :]
            state.lost_bytes += len(rest)
            state.gap = LINES if rest[-1] in _LINE_ENDS else INSIDE_LINE
            if state.spilled_at is None:
                state.errno = problem
                state.spilled = start + done + 1
                spill.add(rest)
        elif data:
            state.gap = NOTHING
        # A record that is there already does no harm.
        ends = [index + 1 for index, byte in enumerate((lead + data)[:done]) if byte in _LINE_ENDS]
        # A bar ends its line only when it is drawn again: what the line says came when it was last added to.
        is_begun = bool(ends) and self._begun is not None and not data[: ends[0] - 1].strip(_BACK)
        moments = [self._begun or moment if is_begun and end == ends[0] else moment for end in ends]
        records = b"".join(b"%d%s" % (start + end, own) for end, own in zip(ends, moments, strict=True))
        _, problem = append(self._handles.stamps, records)
        if data and data[-1] in _LINE_ENDS:
            self._begun = None
        if problem:
            _cut_half_record(self._handles.stamps)

    def _after_gap(self, data: bytes) -> tuple[bytes, bytes]:
        """What the log gets after it could not take something: whole lines, on a line of their own."""
        state = self._state
        if state.gap == INSIDE_LINE:
            ends = [end for end in (data.find(b"\n"), data.find(b"\r")) if end >= 0]
            cut = min(ends) + 1 if ends else len(data)
            state.lost_bytes += cut
            state.gap = LINES if ends else INSIDE_LINE
            data = data[cut:]
        needs_end = data and state.gap != NOTHING and _last_byte(self._handles.log) not in _LINE_ENDS
        return b"\n" if needs_end else b"", data

    def _holds_return(self) -> bool:
        """Whether the last byte before the buffer was a carriage return, which is not in the log yet."""
        return bool(self._state.mark & 4)

    def _mark(self, stage: int, num: int, holds_return: bool) -> None:
        self._state.mark = num << 3 | holds_return << 2 | stage

    def _clear(self, holds_return: bool, num: int | None = None) -> None:
        size = len(self._state.buffer) if num is None else num
        self._state.buffer[:size] = bytes(size)
        self._state.last_source = self._state.source
        self._mark(READING, 0, holds_return)

    def _note_sleep(self) -> None:
        slept_s = self._sleeps.last_s()
        if slept_s is not None:
            try:
                with self._suspends.open("ab") as file:
                    file.write(b"%.6f\t%.6f\n" % (time.time(), slept_s))
            except OSError:
                pass  # a full disk must not end the recording

    # -- the end ------------------------------------------------------------------------------------------------

    def _has_ended(self) -> bool:
        return bool(self._state.has_status) or not _is_there(self._state.command)

    def _status(self) -> int | None:
        """How the command ended; None when everybody who could know was killed."""
        while not self._has_ended():
            time.sleep(0.02)
        deadline = time.monotonic() + _GRACE_S
        while not self._state.has_status and time.monotonic() < deadline:
            time.sleep(0.02)
        return self._state.status if self._state.has_status else None

    def _finish(self, status: int | None) -> None:
        if self._holds_return():
            self._state.source = TERMINAL
            self._keep(b"\r", 0, b"\t%.6f\t%.6f\n" % (time.time(), time.monotonic()))
            self._mark(READING, 0, False)
        for spill in self._spills.values():
            spill.drain()
        code = None if status is None else os.waitstatus_to_exitcode(status)
        exit_file = {
            "code": None if code is None else shown_code(code),
            "signal": -code if code is not None and code < 0 else None,
            "wall": time.time(),
            "lost_bytes": self._state.lost_bytes,
        }
        _write_exit(self._folder, json.dumps(exit_file) + "\n")
        self._state.is_over = 1


def shown_code(code: int) -> int:
    """The exit code as a shell shows it: 128 + the signal that ended the command."""
    return code if code >= 0 else 128 - code


def reserve_exit(folder: Path) -> None:
    """Take the room for the exit file while there is some: how a command ended can be kept on a full disk, too."""
    (folder / RESERVED).write_bytes(b" " * 512)


def _write_exit(folder: Path, text: str) -> None:
    reserved = folder / RESERVED
    try:
        with reserved.open("r+b" if reserved.exists() else "wb") as file:
            file.write(text.encode())
            file.truncate()
        reserved.replace(folder / EXIT)
    except OSError:
        try:
            reserved.unlink(missing_ok=True)
        except OSError:
            return  # a folder that went away or became read-only


def _last_byte(number: int) -> bytes:
    """The last byte of a file; none of an empty one."""
    return os.pread(number, 1, max(0, os.fstat(number).st_size - 1))


def _cut_half_record(number: int) -> None:
    """Take away the beginning of a record that a kill or a full disk left at the end of the timestamps."""
    if _last_byte(number) in b"\n":
        return
    size = os.fstat(number).st_size
    start = max(0, size - _MOST_RECORD_BYTES)
    os.ftruncate(number, start + os.pread(number, size - start, start).rfind(b"\n") + 1)


def _is_there(pid: int) -> bool:
    """Whether a process still runs. One that has ended and that nobody waits for is not there.

    A process whose parents were all killed goes to process 1, and in many containers that is a program which never
    waits for anybody.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return is_alive(pid) if Path("/proc/self").exists() else True


def record(folder: Path, handles: Handles) -> None:
    """Record a command that runs on the terminal `handles.master` until it ends."""
    state = SharedState(handles.state)
    # One at a time: after its supervisor was killed, an earlier recorder may still be at work. A lock goes with the
    # process that holds it.
    fcntl.lockf(handles.state, fcntl.LOCK_EX)
    if not state.is_over:
        state.recorder = os.getpid()
        Recorder(folder, handles, state).record()
