"""The evaluation, the checkpoint and the unprinted steps after the last row of a log."""

from __future__ import annotations

from collections.abc import Sequence

from stepscope.core.units import NS
from stepscope.ledger.arrival_split import following_rows, save_lines
from stepscope.ledger.baseline import Baseline
from stepscope.ledger.first_window import usual_spacing
from stepscope.ledger.outside import Outside, is_after_last_row
from stepscope.run.model import Run
from stepscope.run.stops import Stop

# Steps that no line shows were done where at least this share of their usual time passed.
_DONE = 0.9
# By so much of what others took, a last checkpoint may be shorter where no line says when it was over.
_SCATTER = 0.5
# A last checkpoint this many times longer than the others has something else after it.
_ODD_LAST = 1.5


def _is_saved_first(stop: Stop) -> bool:
    """Whether a checkpoint says how long it took and was over before the evaluation was."""
    if not stop.saved or not stop.evaluated or stop.save_took_s is None or stop.save_ns is None:
        return False
    return stop.end_ns is None or stop.save_ns <= stop.end_ns


def _add_printed_save(found: list[Outside], stop: Stop, at_ns: int) -> int:
    """Book a checkpoint that says how long it took; the moment after it."""
    assert stop.save_took_s is not None
    assert stop.save_ns is not None
    took = min(stop.save_took_s, (stop.save_ns - at_ns) / NS)
    if took <= 0:
        return at_ns
    found.append(Outside(took, "checkpoint", is_last=True))
    return at_ns + round(took * NS)


def after_last_row(run: Run, stops: Sequence[Stop], baseline: Baseline) -> list[Outside]:
    """The evaluation and the checkpoint after the last step: up to their own lines, a checkpoint to the last line."""
    trailing = [stop for stop in stops if is_after_last_row(run, stop)]
    found = _last_steps(run, trailing, baseline)
    at_ns = int(run.steps.t_ns[-1]) + sum(round(steps.seconds * NS) for steps in found)
    for index, stop in enumerate(trailing):
        if _is_saved_first(stop):
            at_ns = _add_printed_save(found, stop, at_ns)
        if stop.evaluated and stop.end_ns is not None and stop.end_ns > at_ns:
            took = (stop.end_ns - at_ns) / NS
            is_placed = run.is_recorded or run.clock.is_wall
            if is_placed and stop.evaluation_took_s is not None and not stop.evaluation_took_s.is_integer():
                took = min(took, stop.evaluation_took_s)  # what came before its own clock began is something else
            found.append(Outside(took, "evaluation", is_last=True, less_s=_before_its_lines_s(run, stop, at_ns)))
            at_ns = stop.end_ns
        if stop.saved and not _is_saved_first(stop):
            assert run.stamps is not None
            left = (_next_begin_ns(run, trailing[index + 1 :]) - at_ns) / NS
            own_s, is_told = _last_save_s(run, stop, at_ns, left, baseline)
            if stop.save_took_s is not None:
                own_s, is_told = stop.save_took_s, True
            took = min(left, own_s)
            if took > 0:
                open_s = left - took if stop.save_took_s is None else 0.0
                less_s = 0.0 if is_told else _SCATTER * took
                if stop.save_took_s is None:
                    less_s = min(took, max(less_s, _silent_s(run, stop, baseline)))
                found.append(Outside(took, "checkpoint", is_last=True, open_s=open_s, less_s=less_s))
                at_ns += round(took * NS)
    return found


def _before_its_lines_s(run: Run, stop: Stop, at_ns: int) -> float:
    """What passed before the line ahead of an evaluation's in a recording: the last step may have been drawn again."""
    if not run.is_recorded or stop.evaluation_took_s is not None or stop.begin_ns is None or stop.end_ns is None:
        return 0.0
    return max(0.0, (min(stop.begin_ns, stop.end_ns) - at_ns) / NS)


def _next_begin_ns(run: Run, later: Sequence[Stop]) -> int:
    """When the next of these stops began, as far as an evaluation says how long it took; else the end of the log."""
    assert run.stamps is not None
    following = later[0] if later and run.is_recorded else None
    if following is None or following.end_ns is None or following.evaluation_took_s is None:
        return run.stamps.last_ns
    return following.end_ns - round(following.evaluation_took_s * NS)


def _silent_s(run: Run, stop: Stop, baseline: Baseline) -> float:
    """How long the steps take that may lie between the last row and the only checkpoint of a log, whose line names
    no step: rows that are many steps apart do not end where it begins."""
    is_only = sum(other.saved for other in run.stops) == 1
    if stop.is_numbered or not is_only or run.is_recorded:
        return 0.0
    return max(0, usual_spacing(run) - 1) * float(baseline.level[-1])


def _last_save_s(run: Run, stop: Stop, at_ns: int, left: float, baseline: Baseline) -> tuple[float, bool]:
    """What of the time after the last step, from a moment on, is a checkpoint's, and whether a line says so: the one
    that ends it.

    Else as much as others took, where more is left than that: what is far before its line or follows may be anything.
    """
    lines = save_lines(run, lambda row: float(baseline.level[row]), following_rows(run))
    before = 0.0 if stop.save_ns is None else max(0.0, (stop.save_ns - at_ns) / NS)
    if lines.end and before:
        return before, True
    if lines.usual_s is None:
        return left, not run.is_recorded
    own = left - before if before > _ODD_LAST * lines.most_before_s else left
    return lines.usual_s if own > _ODD_LAST * lines.usual_s else own, not run.is_recorded


def _last_steps(run: Run, stops: Sequence[Stop], baseline: Baseline) -> list[Outside]:
    """The steps between the last row and the stop after it, which fall short of a printed line.

    Up to the step that the stop's line states, else up to the last of the run; only if there was time for them.
    """
    if not stops:
        return []
    last, total = int(run.steps.step[-1]), run.settings.count("max_steps") or 0
    stated = max(stop.step for stop in stops)
    num = (stated if stated > last else total) - last
    moments = [moment for stop in stops for moment in (stop.end_ns, stop.save_ns) if moment is not None]
    seconds = num * float(baseline.level[-1])
    if not moments or not 0 < num <= usual_spacing(run):
        return []
    passed = (min(moments) - int(run.steps.t_ns[-1])) / NS
    return [Outside(min(seconds, passed), "step", num=num)] if passed >= _DONE * seconds else []
