"""The words of a fleet's report, which the terminal and the page share."""

from __future__ import annotations

from stepscope.core.message import Seconds, Share
from stepscope.core.redact import redact
from stepscope.fleet.answer import Amount, Cause, Estimate, FleetReport, Group, Host, Regression, Running
from stepscope.i18n import Language
from stepscope.ledger.accounts import ORDER

Row = tuple[str, ...]


def hours(amount: Amount, language: Language) -> str:
    """An amount in hours, without its unit."""
    own = amount.weighted_s / 3600
    return language.number(own, 0 if own >= 100 else 1 if own >= 10 else 2)


def with_unit(amount: Amount, language: Language) -> str:
    """An amount with its unit, and what it cost."""
    key = "fleet-run-hours" if amount.device_s is None else "fleet-gpu-hours"
    text = language.text(key, hours=hours(amount, language))
    return text if amount.money is None else language.text("fleet-with-cost", hours=text, cost=cost(amount, language))


def cost(amount: Amount, language: Language) -> str:
    """What an amount cost, in the price's own currency; empty without a price."""
    return "" if amount.money is None else language.number(amount.money, 0 if amount.money >= 1000 else 2)


def unit(report: FleetReport, language: Language) -> str:
    """What is counted: GPU-hours, or hours of runs."""
    return language.text("fleet-unit-gpu" if report.has_devices else "fleet-unit-run")


def cause_name(code: str, language: Language) -> str:
    """What a cause is called."""
    return language.text(f"phase-{code}" if code in ORDER else f"fleet-cause-{code}")


def headline(report: FleetReport, language: Language) -> list[str]:
    """The answer: how much there was, what of it trained, what took most of the rest."""
    counts, good = report.counts, report.goodput
    lines = [language.text("fleet-head", runs=counts.timed, amount=with_unit(report.total, language))]
    if good is None:
        return [language.text("fleet-nothing-timed", count=counts.found)]
    by_time = good.by_time
    lines.append(
        language.text(
            "fleet-goodput" if report.has_devices else "fleet-goodput-runs",
            share=Share(by_time.value),
            range=_range(by_time, language),
            unexplained=Share(good.unexplained),
            runs=Share(good.by_runs),
        )
    )
    if report.causes:
        worst = report.causes[0]
        lines.append(
            language.text(
                "fleet-lost",
                amount=with_unit(report.lost, language),
                cause=cause_name(worst.code, language),
                most=with_unit(worst.amount, language),
            )
        )
    saves = [cause.saves for cause in report.causes if cause.saves is not None]
    if saves:
        best = max(saves, key=lambda one: one.weighted_s)
        cause = next(cause for cause in report.causes if cause.saves is best)
        lines.append(
            language.text(
                "fleet-first", what=language.text(f"fleet-remedy-{cause.code}"), amount=with_unit(best, language)
            )
        )
    training = report.training
    if training is not None:
        lines.append(language.text("fleet-training", count=training.num_runs, share=Share(training.ratio)))
    return lines


def _range(one: Estimate, language: Language) -> str:
    """The interval of a share in brackets; nothing where both ends are written alike."""
    low, high = language.percent(one.low), language.percent(one.high)
    return "" if low == high else f" ({low} – {high})"


def cause_rows(report: FleetReport, language: Language) -> list[Row]:
    """The ranking: its head first."""
    has_cost = report.lost.money is not None
    names = ["fleet-column-cause", "fleet-column-share", "fleet-column-runs", "fleet-column-each"]
    title, share, runs, each = (language.text(name) for name in names)
    money = (language.text("fleet-column-cost"),) if has_cost else ()
    found: list[Row] = [(title, unit(report, language), *money, share, runs, each)]
    for one in report.causes:
        own = (cost(one.amount, language),) if has_cost else ()
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


def remedy(cause: Cause, language: Language) -> str:
    """What to do about a cause, and what that would have saved."""
    what = language.text(f"fleet-remedy-{cause.code}")
    if cause.saves is None:
        return what
    text = language.text("fleet-would-save", what=what, amount=with_unit(cause.saves, language))
    rules = ", ".join(f"{one.code} {one.setting}" for one in cause.remedies[:3])
    return f"{text} ({rules})" if rules else text


def beyond(cause: Cause, language: Language) -> str | None:
    """How much of the evaluations bought no precision worth having."""
    if cause.beyond is None:
        return None
    return language.text("fleet-beyond", amount=with_unit(cause.beyond, language))


def regression(one: Regression, language: Language) -> str:
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
        low=Share(one.ratio.low - 1),
        high=Share(one.ratio.high - 1),
        before=Seconds(one.per_step_s[0]),
        after=Seconds(one.per_step_s[1]),
        phase=cause_name(one.phase, language),
        count=one.num_after,
        amount=with_unit(one.extra, language),
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
        own = (cost(one.amount, language),) if has_cost else ()
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
    untimed = counts.read - counts.timed
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
