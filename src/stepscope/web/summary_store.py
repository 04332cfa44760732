"""Summaries on disk, so that a second visit is instant: one SQLite file in the user's cache folder.

It is a cache: damaged, locked, of another version or on a disk that cannot be written, it costs the time to read the
logs again and nothing else. Several servers may use it at once.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3

_NAME = "runs.sqlite"
_BUSY_S = 1.0
_MOST_ROWS = 50_000
# When a row was last asked for is written down once in so long: reading must not become writing.
_DAY_S = 86_400


def cache_folder() -> Path | None:
    """Stepscope's part of the user's cache folder; None where there is none."""
    stated = os.environ.get("XDG_CACHE_HOME", "")
    try:
        if Path(stated).is_absolute():
            return Path(stated) / "stepscope"
        if sys.platform == "win32":
            local = os.environ.get("LOCALAPPDATA", "")
            return Path(local) / "stepscope" / "cache" if local else None
        return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "stepscope"
    except RuntimeError:  # no home
        return None


class SummaryStore:
    """Texts by the numbers of what they were made of. Used by one thread."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._base: sqlite3.Connection | None = None
        self._is_open = False

    def get(self, keys: Iterable[int]) -> dict[int, str]:
        """What is known of these, in one go."""
        wanted = list(keys)
        found: dict[int, str] = {}
        today = int(time.time()) // _DAY_S

        def look(base: sqlite3.Connection) -> None:
            stale = []
            for start in range(0, len(wanted), 500):
                part = wanted[start : start + 500]
                marks = ",".join("?" * len(part))
                for key, text, used in base.execute(f"SELECT key, text, used FROM texts WHERE key IN ({marks})", part):
                    found[int(key)] = str(text)
                    if used != today:
                        stale.append((today, key))
            if stale:
                base.executemany("UPDATE texts SET used = ? WHERE key = ?", stale)
                base.commit()

        self._try(look)
        return found

    def put(self, texts: dict[int, str]) -> None:
        """Keep these."""
        today = int(time.time()) // _DAY_S

        def write(base: sqlite3.Connection) -> None:
            rows = [(key, text, today) for key, text in texts.items()]
            base.executemany("INSERT OR REPLACE INTO texts VALUES (?, ?, ?)", rows)
            base.commit()

        if texts:
            self._try(write)

    def close(self) -> None:
        """Let go of the file."""
        if self._base is not None:
            self._base.close()
        self._base, self._is_open = None, False

    def _try(self, use: Callable[[Any], None]) -> None:
        """Use the file; a damaged one is thrown away, and what cannot be done is left undone."""
        try:
            import sqlite3
        except ImportError:  # a Python without it
            return
        for _ in range(2):
            try:
                if not self._is_open:
                    self._is_open, self._base = True, self._opened()
                if self._base is not None:
                    use(self._base)
                return
            except sqlite3.OperationalError:  # locked for long, a full disk, one that cannot be written
                with suppress(sqlite3.Error):
                    if self._base is not None:
                        self._base.rollback()
                return
            except sqlite3.DatabaseError:
                self._throw_away()
            except OSError:
                return

    def _opened(self) -> sqlite3.Connection | None:
        import sqlite3

        if self._folder is None:
            return None
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / _NAME
        if not path.exists():
            path.touch(mode=0o600)
        base = sqlite3.connect(path, timeout=_BUSY_S, check_same_thread=False)
        try:
            base.execute("PRAGMA synchronous = OFF")
            base.execute("CREATE TABLE IF NOT EXISTS texts (key INTEGER PRIMARY KEY, text TEXT, used INTEGER)")
            (num,) = base.execute("SELECT count(*) FROM texts").fetchone()
            if num > _MOST_ROWS:
                base.execute(
                    "DELETE FROM texts WHERE key IN (SELECT key FROM texts ORDER BY used LIMIT ?)", (num - _MOST_ROWS,)
                )
            base.commit()
        except sqlite3.Error:
            base.close()
            raise
        return base

    def _throw_away(self) -> None:
        self.close()
        if self._folder is not None:
            for name in (_NAME, f"{_NAME}-journal"):
                with suppress(OSError):
                    (self._folder / name).unlink()
