"""The words of a fleet's report, which the terminal and the page share."""

from __future__ import annotations

import math

from stepscope.core.message import Money, Seconds, Share
from stepscope.core.redact import redact
from stepscope.fleet.answer import (
    Amount,
    Cause,
    Estimate,
    Fix,
    FleetReport,
    Group,
    Host,
    Regression,
    Running,
    Unread,
    added,
)
from stepscope.i18n import Language
from stepscope.ledger.accounts import ORDER

Row = tuple[str, ...]
# What is both a smaller share than 0.1 % and less than 0.1 hours is not worth a row.
_LEAST_SHARE, _LEAST_S = 0.0005, 360.0
_WORTH_SAYING = 0.05  # of what a cause cost
_MOST_NEXT = 2  # beside the first
# What a run's death costs grows as checkpoints become fewer.
_OF_DEATHS = frozenset({"lost_work", "died_after_checkpoint"})


def hours(amount: Amount, language: Language) -> str:
    """An amount in hours, without its unit."""
    own = amount.weighted_s / 3600
    digits = 0 if own >= 100 else 1 if own >= 10 else 2
    # Of less than a tenth of an hour, two digits that are not 0.
    return language.number(own, digits if own >= 0.1 or own <= 0 else min(6, 1 - math.floor(math.log10(own))))


def without_money(amount: Amount, language: Language) -> str:
    """An amount in hours, with its unit."""
    key = "fleet-run-hours" if amount.device_s is None else "fleet-gpu-hours"
    return language.text(key, hours=hours(amount, language))


def with_unit(amount: Amount, report: FleetReport, language: Language) -> str:
    """An amount with its unit, and what it cost."""
    text = without_money(amount, language)
    if amount.money is None:
        return text
    money = cost(amount, report, language)
    return language.text("fleet-with-money" if _currency(report) else "fleet-with-cost", hours=text, cost=money)


def cost(amount: Amount, report: FleetReport, language: Language) -> str:
    """What an amount cost, in the price's own currency; empty without a price."""
    return "" if amount.money is None else language.money(Money(amount.money, _currency(report)))


def _currency(report: FleetReport) -> str:
    return report.price.currency if report.price is not None else ""


def shown_causes(report: FleetReport) -> list[Cause]:
    """The causes that took enough to be read as more than 0."""
    return [one for one in report.causes if one.share >= _LEAST_SHARE or one.amount.weighted_s >= _LEAST_S]


def unit(report: FleetReport, language: Language) -> str:
    """What is counted: GPU-hours, or hours of runs."""
    return language.text("fleet-unit-gpu" if report.has_devices else "fleet-unit-run")


def cause_name(code: str, language: Language) -> str:
    """What a cause is called."""
    return language.text(f"phase-{code}" if code in ORDER and code != "stall" else f"fleet-cause-{code}")


def headline(report: FleetReport, language: Language) -> list[str]:
    """The answer: what of the time trained, what was lost to what, what to fix first; then what that rests on."""
    counts, good = report.counts, report.goodput
    if good is None:
        return [language.text("fleet-nothing-timed", count=counts.found)]
    total = with_unit(report.total, report, language)
    share, limits = Share(good.by_time.value), _range(good.by_time, language)
    lines = [language.text("fleet-head", share=share, range=limits, runs=counts.counted, amount=total)]
    if report.causes:
        worst = report.causes[0]
        lines.append(
            language.text(
                "fleet-lost",
                amount=with_unit(report.lost, report, language),
                cause=cause_name(worst.code, language),
                most=with_unit(worst.amount, report, language),
            )
        )
    if report.fixes:
        first, *others = report.fixes[: 1 + _MOST_NEXT]
        amount = with_unit(first.saves, report, language)
        lines.append(language.text("fleet-first", what=_what(first, language), amount=amount))
        then = [f"{_what(one, language)} ({without_money(one.saves, language)})" for one in others]
        if then:
            lines[-1] += " " + language.text("fleet-then", what=language.joined(then))
    runs = Share(good.by_runs)
    if good.unexplained < _LEAST_SHARE:
        lines.append(language.text("fleet-each-once", runs=runs))
    else:
        lines.append(language.text("fleet-rests-on", unexplained=Share(good.unexplained), runs=runs))
    if counts.counted < counts.timed:
        lines.append(language.text("fleet-counted", count=counts.counted, of=counts.timed))
    training = report.training
    if training is not None:
        lines.append(language.text("fleet-training", count=training.num_runs, share=Share(training.ratio)))
    return lines


