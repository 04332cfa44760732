"""Open what the user points at and give its bytes in bounded chunks.

What the bytes mean is left to others; `lines.py` makes lines of them.
"""

from __future__ import annotations

import gzip
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from io import BufferedReader
from itertools import islice
from pathlib import Path, PurePath
from typing import BinaryIO, NamedTuple, Protocol, cast

from stepscope.core.boundary import open_file, open_named_pipe
from stepscope.core.errors import InputError
from stepscope.core.opening import is_pipe
from stepscope.source.recording import recorded_log, stamped_chunks
from stepscope.source.trainer_records import trainer_records

_SEARCHED_BYTES = 1 << 24  # before and after the middle of a long log, for rare lines
CHUNK_BYTES = 1 << 21  # enough lines that the work per chunk does not show, few enough to stay in the cache
_ARCHIVE_BYTES = 1 << 16
_MAGIC = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\x00": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}
# Text files that a trainer's folder may hold and that are certainly not logs.
_NOT_LOGS = {
    f".{kind}"
    for kind in ("py", "md", "yaml", "yml", "toml", "ini", "cfg", "html", "css", "js", "ipynb", "sh", "bin", "pt")
}
_MAX_FOLDER_FILES = 2000
_MOST_NAMED = 4  # where none of them is a log
_STDIN = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...
    def read1(self, size: int, /) -> bytes: ...


