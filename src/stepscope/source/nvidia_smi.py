"""What `nvidia-smi` prints, saved or pasted: its table, its long form (`-q`), its CSV; once or again and again (`-l`).

Who asked last is right: of a series, the last reading counts, and its time.
"""

from __future__ import annotations

from pathlib import Path

from stepscope.core.boundary import read_file
from stepscope.core.errors import InputError
from stepscope.source.hardware import Hardware, busiest, plausible
from stepscope.source.smi_csv import parse_csv
from stepscope.source.smi_query import parse_query
from stepscope.source.smi_table import parse_tables

__all__ = ["Hardware", "parse_nvidia_smi", "read_nvidia_smi"]

# A series of a night is some megabytes; its end is what counts.
_MOST_BYTES = 8 << 20
_LONGEST_LINE = 1_000


def read_nvidia_smi(path: Path) -> Hardware:
    """The busiest GPU of the last reading in a saved output."""
    try:
        data = read_file(path, _MOST_BYTES, only_end=True)
    except FileNotFoundError:
        raise InputError("no-such-file", place=str(path), nearby="none") from None
    except OSError as problem:
        raise InputError("unreadable", place=str(path), reason=problem.strerror or str(problem)) from None
    if data is None:
        raise InputError("nvidia-smi-too-large", place=str(path), size=f"{_MOST_BYTES >> 20} MiB")
    readings = parse_nvidia_smi(data.decode("utf-8", errors="replace"))
    gpu = busiest(readings[-1]) if readings else None
    if gpu is None:
        raise InputError("not-nvidia-smi", place=str(path))
    return gpu


def parse_nvidia_smi(text: str) -> list[list[Hardware]]:
    """Every reading in a text, in order; a reading is the GPUs in their order."""
    text = "\n".join(line[:_LONGEST_LINE] for line in text.replace("\0", "").lstrip("\ufeff").splitlines())
    for parse in (parse_tables, parse_query, parse_csv):
        readings = [[plausible(gpu) for gpu in gpus] for gpus in parse(text) if gpus]
        if readings:
            return readings
    return []
