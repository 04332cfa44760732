"""Sentences that several renderers say: what a slow step is made of, how much is left, what was assumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from stepscope.analysis.report import Report
from stepscope.core.message import Decimal, Moment, Seconds, Share, say
from stepscope.core.redact import redact
from stepscope.core.settings import Value
from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.i18n import Language
from stepscope.ledger.phases import Part, Phase, SlowStep
from stepscope.report import reasons
from stepscope.source.nvidia_smi import Hardware

if TYPE_CHECKING:
    from stepscope.advice._base import Advice
    from stepscope.run.model import Run

STAMP_COMMAND = reasons.STAMP_COMMAND
_WORTH_NAMING = 0.3
# A save that is not known to a fifth either way is not settled.
_UNSETTLED = 0.2
# On made-up logs a second cost of the same steps was found in 12 of 100 with 6 to 12 events, in 98 of 100 with more
# than 20.
_RESOLVABLE = 20
_SHOWN_SETTINGS = (
    "max_steps",
    "eval_interval",
    "eval_iters",
    "log_interval",
    "batch_size",
    "gradient_accumulation_steps",
    "block_size",
)
_GIB = 1 << 30
# What to call a change of these where the trainer has no setting of that name.
_IN_WORDS = {
    "eval_interval": "change-eval-interval",
    "eval_iters": "change-eval-iters",
    "checkpoint_interval": "change-checkpoint-interval",
    "log_interval": "change-log-interval",
}
# Evaluations and saves that cost no more than this need no reason why nothing is proposed.
_CHEAP = 0.015
_INTERVAL_UNKNOWN = ("assume-default-interval", "assume-evaluations-unannounced")
# Clocks that differ by less than this share of the whole are not worth a sentence.
_WORTH_A_CLOCK = 0.03


def headline(report: Report, language: Language) -> str:
    """How far the run got."""
    run = report.run
    if not len(run):
        return language.text("run-none")
    step, total = int(run.steps.step[-1]), run.settings.count("max_steps")
    if total is None or run.settings["max_steps"].origin == "default":
        return language.text("run-progress-open", step=step)
    return language.text("run-progress", step=step, total=total, share=Share(min(1.0, step / total)))


def normal_lines(report: Report, language: Language) -> list[str]:
    """What a normal step takes, and how its level changed."""
    step = report.ledger.step
    if step is None:
        return []
    if step.low_s == step.high_s:
        lines = [language.text("run-normal-one", duration=Seconds(step.typical_s))]
    else:
        span = language.span(step.low_s, step.high_s)
        lines = [language.text("run-normal", duration=Seconds(step.typical_s), span=span)]
    if report.tokens_per_s:
        lines[0] += " " + language.text("run-tokens", tokens=round(report.tokens_per_s))
    if len(step.regimes) > 1:
        levels = [
            language.text("run-level", duration=Seconds(regime.typical_s), step=regime.first_step)
            for regime in step.regimes[:6]
        ]
        lines.append(language.text("run-regimes", levels=", ".join(levels)))
    every = report.run.settings.count("log_interval")
    if every and every > 1 and report.run.clock.is_per_step:
        lines.append(language.text("run-sampled", count=every))
    return lines


def settings_line(report: Report, language: Language, *, code: Callable[[str], str] = str) -> str | None:
    """The settings that matter here by the trainer's own names, with where they came from."""
    names = {canonical: own for own, canonical in report.run.format.controls.names.items()}
    by_origin: dict[str, list[str]] = {}
    for name in _SHOWN_SETTINGS:
        setting = report.run.settings.get(name)
        if setting is not None:
            by_origin.setdefault(setting.origin, []).append(code(f"{names.get(name, name)} {setting.value}"))
    shown = [
        language.text("setting-from", settings=", ".join(found), origin=language.text(f"origin-{origin}"))
        for origin, found in by_origin.items()
    ]
    return language.text("run-settings", settings="; ".join(shown)) if shown else None


