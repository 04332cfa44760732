"""What was assembled from the lines of a log → Run."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from stepscope.core.settings import Settings, Value
from stepscope.lines.format import Format
from stepscope.reading.clock_steps import SteadyClock
from stepscope.reading.counted_lines import CountedLines
from stepscope.reading.epoch_means import EpochMeans
from stepscope.reading.file_track import FileTrack
from stepscope.reading.mean_of_total import with_mean_of_total
from stepscope.reading.other_lines import OtherLines
from stepscope.reading.row_times import is_dated
from stepscope.reading.so_far import SoFar
from stepscope.reading.writers import rank_of
from stepscope.run.model import Ints, Notice, Rank, Run, Segment, StepTable


class Assembled(NamedTuple):
    """Everything that the lines gave."""

    format: Format
    num_lines: int
    so_far: SoFar
    settings: Settings
    tokens_per_step: Value | None
    others: OtherLines
    own_file: FileTrack  # timestamps and notices of the run's own files
    notices_of_ranks: list[Notice]  # how other ranks ended
    counted: CountedLines = CountedLines()  # where lines without a number are counted
    batches: int | None = None  # steps of an epoch, where a line says
    means: EpochMeans = EpochMeans()
    figure_doubt: float = 0.0  # how far all figures may be off together, as a share
    rate_tick: float = 0.0  # of the mean rate since the start that is the clock


def make_run(
    assembled: Assembled,
    *,
    paths: tuple[str, ...],
    encoding: str,
    mtime: float | None,
    is_recorded: bool = False,
) -> Run:
    """A frozen copy: what is assembled may go on growing. `is_recorded`: the timestamps are arrivals that we saw."""
    so_far, fmt, others = assembled.so_far, assembled.format, assembled.others
    rows, starts = so_far.rows, so_far.segments.starts
    first_rows = np.array([start.row for start in starts], dtype=np.int64)
    clock = _steady_clock(assembled, first_rows)
    stamps = clock.stamps(assembled.own_file.timestamps.stamps())
    events = so_far.events.table(rows, clock, follow_step=fmt.layout.events_follow_step)
    per_interval = rows.prints_intervals(fmt, first_rows, events, stamps, assembled.tokens_per_step)
    by_arrival = is_recorded and _is_by_arrival(assembled, clock.t_ns)
    times_itself = rows.times_itself(fmt, first_rows, clock.t_ns)
    table = functools.partial(
        rows.table,
        fmt,
        first_rows,
        clock.t_ns,
        per_interval=per_interval,
        counted=assembled.counted,
        batches=assembled.batches,
        times_itself=times_itself,
        rate_tick=assembled.rate_tick,
    )
    steps = table(by_arrival=by_arrival)
    if is_recorded and not by_arrival and _leaves_out(fmt, steps, clock.t_ns):
        by_arrival, steps = True, table(by_arrival=True)
    by_figures = fmt.clock.is_wall and not is_dated(clock.t_ns) and bool((steps.span > 0).any())
    tick_ns = 0 if by_arrival or times_itself else rows.tick_ns(fmt, stamps, by_figures=by_figures)
    run = Run(
        paths=paths,
        format=fmt,
        encoding=encoding,
        num_lines=assembled.num_lines,
        num_unread=others.num_unread,
        first_unread=tuple(others.first_unread),
        steps=steps,
        events=events,
        segments=_segments(so_far),
        settings=assembled.settings,
        notices=_notices(assembled, clock),
        excerpts={**others.remarks.texts, **so_far.events.excerpts},
        remarks=others.remarks.kinds(rows, clock),
        num_nonfinite=others.num_nonfinite,
        first_nonfinite=others.first_nonfinite,
        last_nonfinite=others.last_nonfinite,
        skips=others.skips.skips(rows.last_step, so_far.spacing),
        stamps=stamps,
        clock_steps=clock.steps,
        mtime=mtime,
        tick_ns=tick_ns,
        figure_doubt=assembled.figure_doubt,
        rate_tick=0.0 if by_arrival else assembled.rate_tick,
        times_rows=rows.times_rows,
        means=assembled.means.of(steps.step),
        is_interval=per_interval,
        is_recorded=is_recorded,
        by_figures=by_figures,
        by_arrival=by_arrival,
        runtimes=others.runtimes(rows),
        folds=others.folds.folds(int(steps.line[-1]) if len(steps) else None),
        ranks=_ranks(so_far, fmt, steps),
        unread=others.unread.families(),
        passed=others.passed.families(),
        num_other_rows=so_far.writers.num_others,
    )
    return with_mean_of_total(run)


def _is_by_arrival(assembled: Assembled, t_ns: Ints) -> bool:
    # Imported for recordings only, like what is below: most logs are none, and every start would pay for it.
    from stepscope.reading.arrival_rows import is_by_arrival

    fmt = assembled.format
    return is_by_arrival(fmt.clock, assembled.so_far.rows.tick_ns(fmt, None), t_ns)


def _leaves_out(fmt: Format, steps: StepTable, t_ns: Ints) -> bool:
    from stepscope.reading.arrival_rows import leaves_out

    return leaves_out(fmt.clock, steps.dur_ns * steps.span, t_ns)


def _segments(so_far: SoFar) -> tuple[Segment, ...]:
    starts = so_far.segments.starts
    ends = [*(start.row for start in starts[1:]), len(so_far.rows)]
    return tuple(
        Segment(row, end - row, fresh, training) for (row, fresh, training, _), end in zip(starts, ends, strict=False)
    )


def _steady_clock(assembled: Assembled, first_rows: Ints) -> SteadyClock:
    timestamps = assembled.own_file.timestamps
    return assembled.so_far.rows.steady_clock(first_rows, timestamps.stamps(), timestamps.setbacks)


def _notices(assembled: Assembled, clock: SteadyClock) -> tuple[Notice, ...]:
    """What the run's own files say of its end, and how the files of other ranks end."""
    rows = assembled.so_far.rows
    placed = assembled.own_file.notices.placed(rows)
    lines = np.array([notice.line for notice in placed], dtype=np.int64)
    moments = clock.place(np.array([notice.t_ns for notice in placed], dtype=np.int64), lines)
    own = [notice._replace(t_ns=moment) for notice, moment in zip(placed, moments.tolist(), strict=True)]
    return (*own, *(notice._replace(row=len(rows)) for notice in assembled.notices_of_ranks))


def _ranks(so_far: SoFar, fmt: Format, steps: StepTable) -> tuple[Rank, ...]:
    """The ranks that print their own steps, the run's own among them, in their order."""
    writers = so_far.writers
    if not writers.ranks or writers.own_rank is None:
        return ()
    found = [writer.rank(number, fmt) for number, writer in writers.ranks.items()]
    found.append(rank_of(writers.own_rank, fmt, steps.step, so_far.rows.figure[:], steps.t_ns))
    return tuple(sorted(found))
