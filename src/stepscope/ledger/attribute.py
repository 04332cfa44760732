"""Run → Ledger: every second between the first and the last line, sorted into phases.

Printed rows are a biased sample: one normal step in `log_interval`, but every evaluating step whose number
is a multiple of it. So nothing here averages rows; unprinted steps are counted and priced one by one.
Rows with a stop are split in `stop_rows`, other slow rows in `slow_rows`; `unprinted` books what no line shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stepscope.columns.statistics import normal_quantile, quantile
from stepscope.core.units import NS
from stepscope.ledger.accounts import Books, with_count
from stepscope.ledger.baseline import Baseline, assumed_baseline, find_baseline, is_coarse, typical
from stepscope.ledger.bookkeeping import Attribution
from stepscope.ledger.clock_steps import with_clock_steps
from stepscope.ledger.data_waits import book_waits
from stepscope.ledger.epoch_rows import by_whole_rows, hold_every_row, hold_most_steps
from stepscope.ledger.first_window import first_windows, is_run_start
from stepscope.ledger.no_level import level_between, without_level
from stepscope.ledger.periods import NOTABLE_WAIT, find_periods
from stepscope.ledger.phases import Ledger, NormalStep, Phase, Regime
from stepscope.ledger.priced import with_prices
from stepscope.ledger.prices import Pricing
from stepscope.ledger.regimes import find_regimes
from stepscope.ledger.slow import describe_slow, waits_outside_clock
from stepscope.ledger.slow_rows import SlowRows
from stepscope.ledger.stop_rows import LOG_LINE_S, StopRows
from stepscope.ledger.timestamps import has_stamped_rows, read_stamps
from stepscope.ledger.trainings import merge_trainings, split_trainings
from stepscope.ledger.unprinted import Unprinted
from stepscope.ledger.unseen import with_unseen
from stepscope.run.model import NO_TIME, Floats, Run
from stepscope.run.rounding import rate_doubt_s, rounding_of
from stepscope.run.stops import Stop

if TYPE_CHECKING:
    from stepscope.source.trace_file import Spans
    from stepscope.source.trainer_records import Records

# A printed total less than this share above the sum of the steps adds nothing.
_TOTAL_SLACK = 0.01
# A step takes about what is typical if it is no further off.
_NEAR = 0.2
# Two speeds: of so many steps, a jump of this factor somewhere in the middle.
_LEAST_STEPS, _APART, _MIDDLE = 8, 8.0, (0.3, 0.75)


def attribute(
    run: Run, *, confidence: float = 0.9, spans: Spans | None = None, records: Records | None = None
) -> Ledger:
    """Sort the seconds of `run` into phases. An empty run gives an empty ledger.

    Of several trainings in one log, each is sorted by itself; the level and the prices are the last one's. `spans` are
    what was timed from inside the process, `records` what a trainer of ours wrote down about every second: where there
    are any, nothing is left to infer. What slow steps were slow for is the next stage's question: `diagnose`.
    """
    if spans:
        from stepscope.ledger.from_spans import with_rows

        spans = with_rows(run, spans)
    if run.num_trainings > 1:
        trainings = split_trainings(run)
        if spans and _is_recorded(run, spans):
            from stepscope.ledger.from_spans import framed

            trainings = framed(trainings, spans)
        parts = [(part, _attribute(part, confidence, spans)) for part in trainings]
        return with_clock_steps(merge_trainings(parts), run)
    ledger = _attribute(run, confidence, spans)
    if records is not None:
        from stepscope.ledger.from_records import apply_records

        return apply_records(ledger, run, records)
    return with_clock_steps(ledger, run)


def _is_recorded(run: Run, spans: Spans) -> bool:
    # Imported for recordings only: most logs are none, and every start would pay for it.
    from stepscope.ledger.from_spans import is_recorded

    return is_recorded(run, spans)


def _attribute(run: Run, confidence: float, spans: Spans | None) -> Ledger:
    if spans and _is_recorded(run, spans):
        return _attribute_steps(run, confidence, spans)
    if hold_most_steps(run, run.stops) or (hold_every_row(run, run.stops) and level_between(run, run.stops) is None):
        ledger = _attribute_rows(run, by_whole_rows(run, run.stops), confidence)
    else:
        ledger = _attribute_steps(run, confidence, spans)
    if spans:
        from stepscope.ledger.from_trace import tells_of

        if tells_of(run, spans):
            return ledger
    return with_unseen(ledger, run)


def _attribute_rows(run: Run, whole: Run, confidence: float) -> Ledger:
    """Every row holds an evaluation: the row is the step. Evaluations that print no time are somewhere inside."""
    ledger = _attribute_steps(whole, confidence, None)
    num = sum(stop.evaluated for stop in run.stops) - sum(stop.evaluated for stop in whole.stops)
    phases = with_count(ledger.phases, "evaluation", num, is_inside=True)
    if run.is_recorded and num:
        # Nothing says how much of a row is its evaluation: seldom more than half.
        phases = tuple(
            total._replace(low_s=min(total.low_s, total.seconds / 2)) if total.phase == "step" else total
            for total in phases
        )
    return ledger._replace(phases=phases)


def _attribute_steps(run: Run, confidence: float, spans: Spans | None) -> Ledger:
    stops = run.stops
    is_event = np.zeros(len(run), dtype=bool)
    for stop in stops:
        if stop.row is not None and stop.is_inside:
            is_event[stop.row] = True
    baseline = find_baseline(run, is_event) if len(run) else None
    if baseline is None:
        level = level_between(run, stops) if len(run) else None
        if level is None:
            return with_prices(without_level(run, stops), run)
        baseline = assumed_baseline(run, *level)
    ledger = _sort(_prepare(run, stops, baseline, confidence))
    if spans and _is_recorded(run, spans):
        from stepscope.ledger.from_spans import book_spans

        ledger = book_spans(ledger, run, spans, baseline)
    elif spans:
        from stepscope.ledger.from_trace import apply_trace

        ledger = apply_trace(ledger, run, spans)
    return with_prices(ledger, run)._replace(baseline=baseline)


def _prepare(run: Run, stops: Sequence[Stop], baseline: Baseline, confidence: float) -> Attribution:
    inside = [stop for stop in stops if stop.is_inside]
    stamps = read_stamps(run, stops, baseline)
    return Attribution(
        run=run,
        stops=inside,
        timed={stop.row: stop for stop in inside if stop.row is not None},
        baseline=baseline,
        step_s=run.steps.dur_ns / NS,
        stamps=stamps,
        pricing=Pricing(run, inside, baseline, stamps, confidence=confidence),
        books=Books(z=normal_quantile(0.5 + confidence / 2)),
    )


def _sort(work: Attribution) -> Ledger:
    run, books = work.run, work.books
    special = _special_rows(work)
    _add_normal_rows(work, ~special)
    slow_rows = SlowRows(work)
    stop_rows = StopRows(work, slow_rows)
    for row, stop in work.timed.items():
        stop_rows.add(row, stop)
    untimed = special.copy()
    untimed[list(work.timed)] = False
    slow_rows.add_all(np.flatnonzero(untimed))
    for row, seconds in waits_outside_clock(run).items():
        books.book(row, "data", seconds, "measured")
    unprinted = Unprinted(work)
    printed_s = books["step"].seconds
    sampling_sd = unprinted.add_steps()
    unseen_s = books["step"].seconds - printed_s - unprinted.told_s
    book_waits(work, special, unseen_s, told_s=unprinted.waits_by_means_s)
    for stop in work.stops:
        if stop.row is None:
            unprinted.add_stop(stop)
    unprinted.add_trailing_steps()
    is_stamped = _reconcile_with_stamps(work, has_silent=unprinted.has_silent)
    doubt_s = 0.0 if is_stamped else books.z * sampling_sd
    less_s, more_s = (0.0, 0.0) if is_stamped else _add_rounding(work)
    totals, wall_ns = books.close()
    for phase, num in _unpriced(work).items():
        totals = with_count(totals, phase, num, is_inside=False)
    return Ledger(
        wall_ns=wall_ns,
        wall_low_s=max(0.0, wall_ns / NS - math.hypot(doubt_s, less_s)),
        wall_high_s=wall_ns / NS + math.hypot(doubt_s, more_s),
        phases=totals,
        slow=describe_slow(run, work.baseline, books, work.timed),
        step=_normal_step(work, unprinted.mean_s),
        evaluation_price=work.pricing.evaluation_price(),
        checkpoint_price=work.pricing.checkpoint_price(),
        split=work.pricing.split,
        stamps_unusable=work.stamps is None and has_stamped_rows(run),
        periods=find_periods(run, work.baseline, _known_rows(work)),
    )


def _unpriced(work: Attribution) -> dict[Phase, int]:
    """Evaluations and checkpoints that the log's clock stops for and that nothing times.

    Where timestamps show what passed there, the checkpoint of an evaluation is in the evaluation's seconds.
    """
    stops = work.run.stops if work.stamps is None else ()
    evaluations = [stop for stop in stops if stop.evaluated and not stop.evaluation_inside]
    saves = [stop for stop in stops if stop.saved and not stop.save_inside]
    return {
        "evaluation": sum(stop.evaluation_took_s is None for stop in evaluations),
        "checkpoint": sum(stop.save_took_s is None for stop in saves),
    }


def _special_rows(work: Attribution) -> np.ndarray:
    """Rows that are more than one normal step: evaluating, slow, or the first of a process."""
    special = work.baseline.slow.copy()
    special[list(work.timed)] = True
    special[[segment.first_row for segment in work.run.segments if segment.fresh and segment.num_rows]] = True
    return special


def _known_rows(work: Attribution) -> np.ndarray:
    """Rows that a line says something about: an evaluation, a checkpoint, a collection, a wait for data."""
    events, known = work.run.events, np.zeros(len(work.run), dtype=bool)
    stops = np.array([kind in {"evaluation", "checkpoint"} for kind in events.kind], dtype=bool)
    inside = events.row < len(known)
    known[events.row[stops & inside]] = True
    known[list(work.timed)] = True
    # A timer that is printed with every step says something only where it is long.
    others = np.flatnonzero(~stops & inside & (events.took_ns != NO_TIME))
    rows = events.row[others]
    known[rows[events.took_ns[others] / NS > NOTABLE_WAIT * work.baseline.level[rows]]] = True
    return known


def _add_normal_rows(work: Attribution, rows: np.ndarray) -> None:
    seconds = float(work.run.steps.seconds[rows].sum())
    logging_s = min(LOG_LINE_S * work.run.steps.num_printed, 0.1 * seconds)
    work.books["step"].add(seconds, "measured", num=int(work.run.steps.span[rows].sum()))
    work.books["step"].doubt("logging", logging_s, 0.0)


def _add_rounding(work: Attribution) -> tuple[float, float]:
    """How much less or more all rows may have taken together, each printed in whole ticks: the training's doubt."""
    rows = np.flatnonzero(work.run.steps.span > 0)
    found = rounding_of(work.run, rows)
    by_rate_s = rate_doubt_s(work.run) + work.run.figure_doubt * work.books["step"].seconds
    less_s, more_s = len(rows) * found.less_s + by_rate_s, len(rows) * found.more_s + by_rate_s
    work.books["step"].doubt("rounding", less_s, more_s)
    _doubt_stops_by_rate(work)
    return less_s, more_s


