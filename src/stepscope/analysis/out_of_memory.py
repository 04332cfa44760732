"""What an out-of-memory message says in numbers, and the batch that needs less memory for the same training."""

from __future__ import annotations

import re
from typing import NamedTuple

from stepscope.run.model import Run

# "Tried to allocate 48.00 MiB. GPU 0 has a total capacity of 10.75 GiB of which 36.50 MiB is free." (PyTorch 2),
# "Tried to allocate 174.00 MiB (GPU 0; 15.00 GiB total capacity; 13.21 GiB already allocated; 57.12 MiB free; …" (1.x)
_SIZE = r"(\d+(?:\.\d+)?) ?(KiB|MiB|GiB|TiB)"
_ASKED = re.compile(rf"[Tt]ried to allocate {_SIZE}")
_TOTAL = re.compile(rf"total capac\w+ of {_SIZE}|{_SIZE} total capacity")
_FREE = re.compile(rf"of which {_SIZE} is free|{_SIZE} free")
_BYTES = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


class MemoryAsked(NamedTuple):
    """What did not fit, in bytes: what was asked for, what was free, and what the GPU has."""

    asked: float
    free: float
    total: float


class SmallerBatch(NamedTuple):
    """Half the sequences at once, twice as many times: the same tokens per step."""

    batch_size: int
    accumulation: int


def memory_asked(text: str) -> MemoryAsked | None:
    """The figures of PyTorch's message; None where one of them is missing."""
    found = [_bytes(pattern.search(text)) for pattern in (_ASKED, _FREE, _TOTAL)]
    asked, free, total = found
    return None if asked is None or free is None or total is None else MemoryAsked(asked, free, total)


def _bytes(match: re.Match[str] | None) -> float | None:
    if match is None:
        return None
    number, unit = (part for part in match.groups() if part is not None)
    return float(number) * _BYTES[unit]


def smaller_batch(run: Run) -> SmallerBatch | None:
    """The batch to try next; None where the log and the settings do not say what it was, or it cannot be halved."""
    batch = run.settings.get("batch_size")
    if batch is None or batch.origin == "default" or not isinstance(batch.value, int) or batch.value < 2:
        return None
    accumulation = run.settings.count("gradient_accumulation_steps") or 1
    if batch.value % 2:
        return SmallerBatch(1, accumulation * batch.value)
    return SmallerBatch(batch.value // 2, accumulation * 2)
