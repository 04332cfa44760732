"""The file of spans: one per process, appended to, a record a line. docs/integrations.md describes it.

A record is written when a span begins (`B`) and when it ends (`E`, with its length), so that what goes on now is known
while it goes on. An `E` alone is a whole span: of short things only the end is written. Times are nanoseconds of the
monotonic clock; `H` records say what the wall clock shows then.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time

FOLDER = "spans"
VERSION = "stepscope.spans/1"
# Records of short spans wait this long for others, so that they share a write.
_FLUSH_NS = 100_000_000
_FLUSH_RECORDS = 512
# The wall clock may be set or drift: it is noted this often.
_ANCHOR_NS = 30_000_000_000
# Kinds that come with every step; all others are written at once.
_SHORT = frozenset({"step", "data", "gc", "logging", "optimizer", "backward"})
# The detail of a span that had ended when its record was written, and maybe long before.
LATEST = "latest"
_BLANKS = str.maketrans("\t\r\n", "   ")
_RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
_WORLDS = ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")

now_ns = time.monotonic_ns


def _first_number(names: tuple[str, ...]) -> int | None:
    for name in names:
        text = os.environ.get(name, "")
        if text.isdigit():
            return int(text)
    return None


def env_rank() -> int:
    """This process's rank, as its launcher says; 0 without one."""
    return _first_number(_RANKS) or 0


def env_world() -> int:
    """How many ranks there are, as the launcher says; 1 without one."""
    return max(1, _first_number(_WORLDS) or 1)


class SpanFile:
    """Appends records to this process's file. It never raises and never waits; after a fork, the child writes nothing.

    A child that trains by itself gets a file of its own with `reopen`.
    """

    def __init__(self, folder: str, *, source: str, rank: int | None = None, world: int | None = None) -> None:
        self.folder, self.source = folder, source
        self.rank = env_rank() if rank is None else rank
        self.world = env_world() if world is None else world
        self._given = rank
        self._file = -1
        self._buffer: list[str] = []
        self._flushed = self._anchored = 0
        self._main = threading.main_thread().ident
        self.is_child = False
        os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        self._file, self._buffer, self.is_child = -1, [], True

    def reopen(self) -> None:
        """Write from now on, in a process that was forked: to a file of its own."""
        if self._given is None:
            self.rank, self.world = env_rank(), env_world()  # set after the fork, by whatever started this process
        self._main = threading.get_ident()
        self.is_child = False

    def begin(self, kind: str, at_ns: int, detail: str = "") -> None:
        """A span begins."""
        self._put(f"B\t{at_ns}\t{kind}\t{self._thread()}\t\t{detail}\n", at_ns, kind)

    def end(self, kind: str, begin_ns: int, at_ns: int, detail: str = "") -> None:
        """A span ends, or has been a whole one."""
        self._put(f"E\t{at_ns}\t{kind}\t{self._thread()}\t{at_ns - begin_ns}\t{detail}\n", at_ns, kind)

    def write_begin(self, kind: str, at_ns: int, detail: str) -> None:
        """A span of the thread that trains begins, as another thread has seen."""
        self._write_now(f"B\t{at_ns}\t{kind}\t0\t\t{detail}\n")

    def write_end(self, kind: str, begin_ns: int, at_ns: int, detail: str) -> None:
        """A span of the thread that trains has ended, as another thread has seen."""
        self._write_now(f"E\t{at_ns}\t{kind}\t0\t{at_ns - begin_ns}\t{detail}\n")

    def _write_now(self, record: str) -> None:
        """Past the buffer, which belongs to the thread that trains."""
        if self._file < 0 and not self.is_child:
            self.note("probe", f"python {sys.version_info.major}.{sys.version_info.minor}")
        if self._file >= 0 and not self.is_child:
            with contextlib.suppress(OSError):
                os.write(self._file, record.encode("utf-8", "replace"))

    def note(self, kind: str, detail: str) -> None:
        """Something about the run that has no length: totals, values, what could not be hooked."""
        at_ns = now_ns()
        self._put(f"N\t{at_ns}\t{kind}\t{self._thread()}\t\t{detail.translate(_BLANKS)}\n", at_ns, kind)

    def _thread(self) -> int:
        ident = threading.get_ident()
        return 0 if ident == self._main else ident

    def _put(self, record: str, at_ns: int, kind: str) -> None:
        if self.is_child:
            return  # a loader's worker
        buffer = self._buffer
        buffer.append(record)
        if at_ns - self._flushed >= _FLUSH_NS or kind not in _SHORT or len(buffer) >= _FLUSH_RECORDS:
            self.flush()
        if kind not in _SHORT:
            self._flushed = 0  # what comes next ends it for those who watch: written at once, too

    def flush(self) -> None:
        """Write what has been recorded."""
        if self.is_child:
            return
        records, self._buffer = self._buffer, []
        if not records:
            return
        at_ns = self._flushed = now_ns()
        if at_ns - self._anchored >= _ANCHOR_NS or not self._anchored:
            self._anchored = at_ns
            records.insert(0, self._anchor())
        try:
            if self._file < 0:
                self._file = self._open()
            os.write(self._file, "".join(records).encode("utf-8", "replace"))
        except OSError:
            return  # a full disk: the spans end, the training does not

    def _open(self) -> int:
        folder = os.path.join(self.folder, FOLDER)
        os.makedirs(folder, exist_ok=True)
        name = f"{self.rank:05d}-{_host()}-{os.getpid()}.tsv"
        return os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def _anchor(self) -> str:
        facts = (
            f"format={VERSION} pid={os.getpid()} rank={self.rank} world={self.world} host={_host()} "
            f"source={self.source}"
        )
        before = now_ns()
        wall = time.time_ns()
        return f"H\t{(before + now_ns()) // 2}\tclock\t0\t{wall}\t{facts}\n"


def _host() -> str:
    try:
        name = socket.gethostname()
    except OSError:
        name = ""
    return "".join(char if char.isalnum() or char in ".-" else "_" for char in name)[:64] or "host"
