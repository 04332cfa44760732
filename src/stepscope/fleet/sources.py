"""The places that a store was filled from: where `fleet watch` looks. They say nothing of what has been read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from stepscope.core.errors import InputError
from stepscope.fleet.buckets import is_bucket
from stepscope.fleet.tables import SCHEMA

_FILE = "sources.json"


def remember_sources(folder: Path, places: Iterable[str]) -> None:
    """Add places to those that a store is filled from."""
    known = sources(folder)
    found = [*known, *(place if is_bucket(place) else str(Path(place).absolute()) for place in places)]
    found = list(dict.fromkeys(found))
    if found == known:
        return
    path, aside = folder / _FILE, folder / f".{_FILE}.aside"
    try:
        aside.write_text(json.dumps({"schema": SCHEMA, "places": found}, indent=1), encoding="utf-8")
        aside.replace(path)
    except OSError as problem:
        raise InputError("cannot-write", place=str(path), reason=problem.strerror or "") from None


def sources(folder: Path) -> list[str]:
    """The places that a store is filled from; none of a store that is not there."""
    with suppress(OSError, ValueError, TypeError, LookupError):
        found = json.loads((folder / _FILE).read_text(encoding="utf-8"))["places"]
        return [str(place) for place in found]
    return []