def hardware_details(report: Report, language: Language) -> str | None:
    """The figures of the report's card, as far as they are known."""
    return hardware_text(report.hardware, language)


def hardware_text(hardware: Hardware | None, language: Language) -> str | None:
    """A card's figures, as far as they are known."""
    if hardware is None:
        return None
    found = []
    if hardware.utilisation is not None:
        found.append(language.text("gpu-load", share=Share(hardware.utilisation)))
    if hardware.memory_used and hardware.memory_total:
        used, total = language.number(hardware.memory_used / _GIB, 1), language.number(hardware.memory_total / _GIB, 1)
        found.append(language.text("gpu-memory", used=used, total=total))
    if hardware.power is not None and hardware.power_limit:
        found.append(language.text("gpu-power-of", power=round(hardware.power), limit=round(hardware.power_limit)))
    elif hardware.power is not None:
        found.append(language.text("gpu-power", power=round(hardware.power)))
    if hardware.temperature is not None:
        found.append(language.text("gpu-temperature", degrees=round(hardware.temperature)))
    if hardware.clock is not None and hardware.clock_most:
        found.append(language.text("gpu-clock-of", clock=round(hardware.clock), most=round(hardware.clock_most)))
    elif hardware.clock is not None:
        found.append(language.text("gpu-clock", clock=round(hardware.clock)))
    return ", ".join(found) or None


def hardware_trouble(hardware: Hardware | None, language: Language) -> str | None:
    """What holds a card back, and who else is on it; None where nothing is known to."""
    if hardware is None:
        return None
    found = []
    if hardware.throttle:
        reasons = ", ".join(language.text(f"throttle-{word}") for word in hardware.throttle)
        found.append(language.text("gpu-held", reasons=reasons))
    if hardware.others:
        names = ", ".join(f"{redact(other.name, 40)} ({other.pid})" for other in hardware.others[:3])
        found.append(language.text("gpu-others", count=len(hardware.others), names=names))
    return " · ".join(found) or None


def part_text(part: Part, language: Language) -> str:
    """One part of a slow step; its range only where that says something."""
    phase = language.text(f"phase-{part.phase}")
    narrow = part.high_s - part.low_s <= 0.1 * part.seconds or part.phase == "step"
    if narrow:
        return language.text("part", phase=phase, duration=Seconds(part.seconds))
    return language.text(
        "part-span", phase=phase, duration=Seconds(part.seconds), span=language.span(part.low_s, part.high_s)
    )


def drawn_phase(slow: SlowStep) -> Phase:
    """The phase in whose colour a slow step is drawn: the largest part of it that is no training."""
    parts = [part for part in slow.parts if part.phase != "step"]
    return max(parts, key=lambda part: part.seconds).phase if parts else "stall"


def evidence_text(report: Report, slow: SlowStep, language: Language) -> str:
    """Why a slow step is taken to be what it is."""
    quotes = report.excerpts(slow)
    phases = {part.phase for part in slow.parts}
    found = []
    if len(quotes) > 1:
        found.append(language.text("evidence-markers", line=quotes[0], save=quotes[1]))
    elif quotes:
        found.append(language.text("evidence-marker", line=quotes[0]))
    elif "evaluation" in phases:
        found.append(language.text("evidence-unprinted"))
    if "warmup" in phases:
        found.append(language.text("evidence-first"))
    stall = sum(part.seconds for part in slow.parts if part.phase == "stall")
    if stall:
        found.append(language.text("evidence-none", duration=Seconds(stall)))
    told = {"C01", "C02", "C04"}  # their lines and parts have said it already
    for finding in slow.candidates[:3]:
        if (finding.code not in told or finding.phase is not None) and finding.confidence >= _WORTH_NAMING:
            found.append(language.say(finding.evidence))
            found += [f"“{text}”" for _, text in reasons.quoted(report, finding.lines) if text not in quotes]
    return "; ".join(dict.fromkeys(found))