def _doubt_stops_by_rate(work: Attribution) -> None:
    """A clock behind a rounded rate is drawn evenly through its doubt: what a stop took may be in the steps around it.

    Seldom more than half of a row.
    """
    run = work.run
    if not run.rate_tick:
        return
    elapsed_s = np.cumsum(run.steps.seconds)
    open_s = np.minimum(elapsed_s**2 * run.rate_tick / np.maximum(run.steps.step, 1), run.steps.seconds / 2)
    for phase in ("evaluation", "checkpoint"):
        untimed = [
            row
            for row, stop in work.timed.items()
            if (stop.evaluated and stop.evaluation_took_s is None if phase == "evaluation" else stop.saved)
        ]
        most_s = float(open_s[untimed].sum())
        work.books[phase].doubt("rate", 0.0, most_s)
        work.books["step"].doubt(f"rate of {phase}", most_s, 0.0)


def _reconcile_with_stamps(work: Attribution, *, has_silent: bool) -> bool:
    """Where timestamps can be trusted they give the total; what the lines leave over is start-up, gap or unlogged."""
    if work.stamps is None:
        _add_printed_outside(work)
        _add_first_windows(work)
        _add_rest_of_printed_total(work)
        return _add_rest_between_dated_lines(work)
    tick = work.stamps.tick_s
    for outside in work.stamps.outside:
        # Where rows were stamped late or early, some stretches come out too short by as much as others are too long.
        work.books[outside.phase].add(outside.seconds, "measured", sd=max(tick, -outside.seconds), num=outside.num)
        if outside.doubt_s:
            work.books[outside.phase].doubt("before evaluation", outside.doubt_s, 0.0)
            work.books["evaluation"].doubt("before evaluation", 0.0, outside.doubt_s)
        if outside.less_s:
            work.books[outside.phase].doubt("steps before", outside.less_s, 0.0)
        if outside.open_s > tick:
            work.books["evaluation"].either(outside.open_s)
            work.books["checkpoint"].either(outside.open_s)
    _doubt_whole_seconds(work)
    rest = work.stamps.wall_s - work.books.seconds
    if rest > tick:
        work.books["unlogged"].add(rest, "measured", sd=tick)
        if has_silent:
            work.books["step"].either(rest)  # unprinted steps may simply have been slower than the printed ones
    elif -rest <= work.books["step"].seconds:
        # The inferred steps came out too long: the timestamps know better, unless they would leave nothing of them.
        work.books["step"].add(rest, "inferred", num=0)
        work.books["step"].doubt("stamps", -rest, -rest)
    return True


