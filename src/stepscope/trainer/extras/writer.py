"""The process that writes checkpoints: no PyTorch, no NumPy, so that it is there at once and weighs nothing.

The names of the files and the outcome of a checkpoint are here too, for the modules that write and read checkpoints.

It is started by `checkpoint.Checkpointer` as a plain script. Jobs come over its standard input; the tensors lie in
memory that both processes see. A job is a list of the parts of the file: names, and bytes or places in that memory.

At every moment `ckpt.pt` is the old file or the new one, whole: the new one is written next to it, flushed to the disk
and renamed. The one before stays as `ckpt-previous.pt`. One that is the best so far is `ckpt-best.pt` as well, a second
name for the same file, which stays when `ckpt.pt` moves on. The container is a zip file, as PyTorch's own, and a zip
file carries a CRC-32 of each part.
"""

from __future__ import annotations

import contextlib
import io
import json
import mmap
import os
import pickle
import shutil
import struct
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

NAME, PREVIOUS, BEST = "ckpt.pt", "ckpt-previous.pt", "ckpt-best.pt"
# What a run with `--shard` writes instead: folders, and what is small in a file in them.
SLICES, SLICES_PREVIOUS, SLICES_BEST, SMALL = "ckpt.dist", "ckpt-previous.dist", "ckpt-best.dist", "run.pt"
# While they are being written. Each process has names of its own; a killed one may leave some behind.
ASIDES = ("ckpt*.pt.*.new", "ckpt*.dist.*.new")
ALIGN = 64  # bytes: tensors begin at multiples of it, in memory and in the file
# Written in pieces that the processor's cache can hold, and flushed every so often: a gigabyte handed to the disk at
# once holds up everybody who reads or writes, the training loop's data included.
_CHUNK, _FLUSH_EVERY = 1 << 20, 16 << 20
# After each flush the writer rests this many times as long as the flush took, and leaves memory and disk to the
# training loop. The checkpoint is on the disk a little later, unless the loop waits for it.
_REST = 3.0
HURRY = b"hurry"  # sent by a trainer that waits

# A part of the file: its name, and its bytes or (offset, length) in the shared memory.
Part = tuple[str, "bytes | tuple[int, int]"]


class Written(NamedTuple):
    """What became of one checkpoint."""

    iteration: int
    seconds: float
    num_bytes: int
    problem: str | None


class _PacedFile(io.FileIO):
    """A file that goes to the disk as it is written, and does not stay in memory that others may want."""

    def __init__(self, path: Path, rest: Callable[[float], object]) -> None:
        super().__init__(path, "w")
        self._flushed, self._rest, self._woke = 0, rest, time.perf_counter()
        self.rested_s = 0.0

    def write(self, data: Any) -> int:
        """All of it, or an error."""
        view = memoryview(data).cast("B")
        written = 0
        while written < len(view):
            written += super().write(view[written:])
        end = self.tell()
        if end - self._flushed >= _FLUSH_EVERY:
            os.fsync(self.fileno())
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(self.fileno(), self._flushed, end - self._flushed, os.POSIX_FADV_DONTNEED)
            self._flushed = end
            now = time.perf_counter()
            self._rest(_REST * (now - self._woke))
            self._woke = time.perf_counter()
            self.rested_s += self._woke - now
        return written


def aside_of(path: Path) -> Path:
    """Where a process writes what will have the name `path` when it is whole."""
    return path.with_name(f"{path.name}.{os.getpid()}.new")


