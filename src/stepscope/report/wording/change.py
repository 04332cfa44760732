"""The advice: what to change, what it saves, and why there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from stepscope.analysis.report import Report
from stepscope.analysis.waits import waiting_share
from stepscope.audit._lacks import lacks_evaluations, may_say
from stepscope.core.message import About, Decimal, Seconds, Share, say
from stepscope.core.settings import Value
from stepscope.i18n import Language
from stepscope.report.wording.money import with_money
from stepscope.report.wording.sentence import capital

if TYPE_CHECKING:
    from stepscope.advice._base import Advice

# The message for a change of each setting where the trainer has no name for it.
_IN_WORDS = {
    "eval_interval": "change-eval-interval",
    "eval_iters": "change-eval-iters",
    "checkpoint_interval": "change-checkpoint-interval",
    "log_interval": "change-log-interval",
}
# Evaluations and checkpoints below this share of the time need no reason why nothing is proposed.
_CHEAP = 0.015
# From this share on, a wait for data is what to change, though the log cannot show what that saves.
_WAITS = 0.3


def change_lines(
    report: Report, language: Language, *, code: Callable[[str], str] = str, most: int = 3
) -> list[tuple[str, str, str]]:
    """Each piece of advice: what to change, why, what it costs. `code` marks up what is to be typed."""
    found = []
    for advice in report.advice[:most]:
        change = _change_text(report, advice, language, code)
        if advice.saves_s or advice.saves_bytes is None:
            span = language.span(advice.saves_low_s, advice.saves_high_s)
            text = say("change-line", change=change, duration=Seconds(advice.saves_s), span=span)
            line = language.say(with_money(report, text, advice.saves_s))
        else:
            line = language.text("change-frees", change=change, size=Decimal(advice.saves_bytes / 1e9, 0))
        found.append((line, language.say(advice.evidence), language.say(advice.costs)))
    return found


def change_texts(report: Report, language: Language, *, most: int) -> list[str]:
    """Each piece of advice in a few words: what to change, and what it saves."""
    found = []
    for advice in report.advice[:most]:
        change = _change_text(report, advice, language, str)
        if advice.saves_s or advice.saves_bytes is None:
            saved = About(advice.saves_s, advice.saves_low_s, advice.saves_high_s)
            text = say("change-short", change=change, duration=saved)
            found.append(language.say(with_money(report, text, advice.saves_s)))
        else:
            found.append(language.text("change-frees", change=change, size=Decimal(advice.saves_bytes / 1e9, 0)))
    return found


def _change_text(report: Report, advice: Advice, language: Language, code: Callable[[str], str]) -> str:
    """The change under the trainer's own name for the setting; in words where it has none."""
    if advice.change is not None:
        return capital(language.say(advice.change))
    own = report.run.format.controls.own_name(advice.setting)
    key = _IN_WORDS.get(advice.setting)
    epoch = report.run.settings.count("steps_per_epoch")
    if own is None and advice.setting == "eval_interval" and epoch and _in_epochs(advice, epoch):
        # A trainer that evaluates once per n epochs has its interval stated in epochs.
        now, proposed = (int(value) // epoch for value in (advice.now or 0, advice.proposed))
        return capital(language.text("change-eval-epochs", now=now, proposed=proposed))
    if own is None and advice.now is not None and key is not None:
        return capital(language.text(key, now=_plain(advice.now), proposed=_plain(advice.proposed)))
    return code(f"{own or advice.setting} {advice.now} → {advice.proposed}")


def _in_epochs(advice: Advice, epoch: int) -> bool:
    return all(
        isinstance(value, int) and value >= epoch and value % epoch == 0 for value in (advice.now, advice.proposed)
    )


def _plain(value: Value) -> str | int:
    return value if isinstance(value, int | str) else str(value)


def no_change_text(report: Report, language: Language) -> str:
    """Why there is no advice."""
    ledger, run = report.ledger, report.run
    if not report.has_steps or not ledger.wall_s:
        return language.text("change-no-steps")
    waiting = waiting_share(run, ledger)
    if waiting >= _WAITS:
        return language.text("change-none-data", share=Share(waiting))
    situation = report.situation
    past = (ledger.seconds("evaluation") + ledger.seconds("checkpoint")) / ledger.wall_s
    ahead = situation.evaluations_s + situation.checkpoints_s if situation.is_future and situation.horizon_s else 0.0
    if not ledger.seconds("evaluation") and run.events.kind.count("evaluation"):
        return language.text("change-unknown")
    if not ledger.seconds("evaluation") + ledger.seconds("checkpoint"):
        found = lacks_evaluations(run)
        return (
            language.text("change-none-seen")
            if found is None
            else language.say(may_say("change-none-seen-unread", found))
        )
    share = Share(max(past, ahead / situation.horizon_s if ahead else 0.0))  # the ledger beside it has the past
    return language.text("change-none" if share.value < _CHEAP else "change-none-few", share=share)


def together_text(report: Report, language: Language) -> str | None:
    """What all of the advice saves at once; None for fewer than two pieces of advice."""
    from stepscope.advice import together

    timed = [advice for advice in report.advice if advice.phases]
    if len(timed) < 2:
        return None
    saved, before = together(report.situation, timed), report.situation.horizon_s
    return language.text(
        "change-together",
        duration=Seconds(saved),
        after=Seconds(max(0.0, before - saved)),
        before=Seconds(before),
    )


def change_scope(report: Report, language: Language) -> str:
    """The period that the savings refer to."""
    kind = "rest" if report.situation.is_future else "run"
    # With a single change there is nothing to add up.
    return language.text(f"change-scope-{kind}" if len(report.advice) > 1 else f"change-scope-{kind}-one")


def savings_text(report: Report, language: Language) -> str:
    """The same in a few words, for a heading."""
    return language.text("change-savings-rest" if report.situation.is_future else "change-savings-run")