def _doubt_whole_seconds(work: Attribution) -> None:
    """Times that are printed in whole seconds are cut off as often as rounded: the rest of the second is the row's.

    Where the arrivals show what passed between two rows, it is in an evaluation's account so far, as likely as not.
    """
    run = work.run
    if run.is_recorded and run.tick_ns and not run.clock.is_wall and not run.clock.is_running:
        most_s = int((run.steps.span > 0).sum()) * run.tick_ns / NS
        work.books["step"].doubt("whole seconds", 0.0, most_s)
        work.books["evaluation"].doubt("whole seconds", min(most_s, work.books["evaluation"].seconds), 0.0)


def _add_printed_outside(work: Attribution) -> None:
    """Evaluations and checkpoints that the clock stops for but that print their own time: the wall grows by it."""
    for stop in work.run.stops:
        if stop.evaluated and not stop.evaluation_inside and stop.evaluation_took_s is not None:
            work.books["evaluation"].add(stop.evaluation_took_s, "measured")
        if stop.saved and not stop.save_inside and stop.save_took_s is not None:
            work.books["checkpoint"].add(stop.save_took_s, "measured")


def _add_first_windows(work: Attribution) -> None:
    """The steps before the first row, where its figure is their mean, or its number shows that they were the first."""
    run, books = work.run, work.books
    for index, (segment, window) in enumerate(zip(run.segments, first_windows(run, work.baseline), strict=True)):
        if not window.num:
            continue
        is_whole = segment.fresh or run.format.layout.lines_end_epochs
        is_seen = is_whole if window.figure_s is not None else index == 0 and is_run_start(run)
        if not is_seen:
            continue
        steps_s, rest_s = window.split(window.num * (window.figure_s or window.level_s))
        books["step"].add(steps_s, "inferred", sd=window.noise_s / 3, num=window.num)
        if rest_s > 0:
            books.book(segment.first_row, "warmup", rest_s, "inferred", num=0)


