"""The checkpoints that a folder has, and whether they are what was written.

Every part of a file carries a CRC-32, which PyTorch does not look at.
"""

from __future__ import annotations

import mmap
import struct
import zipfile
import zlib
from pathlib import Path

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
