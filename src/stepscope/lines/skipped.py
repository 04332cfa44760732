"""Optimizer steps that were skipped, as engines print it: how many so far, or how many since the last line."""

from __future__ import annotations

from typing import NamedTuple

from stepscope.core.lazy_pattern import LazyPattern

_SO_FAR = LazyPattern(r"\bstep=(?P<step>\d+), skipped=(?P<num>\d+)")  # DeepSpeed
_SINCE = LazyPattern(r"\bnumber of skipped iterations:\s*(?P<num>\d+)")  # Megatron and its relatives
# One step each: apex, fairseq, DeepSpeed, and loops that copy their words.
_OVERFLOW = LazyPattern(
    r"(?i)\bgradient overflow\b.{0,40}\bskipping step|\bOVERFLOW!.{0,20}\bskipping step"
    r"|\bskipping (?:this |the )?(?:optimizer )?step\b.{0,60}\b(?:nan|inf|overflow)"
    r"|\b(?:nan|inf(?:inite)?|overflow) (?:gradients?|grad_norm|detected)\b.{0,60}\bskip"
)


class Skipped(NamedTuple):
    """How many steps were skipped; `step` where they are all up to that one, else those since the last line."""

    num: int
    step: int | None


def parse_skipped(text: str) -> Skipped | None:
    """What a line says of skipped steps; None where it says nothing."""
    if "skipped" not in text:
        return None
    so_far = _SO_FAR.search(text)
    if so_far is not None:
        return Skipped(int(so_far["num"]), int(so_far["step"]))
    since = _SINCE.search(text)
    return None if since is None else Skipped(int(since["num"]), None)


def count_place(text: str) -> tuple[int, int] | None:
    """Where in a line the number of skipped steps is."""
    found = (_SO_FAR.search(text) or _SINCE.search(text)) if "skipped" in text else None
    return None if found is None else found.span("num")


def is_overflow(text: str) -> bool:
    """Whether a line says that one optimizer step was skipped because its gradients were no numbers."""
    return "kip" in text and _OVERFLOW.search(text) is not None
