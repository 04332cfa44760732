"""The small files that Karpathy's trainers write next to their output: steps and losses, and no time whatever."""

from __future__ import annotations

from stepscope.lines.format import Clock, Format, Habits, Line, Sample

_CLOCK = Clock(
    covers="stamp",  # the lines have no timestamp; a shell may have put one before each
    includes=("evaluation", "checkpoint", "data", "logging"),
    note="This file has no time: steps and losses only. The trainer's printed output has the time of every step.",
)


def untimed_log(title: str, url: str, lines: tuple[Line, ...], samples: tuple[Sample, ...]) -> Format:
    """The format of a small file without times: the step line first, its evaluations after it."""
    return Format(
        title=title,
        url=url,
        lines=lines,
        clock=_CLOCK,
        habits=Habits(evaluates_at_first_step=True),
        is_timed=False,
        samples=samples,
    )
