"""The asides of a short log: what its step lines say besides step and time, by row.

They matter for a piece of a log that somebody pasted, where nothing else may say what they do. Of a long log they are
not kept: it is read in bulk, and says the same with its own figures.
"""

from __future__ import annotations

import dataclasses
import re

import numpy as np

from stepscope.core.settings import Origin, Settings
from stepscope.lines.asides import (
    Left,
    Means,
    bar_left_in,
    epochs_in,
    is_past_total,
    left_in,
    means_in,
    parts_in,
    rate_in,
)
from stepscope.lines.command import Asked, asked_for, echoed
from stepscope.lines.match import LOOKED_THROUGH
from stepscope.reading.epoch_words import said_per_epoch, steps_per_epoch
from stepscope.run.model import Asides, Ints, Run
from stepscope.source.lines import LineSplitter

# No more of a log than this is kept.
MOST_BYTES = 1 << 16
_MOST_ROWS = 2000
# Chainer writes a row of a table and, below it, a bar of four lines with these words.
_BELOW, _ABOVE = 4, 20
# A mean over fewer steps is that of the start.
_ENOUGH_STEPS = 50
_LEAST_TO_COMPARE = 2
_DIGITS = re.compile(r"\d+")
_EPOCH_BEFORE = re.compile(r"(?i)epoch[\W_]{0,8}$")
_WHOLE_LEFT, _OWN_LINE = "Estimated time to finish: ", "ETA: "


def with_asides(run: Run, kept: bytes) -> Run:
    """A short run with what its lines say besides: `kept` is the whole log."""
    if not 0 < len(kept) <= MOST_BYTES or not 0 < len(run) <= _MOST_ROWS:
        return run
    lines = _lines_of(kept)
    texts, asked = [line[:LOOKED_THROUGH] for line in lines], asked_for(lines)
    settings = _with_total(run, asked, epochs_in(texts), origin="config" if any(asked) else "log")
    return dataclasses.replace(run, asides=_asides(texts, run.steps.line), settings=settings)


def with_echoed_total(run: Run, head: bytes) -> Run:
    """A run whose steps state no total with the one of the settings that its log echoes: `head` is how it begins."""
    if not len(run):
        return run
    lines = _lines_of(head)
    texts = lines[: int(run.steps.line[0]) - 1]
    echo = echoed(texts)
    heads = epochs_in(text[:LOOKED_THROUGH] for text in texts)  # `Beginning of Epoch 1/2`
    if (echo.epochs or heads) and not _states_total(run.settings) and not (_counts_epochs(run) or _has_epochs(run)):
        each = said_per_epoch(run, texts) or (steps_per_epoch(run, lines) if echo.epochs else None)
        if each is not None:
            run = dataclasses.replace(run, settings=run.settings.with_layer({"steps_per_epoch": each}, "detected"))
    settings = _with_last_epoch(run, echo.epochs)
    if not _states_total(settings):
        asked = asked_for(texts)
        both = Asked(asked.steps or echo.steps, asked.epochs or echo.epochs)
        settings = _with_total(run, both, None, origin="config")
        if settings is run.settings and heads:
            settings = _with_total(run, both, heads)
    return run if settings is run.settings else dataclasses.replace(run, settings=settings)


def _has_epochs(run: Run) -> bool:
    return run.settings.count("steps_per_epoch") is not None


def _with_last_epoch(run: Run, epochs: int | None) -> Settings:
    """The settings, with one epoch more where epochs count from `0/3` and the echoed settings say that there are 4."""
    settings, layout = run.settings, run.format.layout
    each, total = settings.count("steps_per_epoch"), settings.count("max_steps")
    if not (epochs and each and total) or layout.first_epoch:
        return settings
    last = epochs * each - 1 + layout.first_step
    return settings.with_layer({"max_steps": last}, "log") if last - total == each else settings


def _lines_of(kept: bytes) -> list[str]:
    splitter = LineSplitter()
    return [*splitter.feed(kept), *splitter.close()]


