"""Whether a checkpoint is what was written: every part of the file carries a CRC-32, which PyTorch does not look at."""

from __future__ import annotations

import mmap
import struct
import zipfile
import zlib
from pathlib import Path

_CHECKED_BYTES = 1 << 24


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