def _add_rest_of_printed_total(work: Attribution) -> None:
    """A line at the end says how long the whole took: what the steps leave of it is in no other line."""
    run = work.run
    totals = [runtime.seconds for runtime in run.runtimes if runtime.row == len(run)]
    if not totals or len(run.segments) != 1 or not run.segments[0].fresh:
        return
    rest = max(totals) - work.books.seconds
    if rest > _TOTAL_SLACK * max(totals):
        work.books["unlogged"].add(rest, "measured")


def _add_rest_between_dated_lines(work: Attribution) -> bool:
    """A few dated lines, none of them a step's: the run took at least as long as from the first to the last of them."""
    stamps = work.run.stamps
    if stamps is None or not stamps.dated or work.run.num_trainings > 1 or has_stamped_rows(work.run):
        return False
    rest = (stamps.last_ns - stamps.first_ns) / NS
    if stamps.last_line >= int(work.run.steps.line[0]):
        rest -= work.books.seconds  # else all of them come before the steps
    if rest > stamps.resolution_ns / NS:
        work.books["unlogged"].add(rest, "measured")
    return False


def _normal_step(work: Attribution, unprinted_s: float | None) -> NormalStep:
    """The normal step: of the printed ones, unless those are the exception."""
    found = _printed_step(work)
    if unprinted_s is None or unprinted_s >= found.low_s:
        return found
    return found._replace(typical_s=unprinted_s, low_s=unprinted_s, is_by_total=True)


