"""What `stepscope run --trace` saw from inside a process: how often and for how long, by kind."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

TRACE = "trace.tsv"
# In the order in which reports tell them.
KINDS = ("evaluation", "checkpoint", "data", "gc", "compile", "optimizer", "retry")


class Inside(NamedTuple):
    """One kind of thing that happened inside: how often, seconds in all, and the longest."""

    kind: str
    num: int
    seconds: float
    longest_s: float


def read_inside(path: Path) -> tuple[Inside, ...] | None:
    """The totals of a recording's trace; None where there is no recording or it was not traced."""
    trace = (path if path.is_dir() else path.parent) / TRACE
    found: dict[str, list[float]] = {}
    try:
        with trace.open("rb") as file:
            for record in file:
                fields = record.rstrip(b"\n").split(b"\t")
                if len(fields) != 4:
                    continue  # torn by a kill
                try:
                    seconds = float(fields[2])
                except ValueError:
                    continue
                if math.isfinite(seconds):
                    found.setdefault(fields[0].decode("ascii", errors="replace"), []).append(seconds)
    except OSError:
        return None
    return tuple(
        Inside(kind, len(found[kind]), math.fsum(found[kind]), max(found[kind])) for kind in KINDS if kind in found
    )
