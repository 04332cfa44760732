"""A log that ends before its first step: no format claims it, but it says how the training died.

That is an answer. A text that speaks of no end, or whose end is not a training's, stays what it is: no training log.
"""

from __future__ import annotations

from collections.abc import Sequence

from stepscope.lines.belongs import is_training_text
from stepscope.lines.format import Clock, Format, Line
from stepscope.lines.notices import FATAL, may_hold_fatal
from stepscope.reading.account import assemble
from stepscope.reading.assembler import RunAssembler

NO_FORMAT = Format(
    title="no iteration",
    url="",
    lines=(Line("chatter", r"(?!)"),),  # nothing is its line
    samples=(),
    clock=Clock(covers="stamp", includes=(), note="The log has no iteration, so it has no time figure."),
    is_timed=False,
    name="none",
)


def assemble_end(lines: Sequence[str], rank: int | None = None, *, has_failed: bool = False) -> RunAssembler | None:
    """What lines without a step say of a training's end; None where they say nothing of the kind.

    has_failed
        The command whose lines were recorded returned an error: that alone is the end of a training.
    """
    if not has_failed and not may_hold_fatal("\n".join(lines)):
        return None
    assembler = assemble(NO_FORMAT, lines, rank=rank)
    is_end = any(notice.kind in FATAL for notice in assembler.file.notices.notices)
    return assembler if has_failed or (is_end and is_training_text(lines)) else None