def _printed_step(work: Attribution) -> NormalStep:
    seconds = work.step_s[work.baseline.normal]
    if not len(seconds):
        level = float(work.baseline.level[-1])
        only = Regime(
            first_step=int(work.run.steps.step[0]),
            last_step=int(work.run.steps.step[-1]),
            first_row=0,
            last_row=len(work.run) - 1,
            typical_s=level,
        )
        return NormalStep(
            typical_s=level, low_s=0.8 * level, high_s=1.25 * level, num_rows=0, rows=np.arange(0), regimes=(only,)
        )
    regimes = find_regimes(work.run, work.baseline)
    typical_s = _typical(work, seconds, regimes)
    return NormalStep(
        typical_s=typical_s,
        # A mean may be outside the central rows: by a digit, or if one row in thirty is a tick longer than all others.
        low_s=min(typical_s, float(quantile(seconds, 0.05, method="lower"))),
        high_s=max(typical_s, float(quantile(seconds, 0.95, method="higher"))),
        num_rows=len(seconds),
        rows=np.flatnonzero(work.baseline.normal),
        regimes=regimes,
    )


def _typical(work: Attribution, seconds: Floats, regimes: tuple[Regime, ...]) -> float:
    """What a normal step takes; a coarse clock gives a mean, which is that of the level with most steps."""
    normal = work.baseline.normal
    coarse = is_coarse(work.run, normal)
    if coarse and len(regimes) > 1:
        return max(regimes, key=lambda regime: regime.last_step - regime.first_step).typical_s
    span = work.run.steps.span[normal]
    found = typical(seconds if coarse else _faster(seconds), span, coarse=coarse)
    if len(work.run.segments) > 1 and found > 0 and not (np.abs(seconds / found - 1) < _NEAR).any():
        # Processes differ so much that no step takes what is typical of all of them: the last one is asked about.
        own = np.flatnonzero(normal) >= work.run.segments[-1].first_row
        return typical(seconds[own], span[own], coarse=coarse) if own.any() else found
    return found


def _faster(seconds: Floats) -> Floats:
    """Of steps of two speeds with nothing between them, the faster ones: what lies between is no step's time."""
    ordered = np.sort(seconds[seconds > 0])
    low, high = int(_MIDDLE[0] * len(ordered)), int(_MIDDLE[1] * len(ordered))
    if len(ordered) < _LEAST_STEPS or high <= low + 1:
        return seconds
    ratios = ordered[low + 1 : high + 1] / ordered[low:high]
    at = int(np.argmax(ratios))
    return ordered[: low + at + 1] if ratios[at] >= _APART else seconds