def _states_total(settings: Settings) -> bool:
    return "max_steps" in settings and settings["max_steps"].origin != "default"


def _with_total(run: Run, asked: Asked, epochs: int | None, origin: Origin = "log") -> Settings:
    """The settings, with the total that a command, echoed settings or the epochs state where no step's line does."""
    settings = run.settings
    if _states_total(settings):
        return settings
    each, epochs = settings.count("steps_per_epoch"), asked.epochs or epochs
    stated = [asked.steps] if asked.steps else []
    if epochs and (_counts_epochs(run) or each):
        stated.append(epochs * (1 if _counts_epochs(run) else each or 0) - 1 + run.format.layout.first_step)
    total = min(stated, default=0)  # whichever is reached first
    if total < max(1, int(run.steps.step[-1])):
        return settings
    return settings.with_layer({"max_steps": total}, origin)


def _counts_epochs(run: Run) -> bool:
    """Whether the steps of a format are epochs: the word is right before their number."""
    if run.format.inferred is not None:
        return run.format.counts_epochs
    heads = [line.pattern.partition("(?P<step>") for line in run.format.lines if line.kind in {"step", "fact"}]
    return any(found and _EPOCH_BEFORE.search(before) for before, found, _ in heads)


def _left_around(texts: list[str], line: int) -> Left | None:
    """The time left of the whole training on a line of its own, right below the last step's or above it."""
    above = (left_in(text) for text in reversed(texts[max(0, line - _ABOVE) : line - 1]) if _WHOLE_LEFT in text)
    return _left_below(texts[line : line + _BELOW]) or next(above, None)


def _left_below(texts: list[str]) -> Left | None:
    """The time left of the whole training, where the last step's line is only the first of several."""
    return next((left_in(text) for text in texts if _WHOLE_LEFT in text or text.lstrip().startswith(_OWN_LINE)), None)


def _asides(texts: list[str], lines: Ints) -> Asides:
    own = [texts[line - 1] if line <= len(texts) else "" for line in lines.tolist()]
    rates = [rate_in(text) for text in own]
    units = {rate.unit for rate in rates if rate is not None}
    means, parts = _means(own), tuple(parts_in(text) for text in own)
    left = left_in(own[-2] if _is_cut(own) else own[-1]) or _left_around(texts, int(lines[-1]))
    return Asides(
        left_s=left.seconds if left is not None else None,
        is_left_of_bar=left is not None and left.is_bar,
        bar_left=bar_left_in(own[-1]),
        is_past_total=is_past_total(own[-1]),
        rate=np.array([rate.value if rate is not None else np.nan for rate in rates]) if len(units) == 1 else None,
        rate_unit=units.pop() if len(units) == 1 else None,
        mean_s=means.step_s if means is not None else None,
        mean_wait_s=means.wait_s if means is not None else None,
        parts=parts if any(parts) else (),
    )


def _is_cut(own: list[str]) -> bool:
    """Whether the last row breaks off where the one before it goes on: a figure at its end may have lost its own."""
    if len(own) < _LEAST_TO_COMPARE:
        return False
    before, last = (_DIGITS.sub("0", text.strip()) for text in own[-2:])
    return len(last) < len(before) and before.startswith(last)


def _means(texts: list[str]) -> Means | None:
    """The means over the last stretch of lines of one epoch, the unprinted steps between them included."""
    found = [means for text in texts if (means := means_in(text)) is not None]
    begins = [at for at in range(1, len(found)) if found[at].num <= found[at - 1].num]
    own = found[begins[-1] if begins else 0 :]
    if not own:
        return None
    first, last, num = own[0], own[-1], own[-1].num - own[0].num
    if num < _ENOUGH_STEPS:
        return last if last.num >= _ENOUGH_STEPS else None
    step_s = (last.step_s * last.num - first.step_s * first.num) / num
    wait_s = (last.wait_s * last.num - first.wait_s * first.num) / num
    return Means(num, step_s, max(0.0, wait_s)) if step_s > 0 else None