def _what(fix: Fix, language: Language) -> str:
    """What to do, in words that a sentence can go on with."""
    key = f"fleet-remedy-{fix.name}" if fix.kind == "cause" else f"fleet-fix-{fix.kind}"
    return language.text(key, name=redact(fix.name, 40))


def _range(one: Estimate, language: Language) -> str:
    """The interval of a share in brackets; nothing where both ends are written alike."""
    span = language.percent_span(one.low, one.high)
    return "" if span == language.percent(one.high) else f" ({span})"


def cause_rows(report: FleetReport, language: Language) -> list[Row]:
    """The ranking: its head first."""
    has_cost = report.lost.money is not None
    names = ["fleet-column-cause", "fleet-column-share", "fleet-column-runs", "fleet-column-each"]
    title, share, runs, each = (language.text(name) for name in names)
    money = (language.text("fleet-column-cost"),) if has_cost else ()
    found: list[Row] = [(title, unit(report, language), *money, share, runs, each)]
    for one in shown_causes(report):
        own = (cost(one.amount, report, language),) if has_cost else ()
        found.append(
            (
                cause_name(one.code, language),
                hours(one.amount, language),
                *own,
                language.percent(one.share),
                language.number(one.num_runs),
                language.percent(one.share_by_runs),
            )
        )
    return found


def remedy(cause: Cause, report: FleetReport, language: Language) -> str:
    """What to do about a cause, and what that would have saved."""
    what = language.text(f"fleet-remedy-{cause.code}")
    if cause.saves is None or cause.saves.weighted_s < _WORTH_SAYING * cause.amount.weighted_s:
        return what
    text = language.text("fleet-would-save", what=what, amount=with_unit(cause.saves, report, language))
    rules = ", ".join(f"{one.code} {one.setting}" for one in cause.remedies[:3])
    return f"{text} ({rules})" if rules else text


def tradeoff(cause: Cause, report: FleetReport, language: Language) -> str | None:
    """What fewer checkpoints would make greater; None of other causes, or where no run's death cost anything."""
    lost = [one.amount for one in report.causes if one.code in _OF_DEATHS]
    if cause.code != "checkpoint" or not lost:
        return None
    return language.text("fleet-tradeoff", amount=with_unit(added(lost), report, language))


def labelled_remedy(cause: Cause, report: FleetReport, language: Language) -> str:
    """A cause and what to do about it, on one line."""
    return language.text("labelled", label=cause_name(cause.code, language), text=remedy(cause, report, language))


def unread(one: Unread, language: Language) -> str:
    """Why files were not read. The store keeps the English sentence; one without values is known in every language."""
    key = f"error-{one.error}"
    if key in language.keys and "{ $" not in language.source(key).split("\n")[0]:
        return language.text(key)
    return redact(one.text or one.error, 160)


def beyond(cause: Cause, report: FleetReport, language: Language) -> str | None:
    """How much of the evaluations bought no precision worth having."""
    if cause.beyond is None:
        return None
    return language.text("fleet-beyond", amount=with_unit(cause.beyond, report, language))


def regression(one: Regression, report: FleetReport, language: Language) -> str:
    """Since when a configuration takes longer, by how much, and in which phase."""
    key = "fleet-regression-commit" if one.is_by_commit else "fleet-regression-day"
    since = one.since
    if one.since_low != one.since_high:
        since = language.text("fleet-since-range", since=one.since, low=one.since_low, high=one.since_high)
    return language.text(
        key,
        config=redact(one.config, 120),
        since=since,
        share=Share(one.ratio.value - 1),
        range=_range(Estimate(one.ratio.value - 1, one.ratio.low - 1, one.ratio.high - 1), language),
        before=Seconds(one.per_step_s[0]),
        after=Seconds(one.per_step_s[1]),
        phase=cause_name(one.phase, language),
        count=one.num_after,
        amount=with_unit(one.extra, report, language),
    )


