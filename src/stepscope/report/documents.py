"""The JSON Schemas of what Stepscope prints: one file per kind of document, in `schemas/`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parents[1] / "schemas"


@cache
def kinds() -> tuple[str, ...]:
    """The kinds of documents, by name: `report`, `compare` and so on."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.json")))


def schema_text(kind: str) -> str:
    """The JSON Schema (draft 2020-12) of a kind of document."""
    return (_FOLDER / f"{kind}.json").read_text(encoding="utf-8")


@cache
def schema(kind: str) -> dict[str, Any]:
    """The same as plain data."""
    found: dict[str, Any] = json.loads(schema_text(kind))
    return found