def write_file(
    folder: Path, parts: Iterable[Part], memory: memoryview, rest: Callable[[float], object], *, is_best: bool = False
) -> tuple[int, float]:
    """Write a checkpoint as described above; returns its size in bytes, and the seconds of resting in between."""
    target = folder / NAME
    aside = aside_of(target)
    try:
        with _PacedFile(aside, rest) as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                for name, content in parts:
                    view = content if isinstance(content, bytes) else memory[content[0] : content[0] + content[1]]
                    _write_part(archive, name, memoryview(view), file.tell())
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
    except BaseException:
        with contextlib.suppress(OSError):
            aside.unlink()  # half a file on a full disk helps nobody
        raise
    if target.exists():
        # A second name for the old file first: there is never a moment without `ckpt.pt`.
        _name_too(target, folder / PREVIOUS)
    if is_best:
        # Before the rename: a kill in between must not leave a `ckpt.pt` whose best loss nothing has.
        _name_too(aside, folder / BEST)
    aside.replace(target)
    sync_folder(folder)
    return size, file.rested_s


def _name_too(path: Path, other: Path) -> None:
    """Give a file a second name, which another file may have so far; a copy where a file cannot have two."""
    aside = aside_of(other)
    aside.unlink(missing_ok=True)
    try:
        os.link(path, aside)
    except OSError:
        _copy(path, aside)
    aside.replace(other)


def part_best(folder: Path) -> None:
    """Make the best checkpoint a file apart where it is the newest one as well: the run is over.

    nanoGPT's train.py, which may go on from here, writes into `ckpt.pt` as it is, and so into all its names.
    """
    newest, best = folder / NAME, folder / BEST
    with contextlib.suppress(OSError):
        if not newest.samefile(best):
            return
        aside = aside_of(best)
        try:
            _copy(newest, aside)
            aside.replace(best)
        finally:
            aside.unlink(missing_ok=True)


def _copy(path: Path, other: Path) -> None:
    with path.open("rb") as source, other.open("wb") as copy:
        shutil.copyfileobj(source, copy, _CHUNK)
        os.fsync(copy.fileno())


def sync_folder(folder: Path) -> None:
    """Names are kept in the folder, and the folder is a file that must reach the disk too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_part(archive: zipfile.ZipFile, name: str, content: memoryview, position: int) -> None:
    info = zipfile.ZipInfo(name)
    is_huge = len(content) >= 1 << 31
    header = 30 + len(name.encode()) + 4 + (20 if is_huge else 0)
    padding = -(position + header) % ALIGN
    info.extra = struct.pack("<HH", 0x4246, padding) + b"Z" * padding  # the field that PyTorch pads with
    with archive.open(info, "w", force_zip64=is_huge) as out:
        for start in range(0, len(content), _CHUNK):
            out.write(content[start : start + _CHUNK])


def serve(memory_name: str) -> None:
    """The writer's whole life: take a job, write it, answer, until the trainer is gone."""
    with Path(memory_name).open("r+b") as file:
        memory = memoryview(mmap.mmap(file.fileno(), 0))
    with contextlib.suppress(OSError):
        os.nice(19)  # the training loop goes first; when it waits for us, we have the machine
    jobs: list[bytes] = []
    arrived, hurry = threading.Condition(), threading.Event()

    def listen() -> None:
        """On a thread of its own, so that the trainer's end also ends a write half done: nothing is lost by that."""
        while True:
            size = sys.stdin.buffer.read(8)
            body = sys.stdin.buffer.read(int.from_bytes(size, "little")) if len(size) == 8 else b""
            if not body:
                os._exit(0)
            if body == HURRY:
                hurry.set()
                continue
            hurry.clear()
            with arrived:
                jobs.append(body)
                arrived.notify()

    threading.Thread(target=listen, daemon=True).start()
    while True:
        with arrived:
            while not jobs:
                arrived.wait()
            job = pickle.loads(jobs.pop(0))  # from our own parent, over a pipe that nobody else has
        start = time.perf_counter()
        problem, num_bytes, rested_s = None, 0, 0.0
        try:
            num_bytes, rested_s = write_file(
                Path(job["folder"]), job["parts"], memory, hurry.wait, is_best=job["is_best"]
            )
        except OSError as trouble:
            problem = trouble.strerror or str(trouble)
        # What a trainer that waited for it would have waited.
        seconds = time.perf_counter() - start - rested_s
        answer = {"seconds": seconds, "num_bytes": num_bytes, "problem": problem}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