def host_rows(hosts: list[Host], language: Language) -> list[Row]:
    """Hosts against the fleet: the head first."""
    names = ("host", "runs", "ratio", "slow", "crashed", "lost", "verdict")
    found: list[Row] = [tuple(language.text(f"fleet-column-{name}") for name in names)]
    for one in hosts:
        verdict = "slow" if one.is_slow_lemon else "crashing" if one.is_crashing_lemon else ""
        found.append(
            (
                redact(one.name, 40),
                language.number(one.num_runs),
                "–" if one.ratio is None else f"{language.number(one.ratio, 2)}×",
                language.number(one.num_slow),
                language.number(one.num_crashed),
                hours(one.extra, language),
                language.text(f"fleet-lemon-{verdict}") if verdict else "",
            )
        )
    return found


def no_lemon(report: FleetReport, language: Language) -> str:
    """That no host stands out."""
    return language.text("fleet-no-lemon", count=len(report.hosts))


def running_rows(runs: list[Running], language: Language, name_width: int) -> list[Row]:
    """Runs that go on: the head first."""
    names = ("run", "left", "chance", "alarms")
    found: list[Row] = [tuple(language.text(f"fleet-column-{name}") for name in names)]
    for one in runs:
        left = "–" if one.remaining_s is None else language.duration(one.remaining_s)
        if one.low_s is not None and one.high_s is not None:
            left += f" ({language.span(one.low_s, one.high_s)})"
        chance = "–" if one.chance is None else language.percent(one.chance)
        found.append((short(one.uri, name_width), left, chance, " ".join(one.alarms)))
    return found


def group_rows(report: FleetReport, groups: list[Group], language: Language) -> list[Row]:
    """The fleet by what was asked for: the head first."""
    has_cost = any(one.amount.money is not None for one in groups)
    money = (language.text("fleet-column-cost"),) if has_cost else ()
    names = ("runs", "goodput", "lost", "worst")
    runs, goodput, lost, worst = (language.text(f"fleet-column-{name}") for name in names)
    found: list[Row] = [
        (language.text(f"fleet-by-{report.by}"), runs, unit(report, language), *money, goodput, lost, worst)
    ]
    for one in groups:
        own = (cost(one.amount, report, language),) if has_cost else ()
        found.append(
            (
                redact(one.name, 40) if one.name else language.text("fleet-unknown"),
                language.number(one.num_runs),
                hours(one.amount, language),
                *own,
                language.percent(one.goodput),
                hours(one.lost, language),
                cause_name(one.worst, language) if one.worst else "",
            )
        )
    return found


def missing_lines(report: FleetReport, language: Language) -> list[str]:
    """What is not known, and what is therefore left out."""
    counts = report.counts
    lines = []
    if counts.copies:
        lines.append(language.text("fleet-copies", count=counts.copies))
    if report.num_paused:
        paused = with_unit(report.paused, report, language)
        lines.append(language.text("fleet-paused", count=report.num_paused, amount=paused))
    untimed = counts.read - counts.copies - counts.timed
    if untimed:
        lines.append(language.text("fleet-untimed", count=untimed))
    # Nobody misses prices who stated none.
    facts = ("devices", *["price"] * (report.total.money is not None), "hosts", "commit", "user", "project", "gpu")
    for fact in (*facts, "config_hash"):
        if counts.without[fact]:
            lines.append(language.text(f"fleet-without-{fact}", count=counts.without[fact]))
    return lines


def short(uri: str, width: int) -> str:
    """The end of an address: names of folders are cut first."""
    text = redact(uri, 400)
    return text if len(text) <= width else "…" + text[-(width - 1) :]
