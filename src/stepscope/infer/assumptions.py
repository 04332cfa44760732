"""What was taken for granted about an unknown log, as messages with the confidence of each."""

from __future__ import annotations

import re

import numpy as np

from stepscope.core.message import Message, Seconds, say
from stepscope.core.redact import redact
from stepscope.infer.candidate import Candidate
from stepscope.infer.choice import Doubt
from stepscope.infer.counter import Counter
from stepscope.infer.kinds import Kind
from stepscope.infer.stop_lines import Stops
from stepscope.lines.format import Assumption

# Confidence in steps without times: half of the answer is missing.
UNTIMED = 0.5


def assumptions_of(best: Candidate, stops: Stops) -> list[Assumption]:
    """What is taken for granted: first the steps, then their time, then the rest."""
    counter, kind = best.counter, best.kind
    found = [Assumption(_step_message(kind, counter), None, round(best.step_sure, 2)), _time_assumption(best)]
    if counter.total is not None:
        key = "infer-total" if counter.step is not None else "infer-batches"
        found.append(Assumption(say(key, text=_show(kind, counter.total)), None, 0.9))
    if stops.total is not None:
        found.append(Assumption(say("infer-total", text=redact(stops.total.sample.text, 60)), None, 0.85))
    if stops.evaluation is not None:
        found.append(Assumption(say("infer-evaluation", text=redact(stops.evaluation.sample.text, 60)), None, 0.85))
    found += [
        Assumption(say("infer-checkpoint", text=redact(checkpoint.sample.text, 60)), None, 0.85)
        for checkpoint in stops.checkpoints
    ]
    return found


def _step_message(kind: Kind, counter: Counter) -> Message:
    if counter.loss is not None:
        return say("infer-step-counted", text=_show(kind, counter.loss))
    if counter.step is None:
        assert counter.batch is not None
        if counter.epoch is None:
            return say("infer-step-batch", text=_show(kind, counter.batch), count=counter.epochs_seen)
        return say("infer-step-epoch", epoch=_show(kind, counter.epoch), batch=_show(kind, counter.batch))
    if counter.counts_epochs:
        return say("infer-step-is-epoch", text=_show(kind, counter.step))
    return say("infer-step", text=_show(kind, counter.step))


def _time_assumption(best: Candidate) -> Assumption:
    clock, kind = best.clock, best.companion.kind if best.companion is not None else best.kind
    if clock is None:
        return Assumption(say("infer-time-none"), None, UNTIMED)
    if isinstance(clock, Doubt):
        text, unit_s = _show(kind, clock.column.at), clock.column.unit_s
        if unit_s is None:
            return Assumption(say("infer-doubt-unit", text=text, count=clock.interval), None, UNTIMED)
        one_s = float(np.nanmedian(clock.column.values)) * unit_s
        each = Seconds(one_s / max(1, clock.interval))
        message = say("infer-doubt-interval", text=text, count=clock.interval, one=Seconds(one_s), each=each)
        return Assumption(message, None, UNTIMED)
    if clock.meaning is None:
        return Assumption(say("infer-time-stamps"), None, clock.confidence)
    if clock.work is not None:
        text = _show(kind, clock.meaning.column.at)
        message = say("infer-time-work", text=text, amount=redact(clock.work.text, 60))
        return Assumption(message, say(f"infer-because-{clock.reason}"), round(clock.confidence, 2))
    reading = "total" if clock.is_total else clock.meaning.reading
    keys = {
        "step": "infer-time-step",
        "total": "infer-time-total",
        "clock": "infer-time-clock",
        "rate": "infer-time-rate",
    }
    unit = {1e-6: "µs", 1e-3: "ms", 1.0: "s", 60.0: "min", 3600.0: "h"}.get(clock.meaning.unit_s, "s")
    return Assumption(
        say(keys[reading], text=_show(kind, clock.meaning.column.at), unit=unit),
        say(f"infer-because-{clock.reason}"),
        round(clock.confidence, 2),
    )


def _show(kind: Kind, index: int) -> str:
    """A number as the log prints it, with the words around it."""
    entry = kind.entries[0]
    field = entry.shape.fields[index]
    start = entry.shape.fields[index - 1].end if index else 0
    before = entry.text[start : field.start]
    if before.strip() in {"/", "of"}:
        return _show(kind, index - 1) + redact(before + field.text, 40)
    word = re.search(r"[A-Za-z_][\w./-]*[\s\"']*\W*$", before)
    after = entry.text[field.end :]
    unit = re.match(r"\s?[A-Za-z%µ/]{1,12}", after) if field.unit else None
    return redact((word[0] if word else before[-3:]) + field.text + (unit[0] if unit else ""), 40)
