"""A store: a folder of Parquet files, one per chunk and table, and nothing else that could disagree with them.

A part is written aside and renamed, the table `runs` last: a part that has no `runs` was cut off, and is removed and
made again. Many small parts are put together, and what newer readings replace is left out then.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepscope.core.errors import InputError, UsageError
from stepscope.fleet.tables import SCHEMA, TABLES, Rows, arrow_schema

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as arrow

_LOCK = ".lock"
# Parts of less than this are put together, so many at a time.
_SMALL_BYTES, _MANY = 4 << 20, 64
# A log that has fallen silent may go on; after this long it does not, and is not read again.
SETTLED_S = 86_400.0
_OPEN_STATES = ("running", "unknown")


class Store:
    """The tables below one folder. One scan at a time writes; anybody may read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise UsageError("needs-extra", place="stepscope fleet", extra="fleet") from None

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Hold the store alone, without what an interrupted scan left half done."""
        try:
            for table in TABLES:
                (self.folder / table).mkdir(parents=True, exist_ok=True)
            lock = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as problem:
            raise InputError("cannot-write", place=str(self.folder), reason=problem.strerror or "") from None
        try:
            _hold(lock, self.folder)
            self._clean()
            yield
        finally:
            os.close(lock)  # and the lock with it

    def parts(self, table: str) -> list[Path]:
        """The files of a table whose readings are whole, and which no other file replaces."""
        names = self._names()
        found = ((self.folder / table / name) for name in names)
        return [path for path in found if path.is_file()]

    def write(self, rows: Rows, *, replaces: list[str] | None = None) -> None:
        """Add a part. All of it is there afterwards or, at any moment before, none."""
        import pyarrow as arrow

        tables = {
            table: arrow.Table.from_pylist(rows[table], schema=arrow_schema(table)) for table in TABLES if rows[table]
        }
        self._write_tables(tables, replaces or [])

    def finished(self, now: dt.datetime) -> npt.NDArray[np.int64]:
        """The digests of all candidates whose rows are there and will not change as time goes by, sorted."""
        import numpy as np
        from pyarrow import compute, parquet

        found = [np.zeros(0, dtype=np.int64)]
        for path in self.parts("runs"):
            table = parquet.read_table(path, columns=["digest", "state", "written_at"])
            is_open = compute.fill_null(compute.is_in(table["state"], value_set=_strings(_OPEN_STATES)), False)
            before = now.astimezone(dt.UTC) - dt.timedelta(seconds=SETTLED_S)
            is_new = compute.greater(table["written_at"], before)
            kept = table.filter(compute.invert(compute.and_(is_open, is_new)))
            # A candidate with one open run is read again as a whole.
            open_digests = table.filter(compute.and_(is_open, is_new))["digest"]
            kept = kept.filter(compute.invert(compute.is_in(kept["digest"], value_set=open_digests.combine_chunks())))
            found.append(kept["digest"].to_numpy())
        return np.unique(np.concatenate(found))

    def compact(self) -> None:
        """Put small parts together, once there are many, and leave out what newer readings replace."""
        small = [path for path in self.parts("runs") if path.stat().st_size < _SMALL_BYTES]
        while len(small) >= _MANY:
            batch, small = small[:_MANY], small[_MANY:]
            self._merge([path.name for path in batch])

    def _merge(self, names: list[str]) -> None:
        import pyarrow as arrow
        from pyarrow import compute, parquet

        # Parts of an older version may lack columns.
        runs = arrow.concat_tables(
            [_whole(parquet, self.folder / "runs" / name) for name in names], promote_options="default"
        )
        readings = list(zip(runs["candidate"].to_pylist(), runs["scanned_at"].to_pylist(), strict=True))
        newest = dict(sorted(readings))
        runs = runs.filter(arrow.array([newest[candidate] == at for candidate, at in readings])).sort_by("uri")
        tables = {"runs": runs}
        for table in TABLES:
            paths = [self.folder / table / name for name in names if (self.folder / table / name).is_file()]
            if table != "runs" and paths:
                rows = arrow.concat_tables([_whole(parquet, path) for path in paths], promote_options="default")
                tables[table] = rows.filter(compute.is_in(rows["read_id"], value_set=runs["read_id"].combine_chunks()))
        self._write_tables(tables, names)
        for name in names:
            self._remove(name)

    def _write_tables(self, tables: dict[str, arrow.Table], replaces: list[str]) -> None:
        from pyarrow import parquet

        name = f"part-{uuid.uuid4().hex[:16]}.parquet"
        about = {"schema": SCHEMA, "replaces": json.dumps(replaces)}
        for table in [*(one for one in tables if one != "runs"), "runs"]:
            path, aside = self.folder / table / name, self.folder / table / f".{name}.aside"
            try:
                with aside.open("wb") as file:
                    data = tables[table].replace_schema_metadata(about)
                    parquet.write_table(data, file, compression="zstd")
                    file.flush()
                    os.fsync(file.fileno())
                aside.replace(path)
            except OSError as problem:
                with contextlib.suppress(OSError):
                    aside.unlink()
                raise InputError("cannot-write", place=str(path), reason=problem.strerror or "") from None

    def _names(self) -> list[str]:
        """The parts that count: those with `runs`, without those that a part of several replaces."""
        from pyarrow import parquet

        found = sorted(path.name for path in (self.folder / "runs").glob("part-*.parquet"))
        replaced: set[str] = set()
        for name in found:
            with contextlib.suppress(FileNotFoundError):  # another scan has just put it together with others
                replaced.update(json.loads(_metadata(parquet, self.folder / "runs" / name).get(b"replaces", b"[]")))
        return [name for name in found if name not in replaced]

    def _clean(self) -> None:
        """Remove parts that were cut off, and those that have been replaced."""
        kept = set(self._names())
        for table in TABLES:
            for path in (self.folder / table).iterdir():
                if path.name.endswith(".aside") or (path.suffix == ".parquet" and path.name not in kept):
                    path.unlink(missing_ok=True)

    def _remove(self, name: str) -> None:
        # The table `runs` first: without it, no reader looks at the others.
        for table in ["runs", *(table for table in TABLES if table != "runs")]:
            (self.folder / table / name).unlink(missing_ok=True)


def _whole(parquet: Any, path: Path) -> Any:
    """The table in one file: `read_table` takes the file for a data set, which takes four times as long."""
    with parquet.ParquetFile(path) as file:
        return file.read()


def _metadata(parquet: Any, path: Path) -> dict[bytes, bytes]:
    return parquet.read_schema(path).metadata or {}


def _strings(values: tuple[str, ...]) -> Any:
    import pyarrow as arrow

    return arrow.array(values, type=arrow.string())


def _hold(lock: int, folder: Path) -> None:
    """Take the lock; an error where another scan has it."""
    try:
        import fcntl
    except ImportError:
        return  # Windows: two scans of one store at a time are not prevented
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError("fleet-store-busy", place=str(folder)) from None
