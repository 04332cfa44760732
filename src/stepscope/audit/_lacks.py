"""Before a report says that a log lacks something: the unread line that may say it after all."""

from __future__ import annotations

from collections.abc import Callable

from stepscope.core.message import Message, say
from stepscope.core.redact import redact
from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.lines import hints
from stepscope.run.model import Run, UnreadFamily

_CHARS = 80
# What a reason says is lacking: what to say where an unread line may say it, and which line may.
_REASONS: dict[str, tuple[str, Callable[[str], bool]]] = {
    "reason-no-total": ("reason-no-total-unread", hints.may_tell_total),
    "reason-no-times": ("reason-no-times-unread", hints.may_tell_time),
    "reason-no-steps": (
        "reason-no-steps-unread",
        lambda text: hints.may_tell_time(text) or hints.may_tell_loss(text),
    ),
}


def lacks_total(run: Run) -> UnreadFamily | None:
    """An unread line that may say how many iterations there are."""
    return _found(run, hints.may_tell_total)


def lacks_times(run: Run) -> UnreadFamily | None:
    """An unread line that may say how long an iteration took."""
    return _found(run, hints.may_tell_time)


def lacks_steps(run: Run) -> UnreadFamily | None:
    """An unread line that may be an iteration."""
    return _found(run, _REASONS["reason-no-steps"][1])


def named_step(run: Run) -> UnreadFamily | None:
    """An unread line that gives the loss of a step by its number."""
    return _found(run, hints.names_step)


def lacks_evaluations(run: Run) -> UnreadFamily | None:
    """An unread line that may be an evaluation."""
    return _found(run, hints.may_be_evaluation)


def qualified(end: Forecast | NoForecast, run: Run) -> Forecast | NoForecast:
    """A forecast, or the reason why there is none: that a log lacks something is said only after looking for it."""
    if isinstance(end, Forecast) or end.reason.key not in _REASONS:
        return end
    doubt = None if run.format.inferred is None else run.format.inferred.doubt
    if end.reason.key == "reason-no-times" and doubt is not None:
        return end._replace(reason=say("reason-times-doubt", **doubt.args))
    key, may = _REASONS[end.reason.key]
    found = _found(run, may)
    if found is None and end.reason.key == "reason-no-steps" and run.last_words:
        return end._replace(reason=say("reason-no-steps-over"))
    if found is None:
        return end
    return end._replace(reason=may_say(key, found))


def may_say(key: str, family: UnreadFamily, **args: int) -> Message:
    """The message of that key, which quotes a line."""
    return say(key, text=redact(family.first, _CHARS), line=family.first_line, **args)


def _found(run: Run, may: Callable[[str], bool]) -> UnreadFamily | None:
    """The family with most lines whose first one may say it; lines about data that is prepared do not."""
    found = [
        family for family in (*run.unread, *run.passed) if may(family.first) and not hints.is_preparation(family.first)
    ]
    return max(found, key=lambda family: family.num, default=None)