def _is_known_not_to_save(run: Run, first: SlowStep) -> bool:
    """Whether the warm-up of the first step could be mistaken for a checkpoint, but cannot be one."""
    phases = {part.phase for part in first.parts}
    if run.format.habits.saves_at_first_step is not False or not {"warmup", "evaluation"} <= phases:
        return False
    # A fork may save there all the same, and then its log says so.
    events = zip(run.events.kind, run.events.row.tolist(), strict=True)
    return "checkpoint" not in phases and ("checkpoint", first.row) not in events


def slow_remarks(report: Report, language: Language) -> list[str]:
    """What there is to say about the slow steps as a whole."""
    ledger, run = report.ledger, report.run
    remarks = []
    first = next((slow for slow in ledger.slow if slow.step == 0), None)
    if first is not None and _is_known_not_to_save(run, first):
        remarks.append(language.text("slow-first-no-save"))
    save = next((total for total in ledger.phases if total.phase == "checkpoint"), None)
    # A log that prints how long its saves took leaves nothing to guess.
    is_told = save is not None and save.basis == "measured" and ledger.split in {"model", "guess"}
    if ledger.split != "none" and save is not None and not is_told:
        # Only a trainer that evaluates so many batches of each split can be told how many those are.
        is_plain = ledger.split == "guess" and run.format.habits.evaluation.num_splits is None
        remarks.append(language.text("split-guess-plain" if is_plain else f"split-{ledger.split}"))
        is_wide = save.high_s - save.low_s > 2 * _UNSETTLED * save.seconds
        if is_wide and ledger.split == "contrast" and report.num_evaluations < _RESOLVABLE:
            remarks.append(language.text("split-not-yet", count=report.num_evaluations, needed=_RESOLVABLE))
        if is_wide and run.stamps is None and ledger.split in {"first-step", "model", "guess"}:
            remarks.append(language.text("split-settle", command=STAMP_COMMAND))
    if ledger.stamps_unusable:
        remarks.append(language.text("stamps-unusable"))
    remarks += clock_remarks(report, language)
    remarks += reasons.rhythm_lines(report, language)
    unexplained = [slow for slow in ledger.slow if any(part.phase == "stall" for part in slow.parts)]
    if unexplained:
        seconds = sum(part.seconds for slow in unexplained for part in slow.parts if part.phase == "stall")
        remarks.append(language.text("slow-unexplained", count=len(unexplained), duration=Seconds(seconds)))
    remarks += reasons.level_lines(report, language)
    remarks += reasons.finding_lines(report, language)
    remarks += [language.say(message) for message in reasons.what_would_settle(report)]
    inside = inside_text(report, language)
    return [inside, *remarks] if inside else remarks


def inside_text(report: Report, language: Language) -> str | None:
    """What was seen from inside the process."""
    if not report.traced:
        return None
    items = [
        language.text(
            f"inside-{one.kind}", count=one.num, duration=Seconds(one.seconds), longest=Seconds(one.longest_s)
        )
        for one in report.traced
    ]
    text = language.text("inside-line", items=", ".join(items))
    skipped = report.trace.skipped if report.trace is not None else ()
    if skipped:
        names = ", ".join(redact(name.partition(":")[0], 60) for name in skipped)
        text += " " + language.text("inside-skipped", names=names)
    return text


def clock_remarks(report: Report, language: Language) -> list[str]:
    """Where two clocks of the log differ by more than rounding: what each says, and the difference."""
    clocks = {clock.name: clock for clock in report.clocks}
    stamps, printed = clocks.get("stamps"), clocks.get("printed")
    if stamps is None or printed is None or not stamps.used:
        return []
    rest = stamps.seconds - printed.seconds
    if rest < _WORTH_A_CLOCK * stamps.seconds:
        return []
    both = {"stamps": Seconds(stamps.seconds), "printed": Seconds(printed.seconds), "rest": Seconds(rest)}
    return [language.say(say("clocks-differ", **both))]


