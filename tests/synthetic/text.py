"""Step times → the lines a trainer would print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from stepscope.reading.log_reader import LogReader
from stepscope.run.model import Floats, Run


def nanogpt(
    seconds: Floats | Sequence[float],
    *,
    every: int = 1,
    first: int = 0,
    before: Mapping[int, Iterable[str]] | None = None,
    header: Iterable[str] = (),
    stamps: Floats | None = None,
) -> list[str]:
    """One line a step as nanoGPT prints it; `before` are lines that stand before a step's own."""
    lines = list(header)
    for index, took in enumerate(seconds):
        step = first + index
        stamp = "" if stamps is None else f"{stamps[index]:.3f} "
        lines += [stamp + line for line in (before or {}).get(step, ())]
        if step % every == 0:
            lines.append(f"{stamp}iter {step}: loss {3 + (step * 7919 % 13) / 100:.4f}, time {1000 * took:.2f}ms")
    return lines


def run_of(lines: Iterable[str]) -> Run:
    """The run that such a log is read as."""
    reader = LogReader(paths=["made-up.log"])
    reader.begin_file()
    reader.feed(("\n".join(lines) + "\n").encode())
    reader.end_file()
    return reader.run()
