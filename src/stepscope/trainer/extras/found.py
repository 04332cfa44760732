"""The checkpoints that a folder has: which of them are what was written, and what is in the newest of those.

Every part of a file carries a CRC-32, which PyTorch does not look at.
"""

from __future__ import annotations

import contextlib
import mmap
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from stepscope.trainer.config import NAMES, TrainerError
from stepscope.trainer.extras.writer import BEST, NAME, PREVIOUS, SLICES, SLICES_BEST, SLICES_PREVIOUS, SMALL

_CHECKED_BYTES = 1 << 24


def candidates(folder: Path, *, best: bool = False) -> list[Path]:
    """The checkpoints of a folder, newest first. A run writes files or folders; who has both changed from one to the
    other, and the younger pair is the one that counts. `best` puts the best one before them."""
    if best:
        found = [[path] for name in (BEST, SLICES_BEST) if (path := folder / name).exists()]
        return [*(path for (path,) in sorted(found, key=_moment, reverse=True)), *candidates(folder)]
    pairs = ((NAME, PREVIOUS), (SLICES, SLICES_PREVIOUS))
    found = [[path for name in pair if (path := folder / name).exists()] for pair in pairs]
    return [path for pair in sorted(filter(None, found), key=_moment, reverse=True) for path in pair]


def _moment(pair: list[Path]) -> float:
    newest = pair[0] / SMALL if pair[0].is_dir() else pair[0]
    return newest.stat().st_mtime if newest.exists() else 0.0


def damage(path: Path) -> str | None:
    """What is wrong with a checkpoint, by the checksum of each of its parts; None: nothing."""
    if path.is_dir():
        from stepscope.trainer.extras import sharded

        return sharded.damage(path)
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
            bad = next((part.filename for part in parts if not _is_whole(part, memory)), None)
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, struct.error) as problem:
        return str(problem)
    return None if bad is None else f"the checksum of {bad} does not match"


def _is_whole(part: zipfile.ZipInfo, memory: mmap.mmap) -> bool:
    """Whether a part of a zip file is what was written. PyTorch packs nothing, so its bytes lie there as they are."""
    name_bytes, extra_bytes = struct.unpack_from("<HH", memory, part.header_offset + 26)
    start = part.header_offset + 30 + name_bytes + extra_bytes
    end = start + part.file_size
    if part.compress_type != zipfile.ZIP_STORED or end > len(memory):
        return False
    checksum = 0
    with memoryview(memory) as view:
        for at in range(start, end, _CHECKED_BYTES):
            with view[at : min(at + _CHECKED_BYTES, end)] as piece:
                checksum = zlib.crc32(piece, checksum)
    return checksum == part.CRC


# -- loading ------------------------------------------------------------------------------------------------------

# What PyTorch raises for a file that is no checkpoint, depending on what is wrong with it.
_UNREADABLE = (pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError, LookupError)


def load(
    folder: Path,
    *,
    say: Callable[..., None] | None = None,
    with_optimizers: bool = True,
    in_slices: bool = False,
    best: bool = False,
) -> dict[str, Any]:
    """The newest whole checkpoint of a folder: ours or nanoGPT's. Only tensors and plain values are believed.

    Every part is compared with its CRC-32 first, in the memory that the tensors are then used from: the file is read
    once. One that was written in slices (see `extras/sharded`) is put together; `in_slices` leaves them where they are
    and says so under "slices". Without `with_optimizers` those need not be there. `best`: the best one where there is
    one.
    """
    broken: list[str] = []
    for path in candidates(folder, best=best):
        problem = damage(path)
        if problem is None:
            try:
                if path.is_dir():
                    from stepscope.trainer.extras import sharded

                    if in_slices:
                        return {**sharded.read_small(path), "slices": str(path)}
                    return sharded.read_whole(path, with_optimizers=with_optimizers)
                state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
                if isinstance(state, dict) and {"model", "model_args"} <= state.keys():
                    return state
                problem = "no model in it"
            except _UNREADABLE as trouble:
                problem = str(trouble).partition("\n")[0]
        broken.append(f"{path.name}: {problem}")
        if say is not None:
            say("train-broken-checkpoint", path=str(path), reason=problem)
    if broken:
        raise TrainerError("train-no-whole-checkpoint", place=str(folder), reason="; ".join(broken))
    raise TrainerError("train-no-checkpoint", place=str(folder / NAME))


def saved_settings(folder: Path) -> dict[str, Any]:
    """The settings that the newest checkpoint states; none where it cannot be read, which `load` then says."""
    for path in candidates(folder):
        file = path / SMALL if path.is_dir() else path
        with contextlib.suppress(*_UNREADABLE, AttributeError, TypeError):
            found = torch.load(file, map_location="cpu", weights_only=True, mmap=True)["config"]
            return {name: found[name] for name in NAMES if isinstance(found.get(name), bool | int | float | str)}
    return {}