def more_slow(hidden: list[SlowStep], language: Language) -> str:
    """The slow steps that are not listed, by cause, and what they took beyond their training."""
    counts = Counter(slow.cause for slow in hidden)
    causes = []
    for cause, count in counts.most_common():
        parts = [part for slow in hidden if slow.cause == cause for part in slow.parts]
        seconds = sum(part.seconds for part in parts if part.phase != "step")
        causes.append(
            language.text(
                "slow-more-cause", count=count, cause=language.text(f"cause-{cause}"), duration=Seconds(seconds)
            )
        )
    return language.text("slow-more", count=len(hidden), causes=", ".join(causes))


def finish_lines(report: Report, language: Language) -> list[str]:
    """When the run will be done and what is left, or why that cannot be said."""
    end = report.forecast
    if isinstance(end, NoForecast):
        lines = [language.text("finish-none", reason=language.say(end.reason))]
        if end.level_s is not None:
            lines.append(
                language.text("finish-rate", duration=Seconds(end.level_s), thousand=Seconds(1000 * end.level_s))
            )
        if end.ask_step is not None:
            lines.append(ask_again(end.ask_step, end.ask_s, language))
        return lines
    if end.is_finished:
        return [language.text("finish-complete", step=end.schedule.last_step, total=end.schedule.max_steps)]
    lines = [left_text(end, language) if report.has_ended else eta_line(report, end, language)]
    lines.append(language.text("left-line", items=", ".join(left_items(end, language))))
    if report.has_ended:
        lines.append(language.text("finish-ended"))
    elif report.moment is not None and report.moment_from is not None:
        lines.append(capital(from_text(report, language)))
    return lines + interval_lines(end, language) + deadline_lines(report, language)


def interval_lines(end: Forecast, language: Language) -> list[str]:
    """What the forecast takes for granted about how often the run evaluates, where nothing says it."""
    return [language.say(message) for message in end.assumptions if message.key in _INTERVAL_UNKNOWN]


def ask_again(step: int, seconds: float | None, language: Language) -> str:
    """From when on there will be a forecast."""
    if seconds is None:
        return language.text("finish-ask-step", step=step)
    return language.text("finish-ask", step=step, duration=Seconds(seconds))


def deadline_lines(report: Report, language: Language) -> list[str]:
    """How likely the run is done by the deadline asked about; nothing when none was."""
    chance = report.deadline_probability
    if report.ask.deadline is None or chance is None:
        return []
    time = Moment(report.ask.deadline, report.moment)
    if chance >= 0.99:
        return [language.text("deadline-sure", time=time)]
    if chance <= 0.01:
        return [language.text("deadline-hardly", time=time)]
    return [language.text("deadline-chance", time=time, share=Share(chance))]


