"""Rows give back the same numbers, whether they came one by one, a few at a time or many."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.columns.decimals import Nanos, Printed, unpack
from stepscope.reading.row_batch import Row, RowBatch
from stepscope.reading.rows import RowStore
from stepscope.run.model import NO_TIME, EventTable

_loss = st.one_of(st.none(), st.floats(-100, 100), st.sampled_from([3.25, 0.1, math.inf]))
_rows = st.lists(
    st.tuples(st.integers(0, 10**10), st.integers(0, 10**11), _loss, st.sampled_from([NO_TIME, 5, 10**18])), max_size=40
)
_deeds = st.lists(
    st.one_of(
        st.tuples(st.just("append"), _rows),
        st.tuples(st.just("stage"), _rows, st.integers(0, 40)),
        st.tuples(st.just("cut"), st.integers(0, 100)),
        st.tuples(st.just("look"), st.just([])),
    ),
    max_size=8,
)


def batch_of(rows):
    loss = np.array([math.nan if row.loss is None else row.loss for row in rows])
    return RowBatch(
        step=np.array([row.step for row in rows]),
        line=np.array([row.line for row in rows]),
        figure=np.array([row.figure for row in rows]),
        loss=loss,
        is_bad=np.isinf(loss),
        mfu=None,
        data=None,
        work=None,
        t_ns=None,
        epoch=None,
        mean=None,
        mean_wait=None,
        mean_tick=None,
        prefix=None,
        placed=np.array([row.stamp for row in rows]),
    )


@given(_deeds)
def test_rows_come_back_as_they_were_put_in(deeds):
    store, known, line = RowStore(), [], 0
    for deed, what, *more in deeds:
        rows = []
        for step, figure, loss, stamp in [] if deed == "cut" else what:
            line += 1
            rows.append(Row(step, figure, loss, None, 0, line, stamp))
        if deed == "append":
            for row in rows:
                store.append(row)
            known += rows
        elif deed == "stage" and rows:
            shown = min(more[0], len(rows))
            store.stage(batch_of(rows))
            store.show(shown // 2)
            store.show(shown - shown // 2)
            known += rows[:shown]
        elif deed == "cut":
            store.cut(what)
            known = known[:what]
        else:
            assert len(store.loss) == len(known)
        assert len(store) == len(known)
        if known:
            assert store.last_step == known[-1].step == store.step_of(len(known) - 1)
            assert store.last_figure == known[-1].figure
    losses = [math.nan if row.loss is None else row.loss for row in known]
    for at, row in enumerate(known):
        assert (store.step_of(at), store.figure_of(at)) == (row.step, row.figure)
        assert np.array_equal(store.loss_of(at), losses[at], equal_nan=True)
        if store.is_stamped:
            assert store.stamp_of(at) == row.stamp
    assert unpack(store.step.share()).tolist() == [row.step for row in known]
    assert unpack(store.figure.share()).tolist() == [row.figure for row in known]
    assert np.array_equal(unpack(store.loss.share()), losses, equal_nan=True)
    stamps = [row.stamp for row in known]
    assert store.t[:].tolist() in ([], stamps)
    assert len(store.t) or set(stamps) <= {NO_TIME}
    lines = np.array([row.line for row in known], dtype=np.int64)
    assert store.rows_before(lines).tolist() == list(range(1, len(known) + 1))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=30), st.integers(0, 29), st.integers(0, 160), st.booleans())
def test_a_step_is_found_wherever_its_row_is(rises, first, wanted, is_looked_at):
    store, steps = RowStore(), np.cumsum(rises).tolist()
    for line, step in enumerate(steps):
        store.append(Row(step, 1, None, None, 0, line, NO_TIME))
        if is_looked_at and line == len(steps) // 2:
            _ = store.step  # moves the rows so far to the columns
    first = min(first, len(steps) - 1)
    assert store.first_from(first, wanted) == next(
        (row for row in range(first, len(steps)) if steps[row] >= wanted), len(steps)
    )


def test_a_part_of_a_batch_has_its_columns_and_its_rows():
    figure = Printed(np.arange(600, dtype=np.int32), Nanos())
    batch = batch_of([Row(at, 0, at / 8, None, 0, at, NO_TIME) for at in range(600)])._replace(figure=figure)
    for first, last in pairwise((0, 1, 255, 258, 600)):
        part = batch.part(first, last)
        assert len(part) == last - first
        assert part.step.tolist() == [row.step for row in part.rows()] == list(range(first, last))
        assert [row.figure for row in part.rows()] == [at * 10**6 for at in range(first, last)]
        assert [row.loss for row in part.spelled_out(0, 1)] == [first / 8]
        placed = part._replace(placed=np.arange(first, last))
        assert [row.stamp for row in placed.rows()] == list(range(first, last))


def test_events_are_found_by_their_row():
    rows = np.array([3, 1, 3, 9, 1, 0])
    nothing = np.zeros(6, dtype=np.int64)
    columns = dict.fromkeys(("step", "line", "t_ns", "before_ns", "took_ns", "segment"), nothing)
    table = EventTable(kind=("gc",) * 6, row=rows, val_loss=nothing.astype(float), **columns)
    for row in range(11):
        assert table.before(row) == np.flatnonzero(rows == row).tolist()