class Source(NamedTuple):
    """A file, a pipe or standard input. `mtime` and `size` (in bytes) are None where there are none."""

    name: str
    path: Path | None
    mtime: float | None
    is_recorded: bool = False  # written by `stepscope run`: the arrival time of each line is in a file next to it
    size: int | None = None
    is_mlflow: bool = False  # the folder of an MLflow run, with a file per metric
    pipe: Path | None = None  # a named pipe: read once, like standard input; `path` is None

    @property
    def is_plain(self) -> bool:
        """Whether the bytes are those of the file, any of which can be read at any time."""
        if self.path is None or self.is_recorded or self.is_mlflow or not self.path.is_file():
            return False
        with _open(self) as (_, plain):
            return plain

    def chunks(self, start: int = 0) -> Iterator[bytes]:
        """The decompressed bytes, a bounded chunk at a time. A broken archive ends where it breaks.

        `start` is where to begin in a plain file.
        """
        if self.is_recorded and self.path is not None:
            yield from stamped_chunks(self.path)
            return
        if self.is_mlflow and self.path is not None:
            from stepscope.source.mlflow import run_document  # imported for such folders only, as below

            yield run_document(self.path)
            return
        with _open(self) as (stream, plain):
            first = True
            if start:
                cast(BinaryIO, stream).seek(start)
            while True:
                try:
                    # Read no more than is unpacked: everything before the break in a broken archive must come out.
                    chunk = stream.read(CHUNK_BYTES) if plain else stream.read1(_ARCHIVE_BYTES)
                except (EOFError, zlib.error, lzma.LZMAError) as problem:
                    # A compressed log of a run that is still going ends in the middle: keep what came.
                    if first:
                        raise InputError("broken-archive", place=self.name, reason=str(problem)) from None
                    return
                except OSError as problem:
                    raise InputError("unreadable", place=self.name, reason=problem.strerror or str(problem)) from None
                if not chunk:
                    return
                first = False
                yield chunk

    def pieces(self, after: int, size: int) -> list[bytes]:
        """Whole lines from the middle and from the end of what follows the first `after` bytes of a plain file.

        None of one that is short, packed or a pipe. Each piece has at most `size` bytes, or three times as many where
        that is all there is: lines that come twice would count backwards. Before and after the middle, rare lines with
        a word of an evaluation or a checkpoint are pieces too, each with the lines around it.
        """
        if self.path is None or self.is_recorded or self.is_mlflow or (self.size or 0) <= after or not self.is_plain:
            return []
        try:
            with open_file(self.path) as stream:
                length = stream.seek(0, 2)
                if length - after <= 3 * size:
                    stream.seek(after)
                    return [stream.read(3 * size).partition(b"\n")[2]]
                from stepscope.source.rare_lines import rare_lines  # imported for long logs only

                found, begin = [], after
                for start in ((after + length - size) // 2, length - size):
                    stream.seek(begin)
                    found += rare_lines(stream.read(min(start - begin, _SEARCHED_BYTES)))
                    stream.seek(start)
                    found.append(stream.read(size).partition(b"\n")[2])
                    begin = start + size
                return found
        except OSError:
            return []

    def tail(self, size: int) -> bytes:
        """The last bytes of a plain file, from the start of a line; none of one that is short, packed or a pipe."""
        if self.path is None or self.is_mlflow:
            return b""
        try:
            with open_file(self.path) as stream:
                is_packed = any(stream.read(6).startswith(magic) for magic in _MAGIC)
                length = stream.seek(0, 2)
                if is_packed or length <= CHUNK_BYTES:
                    return b""
                stream.seek(length - size)
                return stream.read(size).partition(b"\n")[2]
        except OSError:
            return b""


def resolve(argument: str) -> list[Source]:
    """The sources that an argument means: one file, standard input, or a folder's candidates (best guess first)."""
    if not argument:
        raise InputError("no-such-file", place="''", nearby="none")
    if argument in _STDIN:
        return [Source(name=argument, path=None, mtime=None)]
    path = Path(argument)
    try:
        log = recorded_log(path)
        if log is not None:
            return [Source(name=argument, path=log, mtime=log.stat().st_mtime, is_recorded=True)]
        records = trainer_records(path)
        if records is not None:
            status = records.stat()
            return [Source(name=str(records), path=records, mtime=status.st_mtime, size=status.st_size)]
        if path.is_dir():
            from stepscope.source.mlflow import last_written, newest_run

            run = newest_run(path)
            if run is not None:
                return [Source(name=str(run), path=run, mtime=last_written(run), is_mlflow=True)]
            return _folder(path)
        stat = path.stat()
    except FileNotFoundError:
        raise InputError("no-such-file", place=argument, nearby=_nearest(path) or "none") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError("unreadable", place=argument, reason=reason) from None
    if is_pipe(stat.st_mode, argument):
        return [Source(name=argument, path=None, mtime=None, pipe=path)]
    return [Source(name=argument, path=path, mtime=stat.st_mtime, size=stat.st_size)]


def _folder(folder: Path) -> list[Source]:
    found = []
    from stepscope.source.walk import files_below  # imported for folders only

    for path, depth, status in files_below(folder):
        if is_no_log(path.name) or not status.st_size:
            continue
        if trainer_records(path) not in {None, path}:
            continue  # its run has exact records, which are in the list
        looks_like_log = any(part in path.name.lower() for part in ("log", "out", "train", "txt"))
        found.append((not looks_like_log, depth, -status.st_size, path, status.st_mtime))
    # Of very many, the best are looked at, not the first: how many names there are is bounded by the search.
    found = sorted(found, key=lambda item: item[:4])[:_MAX_FOLDER_FILES]
    if not found:
        raise without_log(folder)
    return [Source(name=str(path), path=path, mtime=mtime, size=-size) for *_, size, path, mtime in found]


def without_log(folder: Path) -> InputError:
    """That there is no log in a folder, and what there is."""
    from stepscope.source.walk import files_below

    names = [str(path.relative_to(folder)) for path, *_ in islice(files_below(folder), _MAX_FOLDER_FILES)]
    if not names:
        return InputError("folder-empty", place=str(folder))
    more = ["…"] if len(names) > _MOST_NAMED else []
    listed = ", ".join(names[:_MOST_NAMED] + more)
    return InputError("folder-without-log", place=str(folder), count=len(names), names=listed)


def is_no_log(name: str) -> bool:
    """Whether a file is certainly no log, by its name."""
    return name.startswith(".") or PurePath(name).suffix.lower() in _NOT_LOGS


def _nearest(path: Path) -> str:
    """A file next to the missing one with a similar name, to suggest; empty when there is none."""
    import difflib

    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return ""
    close = difflib.get_close_matches(path.name, names, n=1)
    return str(path.parent / close[0]) if close else ""


@contextmanager
def _open(source: Source) -> Iterator[tuple[_Readable, bool]]:
    """The stream of decompressed bytes, and whether it is the file itself."""
    if source.pipe is not None:
        try:
            piped = open_named_pipe(source.pipe, source.name)
        except OSError as problem:
            raise InputError("unreadable", place=source.name, reason=problem.strerror or str(problem)) from None
        with piped, _unpacked(piped, cast(BufferedReader, piped).peek(6)[:6]) as opened:
            yield opened
        return
    if source.path is None:
        if sys.stdin is None:
            raise InputError("unreadable", place=source.name, reason="standard input is closed")
        raw: BinaryIO = sys.stdin.buffer
        head = raw.peek(6)[:6] if hasattr(raw, "peek") else b""
        with _unpacked(raw, head) as opened:
            yield opened
        return
    try:
        raw = open_file(source.path)
    except OSError as problem:
        raise InputError("unreadable", place=source.name, reason=problem.strerror or str(problem)) from None
    with raw:
        head = raw.read(6)
        raw.seek(0)
        with _unpacked(raw, head) as opened:
            yield opened


@contextmanager
def _unpacked(raw: BinaryIO, head: bytes) -> Iterator[tuple[_Readable, bool]]:
    kind = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
    if kind == ".gz":
        with gzip.open(raw) as stream:
            yield stream, False
    elif kind == ".xz":
        with lzma.open(raw) as stream:
            yield stream, False
    elif kind == ".zst":
        with _open_zstd(raw) as stream:
            yield stream, False
    else:
        yield cast(_Readable, raw), True


def _open_zstd(raw: BinaryIO) -> AbstractContextManager[_Readable]:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    class Stream(zstd.ZstdFile):
        """A file whose damage is told as that of the other kinds of archives is."""

        def read1(self, size: int | None = -1) -> bytes:
            try:
                return super().read1(size)
            except zstd.ZstdError as problem:
                raise EOFError(str(problem)) from None

    stream: AbstractContextManager[_Readable] = Stream(raw)
    return stream