def capital(text: str) -> str:
    """`text` as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def eta_line(report: Report, end: Forecast, language: Language) -> str:
    """Time left and clock time, on one line."""
    left = left_text(end, language)
    finish = language.text("finish-ended") if report.has_ended else finish_text(report, end, language)
    return language.text("eta-line", left=left, finish=finish) if finish else left


def left_text(end: Forecast, language: Language) -> str:
    """The time left with its interval."""
    span = language.span(end.low_s, end.high_s)
    return language.text("finish-left", duration=Seconds(end.remaining_s), span=span, confidence=Share(end.confidence))


def finish_text(report: Report, end: Forecast, language: Language) -> str | None:
    """The clock time of the end with its interval."""
    moments = [report.finish(seconds) for seconds in (end.remaining_s, end.low_s, end.high_s)]
    middle, low, high = moments
    if middle is None or low is None or high is None:
        return None
    return language.text(
        "finish-at", time=Moment(middle, report.moment), low=Moment(low, middle), high=Moment(high, middle)
    )


def from_text(report: Report, language: Language) -> str:
    """Which moment the clock times are counted from."""
    assert report.moment is not None
    return language.text(f"finish-from-{report.moment_from}", time=Moment(report.moment)).rstrip(".") + "."


def left_items(end: Forecast, language: Language) -> list[str]:
    """Steps, evaluations and checkpoints still to come, each with its price."""
    items = []
    for name in ("step", "evaluation", "checkpoint"):
        left = end.left[name]
        if not left.num:
            continue
        what = language.text(f"left-{name}", count=left.num)
        if left.seconds is None:
            items.append(language.text("left-unpriced", what=what))
        else:
            items.append(language.text("left-priced", what=what, duration=Seconds(left.seconds)))
    return items


def change_lines(
    report: Report, language: Language, *, code: Callable[[str], str] = str, most: int = 3
) -> list[tuple[str, str, str]]:
    """Each piece of advice: what to change, why, what it costs. `code` marks up what is to be typed."""
    found = []
    for advice in report.advice[:most]:
        change = _change_text(report, advice, language, code)
        if advice.saves_s or advice.saves_bytes is None:
            line = language.text(
                "change-line",
                change=change,
                duration=Seconds(advice.saves_s),
                span=language.span(advice.saves_low_s, advice.saves_high_s),
            )
        else:
            line = language.text("change-frees", change=change, size=Decimal(advice.saves_bytes / 1e9, 0))
        found.append((line, language.say(advice.evidence), language.say(advice.costs)))
    return found


def _change_text(report: Report, advice: Advice, language: Language, code: Callable[[str], str]) -> str:
    """The change under the trainer's own name for the setting; in words where it has none."""
    if advice.change is not None:
        text = language.say(advice.change)
        return text[:1].upper() + text[1:]
    own = report.run.format.controls.own_name(advice.setting)
    key = _IN_WORDS.get(advice.setting)
    epoch = report.run.settings.count("steps_per_epoch")
    if own is None and advice.setting == "eval_interval" and epoch and _in_epochs(advice, epoch):
        # A trainer that evaluates by the epoch is told by the epoch.
        now, proposed = (int(value) // epoch for value in (advice.now or 0, advice.proposed))
        text = language.text("change-eval-epochs", now=now, proposed=proposed)
        return text[:1].upper() + text[1:]
    if own is None and advice.now is not None and key is not None:
        text = language.text(key, now=_plain(advice.now), proposed=_plain(advice.proposed))
        return text[:1].upper() + text[1:]
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
    situation = report.situation
    stops_s = ledger.seconds("evaluation") + ledger.seconds("checkpoint")
    if situation.is_future:
        stops_s = situation.evaluations_s + situation.saves_s
    if not ledger.seconds("evaluation") and run.events.kind.count("evaluation"):
        return language.text("change-unknown")
    if not ledger.seconds("evaluation") + ledger.seconds("checkpoint"):
        return language.text("change-none-seen")
    share = Share(stops_s / situation.horizon_s if situation.horizon_s else 0.0)
    return language.text("change-none" if share.value < _CHEAP else "change-none-few", share=share)


def together_text(report: Report, language: Language) -> str | None:
    """What all of the advice saves at once; None where there are not two pieces of it."""
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
    """Over what the savings count."""
    kind = "rest" if report.situation.is_future else "run"
    # With a single change there is nothing to add up.
    return language.text(f"change-scope-{kind}" if len(report.advice) > 1 else f"change-scope-{kind}-one")


def unread_text(report: Report, language: Language) -> str:
    """How much of the log was understood."""
    run = report.run
    if not run.num_unread:
        return language.text("read-all", lines=run.num_lines)
    line, text = run.first_unread[0]
    return language.text("read-unread", unread=run.num_unread, lines=run.num_lines, line=line, text=text)
