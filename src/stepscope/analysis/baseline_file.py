"""A run's figures as a small JSON document, to compare later runs with where its log is no longer there.

A baseline may come from anybody: a cache of a CI service, a pull request. So what is read back is checked value by
value and bounded; nothing of it is opened, run or trusted as a path.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np

from stepscope import __version__
from stepscope.analysis.run_figures import MOST_NORMAL, RunFigures
from stepscope.core.boundary import read_file
from stepscope.core.errors import InputError
from stepscope.core.redact import redact
from stepscope.core.settings import Value
from stepscope.ledger.phases import Phase

SCHEMA = "stepscope.baseline/1"
_MOST_BYTES = 1 << 20
_MOST_SETTINGS, _MOST_TEXT, _MOST_PATHS = 200, 200, 64
_MOST_SECONDS = 1e10
_DIGITS = 6
_PHASES: tuple[Phase, ...] = get_args(Phase)
_HEAD_BYTES = 200


def to_text(run: RunFigures) -> str:
    """The document: seconds to six digits, secrets masked."""
    data = {
        "schema": SCHEMA,
        "tool_version": __version__,
        "paths": [redact(path, _MOST_TEXT) for path in run.paths[:_MOST_PATHS]],
        "format": run.format,
        "settings": dict(list(_plain(run.settings).items())[:_MOST_SETTINGS]),
        "steps": run.steps,
        "wall_s": run.wall_s,
        "typical_s": run.typical_s,
        "evaluation_each_s": run.evaluation_each_s,
        "checkpoint_each_s": run.checkpoint_each_s,
        "tokens": run.tokens,
        "phases": run.phases,
        "doubt_s": run.doubt_s,
        "confidence": run.confidence,
        "normal_s": [float(f"{seconds:.{_DIGITS}g}") for seconds in run.normal_s.tolist()],
    }
    return json.dumps(data, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def read_baseline(place: str) -> RunFigures | None:
    """The figures in a file; None where it is no baseline. A damaged one is an error."""
    try:
        path = Path(place)
        data = read_file(path, _MOST_BYTES + 1) if path.is_file() else None
    except (OSError, ValueError):
        return None  # what is wrong with it is said by who reads it as a log
    if data is None or SCHEMA.encode() not in data[:_HEAD_BYTES]:
        return None
    if len(data) > _MOST_BYTES:
        raise InputError("bad-baseline", place=place, reason=f"> {_MOST_BYTES >> 20} MiB")
    try:
        return _figures(json.loads(data))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        raise InputError("bad-baseline", place=place, reason=redact(str(problem), 100)) from None


def _plain(settings: Mapping[str, Value]) -> dict[str, Value]:
    """Settings that JSON holds as they are; of long texts the beginning."""
    return {
        redact(name, _MOST_TEXT): redact(value, _MOST_TEXT) if isinstance(value, str) else value
        for name, value in settings.items()
        if isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value))
    }


def _figures(data: Any) -> RunFigures:
    if data["schema"] != SCHEMA:
        raise ValueError("schema")
    settings = data["settings"]
    if len(settings) > _MOST_SETTINGS or not all(isinstance(one, (str, bool, int, float)) for one in settings.values()):
        raise ValueError("settings")
    normal = np.array([_seconds(one) for one in data["normal_s"][:MOST_NORMAL]], dtype=np.float64)
    steps, paths = _seconds(data["steps"]), data["paths"]
    if steps < 1 or not isinstance(paths, list):
        raise ValueError("steps")
    return RunFigures(
        paths=tuple(redact(str(path), _MOST_TEXT) for path in paths[:_MOST_PATHS]),
        format=redact(str(data["format"]), _MOST_TEXT),
        settings=_plain(settings),
        steps=steps,
        wall_s=_seconds(data["wall_s"]),
        typical_s=_optional(data["typical_s"]),
        evaluation_each_s=_optional(data["evaluation_each_s"]),
        checkpoint_each_s=_optional(data["checkpoint_each_s"]),
        tokens=_optional(data["tokens"]) or None,
        phases=_by_phase(data["phases"]),
        doubt_s=_by_phase(data["doubt_s"]),
        normal_s=normal,
        confidence=min(1.0, _seconds(data["confidence"])),
    )


def _by_phase(data: Any) -> dict[Phase, float]:
    unknown = set(data) - set(_PHASES)
    if unknown:
        raise ValueError("phases")
    return {phase: _seconds(data[phase]) for phase in _PHASES if phase in data}


def _optional(value: Any) -> float | None:
    return None if value is None else _seconds(value)


def _seconds(value: Any) -> float:
    """A number that time can be."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _MOST_SECONDS:
        raise ValueError("number")
    return float(value)
