"""A run in MLflow's file store: a folder with a file per metric, put together as one document.

Each file holds one metric; only together do they show when a step ended and when it was evaluated.
"""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

from stepscope.core.boundary import is_readable, open_file
from stepscope.source.walk import files_below

HEAD = b'{"mlflow_run":'
_MAX_FILES = 2_000
_MAX_PARAM_CHARS = 500


def newest_run(folder: Path) -> Path | None:
    """The run that was logged to last in a store, an experiment or a run's own folder; None where that is none."""
    if not (folder / "meta.yaml").is_file() and not any(islice(folder.glob("*/meta.yaml"), 1)):
        return None
    found = [file.path.parent for file in files_below(folder) if file.path.name == "meta.yaml"]
    moments = {run: moment for run in found if (moment := last_written(run)) is not None}
    return max(moments, key=lambda run: moments[run], default=None)


def last_written(run: Path) -> float | None:
    """When a value was last logged to a run; None where there is none."""
    return max((path.stat().st_mtime for path in _files(run / "metrics")), default=None)


def run_document(run: Path) -> bytes:
    """The metrics of a run as they were written, and its parameters."""
    texts = {
        kind: {path.relative_to(run / kind).as_posix(): _text(path) for path in _files(run / kind)}
        for kind in ("metrics", "params")
    }
    texts["params"] = {name: text[:_MAX_PARAM_CHARS] for name, text in texts["params"].items()}
    return HEAD + json.dumps(texts).encode() + b"}"


def _text(path: Path) -> str:
    with open_file(path) as file:
        return file.read().decode(errors="replace")


def _files(folder: Path) -> list[Path]:
    # System metrics are left out: they are sampled by a clock of their own.
    paths = islice(folder.rglob("*"), _MAX_FILES) if is_readable(folder) and folder.is_dir() else ()
    files = (path for path in paths if path.is_file() and is_readable(path))
    return sorted(path for path in files if "system" not in path.relative_to(folder).parts[:1])
