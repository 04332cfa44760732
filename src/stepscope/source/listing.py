"""The files below a folder of this machine, a folder at a time, however many there are.

Nothing is opened. Only the names of one folder are in memory at a time, and the folders still to come.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from stepscope.core.errors import InputError
from stepscope.source.files import is_no_log
from stepscope.source.walk import files_below

# Folders whose names say that they hold one rank's share of a run: their files belong to the folder above.
_RANK_FOLDER = re.compile(r"(?i)(?:rank|worker|proc|process|local_rank|attempt)[-_.]?\d{1,5}")
# Bare numbers only below one of them (torchelastic's `attempt_0/3`): elsewhere they number runs.
_RANK_BELOW = re.compile(_RANK_FOLDER.pattern + r"|\d{1,5}")
_RANK_LEVELS = 3
# Never looked into: what a package manager, a version control or a compiler keeps.
_PASSED = frozenset({".git", ".hg", "node_modules", "__pycache__", ".venv", "site-packages"})

_WANDB_FOLDERS = frozenset({"files", "logs", "tmp"})


class Listed(NamedTuple):
    """A file: its address, its size in bytes, when it was written, and what changes whenever its bytes do."""

    uri: str
    size: int
    mtime: float
    version: str  # a bucket's etag, else size and time


class Listing(NamedTuple):
    """The files of one folder that may be logs, those of its ranks' folders included; or an MLflow run's figures."""

    folder: str
    files: tuple[Listed, ...]
    is_mlflow: bool = False


def listings(place: str, note: Callable[[str], None]) -> Iterator[Listing]:
    """The folders below a path, each with its files; `note` is called for each folder that cannot be read."""
    root = Path(place).absolute()
    try:
        status = root.stat()
    except OSError as problem:
        if isinstance(problem, FileNotFoundError):
            raise InputError("no-such-file", place=place, nearby="none") from None
        raise InputError("unreadable", place=place, reason=problem.strerror or str(problem)) from None
    if not stat.S_ISDIR(status.st_mode):
        yield Listing(str(root.parent), (_listed(str(root), status),))
        return
    waiting = [str(root)]
    while waiting:
        folder = waiting.pop()
        figures = _mlflow_figures(Path(folder))
        if figures:
            yield Listing(folder, figures, is_mlflow=True)
            continue
        files: list[Listed] = []
        below: list[str] = []
        _look_into(folder, files, below, note, 0)
        own = of_same_run(files)
        waiting += sorted((path for path in below if path.rpartition(os.sep)[2] not in own), reverse=True)
        if files:
            yield Listing(folder, tuple(sorted(files)))


def is_passed(name: str) -> bool:
    """Whether a folder of this name is never looked into."""
    return name.startswith(".") or name in _PASSED


def of_same_run(files: Sequence[Listed]) -> frozenset[str]:
    """The folders beside these files that are the same run again: what W&B keeps of its output, its own debug log."""
    return _WANDB_FOLDERS if any(file.uri.endswith(".wandb") for file in files) else frozenset()


def owner_of(folders: Sequence[str]) -> Sequence[str]:
    """The folder that the files of a folder belong to: itself or, for a rank's, the one above its ranks."""
    num_owned = level = 0
    for depth, name in enumerate(folders, 1):
        level = level + 1 if _is_rank(name, level) else 0
        num_owned = num_owned if level else depth
    return folders[:num_owned]


def _is_rank(name: str, level: int) -> bool:
    """Whether a folder is one rank's, where `level` folders right above it are ranks'."""
    names = _RANK_BELOW if level else _RANK_FOLDER
    return level < _RANK_LEVELS and names.fullmatch(name) is not None


def _look_into(folder: str, files: list[Listed], below: list[str], note: Callable[[str], None], level: int) -> None:
    try:
        entries = os.scandir(folder)
    except OSError:
        note(folder)
        return
    ranks: list[str] = []
    with entries:
        for entry in entries:
            name = entry.name
            # A link's target is met where it lies, or is no part of what was asked for.
            if is_passed(name) or entry.is_symlink():
                continue
            try:
                if entry.is_dir():
                    (ranks if _is_rank(name, level) else below).append(entry.path)
                elif not is_no_log(name):
                    status = entry.stat()
                    if stat.S_ISREG(status.st_mode) and status.st_size:
                        files.append(_listed(entry.path, status))
            except OSError:
                continue  # gone, or a link to nothing
    for path in sorted(ranks):
        _look_into(path, files, below, note, level + 1)


def _mlflow_figures(folder: Path) -> tuple[Listed, ...]:
    """The metrics and parameters of an MLflow run's folder; none where it is not one, or only by its links."""
    own = {name for name in ("meta.yaml", "metrics", "params") if not (folder / name).is_symlink()}
    if not {"meta.yaml", "metrics"} <= own or not (folder / "meta.yaml").is_file() or not (folder / "metrics").is_dir():
        return ()
    kinds = (folder / kind for kind in ("metrics", "params") if kind in own)
    found = [file for kind in kinds if kind.is_dir() for file in files_below(kind)]
    return tuple(sorted(_listed(str(file.path), file.status) for file in found))


def _listed(path: str, status: os.stat_result) -> Listed:
    return Listed(path, status.st_size, status.st_mtime, f"{status.st_size}-{status.st_mtime_ns}")
