"""Columns that keep their rows in less room give back the same rows, whatever is done to them."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.columns.decimals import DecimalColumn, Decimals, Nanos, Printed, unpack
from stepscope.columns.run_length import RunLengthColumn
from stepscope.columns.statistics import distinct, median, normal_quantile, quantiles
from stepscope.run.model import NO_TIME

_even = st.builds(
    lambda first, rise, num: [first + rise * at for at in range(num)],
    st.integers(-(10**12), 10**12),
    st.integers(-5, 10**9),
    st.integers(0, 40),
)
_numbers = st.one_of(_even, st.lists(st.integers(-(10**12), 10**12), max_size=80))
_deeds = st.lists(
    st.one_of(
        st.tuples(st.just("append"), _numbers),
        st.tuples(st.just("stage"), _numbers, st.integers(0, 80)),
        st.tuples(st.just("cut"), st.integers(0, 200)),
    ),
    max_size=8,
)


def _do(column: Any, known: list[Any], deeds: list[Any]) -> None:
    for deed, what, *more in deeds:
        if deed == "append":
            for value in what:
                column.append(value)
            known += what
        elif deed == "stage" and what:
            column.stage(np.array(what))
            shown = min(more[0], len(what))
            column.show(shown)
            known += what[:shown]
        elif deed == "cut":
            column.cut(what)
            del known[what:]


@given(_deeds)
def test_a_ramp_is_like_a_list_of_whole_numbers(deeds: list[Any]) -> None:
    column, known = RunLengthColumn(), []
    _do(column, known, deeds)
    assert len(column) == len(known)
    assert unpack(column.share()).tolist() == known
    assert [column[at] for at in range(len(known))] == known
    assert column[1:5].tolist() == known[1:5]
    assert column.last == (known[-1] if known else None)
    assert not known or column[-1] == known[-1]


def test_even_numbers_take_no_room() -> None:
    column = RunLengthColumn()
    for first in range(0, 10**6, 10**4):
        column.stage(np.arange(first, first + 10**4))
        column.show(10**4)
    kept = column.share()
    assert not isinstance(kept, np.ndarray)
    assert len(kept.starts) == 1


_loss = st.one_of(
    st.integers(-(10**9), 10**9).map(lambda number: number / 10**4),
    st.floats(allow_infinity=True, allow_nan=True),
)


@given(st.lists(_loss, max_size=60), st.lists(st.integers(0, 10**10), max_size=60), st.integers(0, 8), _loss)
def test_printed_numbers_come_back_to_the_last_bit(
    first: list[float], numbers: list[int], decimals: int, last: float
) -> None:
    column = DecimalColumn(Decimals())
    for value in first:
        column.append(value)
    column.stage(Printed(np.array(numbers, dtype=np.int64), Decimals(decimals)))
    column.show(len(numbers) // 2)
    known = first + [number / 10**decimals for number in numbers]
    num = len(first) + len(numbers) // 2
    if num:
        column[-1] = last  # with rows still staged behind it
        known[num - 1] = last
    column.show(len(numbers) - len(numbers) // 2)
    np.testing.assert_array_equal(unpack(column.share()), np.array(known, dtype=np.float64))
    for at, value in enumerate(known):
        assert column[at] == value or math.isnan(value)


@given(
    st.lists(st.one_of(st.just(NO_TIME), st.integers(0, 10**15), st.integers(0, 10**7).map(lambda n: n * 10**4))),
    st.lists(st.integers(0, 10**15)),
    st.sampled_from([1, 100, 10**4, 10**6, 10**9]),
)
def test_printed_times_come_back_to_the_nanosecond(first: list[int], times: list[int], unit: int) -> None:
    numbers = [time // unit for time in times]
    column = DecimalColumn(Nanos())
    for value in first:
        column.append(value)
    column.stage(Printed(np.array(numbers, dtype=np.int64), Nanos(unit)))
    column.show(len(numbers))
    column.stage_missing(1)
    column.show(1)
    known = [*first, *(number * unit for number in numbers), NO_TIME]
    assert unpack(column.share()).tolist() == known
    assert column.has_missing()
    assert [column[at] for at in range(len(known))] == known


def test_a_gap_in_the_middle_does_not_hide_the_order() -> None:
    column = RunLengthColumn()
    for first in range(0, 90_000, 1_000):
        column.stage(np.array([first + at + 3 * (at >= 500) for at in range(990)]))
        column.show(990)
    kept = column.share()
    assert not isinstance(kept, np.ndarray)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=300), st.lists(st.integers(-5, 3000), max_size=30))
def test_rows_are_found_by_a_number_that_only_rises(rises: list[int], asked: list[int]) -> None:
    """As `searchsorted` finds them in the unpacked numbers, in pieces and one by one."""
    numbers = np.cumsum(rises)
    column = RunLengthColumn()
    for number in numbers.tolist():
        column.append(number)
    expected = np.searchsorted(numbers, np.array(asked, dtype=np.int64), side="right")
    assert column.rows_upto(np.array(asked, dtype=np.int64)).tolist() == expected.tolist()


@given(
    st.lists(
        st.one_of(st.floats(-1e300, 1e300), st.just(math.nan), st.integers(-(2**53), 2**53)), min_size=1, max_size=60
    ),
    st.integers(1, 3),
)
def test_a_median_is_numpys(values: list[float], num_rows: int) -> None:
    table = np.array([values] * num_rows)
    assert median(values) == np.median(values) or (math.isnan(median(values)) and math.isnan(np.median(values)))
    for axis in (0, 1):
        np.testing.assert_array_equal(median(table, axis=axis), np.median(table, axis=axis))


@given(
    st.lists(st.one_of(st.floats(-1e300, 1e300), st.integers(-(2**53), 2**53)), min_size=1, max_size=60),
    st.lists(st.floats(0, 1), min_size=1, max_size=3),
    st.sampled_from(["linear", "lower", "higher"]),
)
def test_quantiles_are_numpys(values: list[float], shares: list[float], method: str) -> None:
    array = np.array(values, dtype=np.float64)
    with np.errstate(over="ignore"):
        assert quantiles(array, shares, method=method) == np.quantile(array, shares, method=method).tolist()


@given(st.lists(st.integers(-5, 5), max_size=30))
def test_distinct_values_are_numpys(values: list[int]) -> None:
    assert distinct(np.array(values, dtype=np.int64)).tolist() == np.unique(values).tolist()


_times = st.lists(st.one_of(st.just(NO_TIME), st.integers(0, 10**15), st.integers(0, 10**6).map(lambda ms: ms * 10**6)))
_decimals = st.lists(
    st.one_of(st.just(math.nan), st.floats(), st.decimals(-(10**6), 10**6, places=4).map(float)), max_size=30
)


@given(st.lists(_times, max_size=4))
def test_many_times_are_kept_like_one_by_one(blocks):
    one, many = DecimalColumn(Nanos()), DecimalColumn(Nanos())
    for block in blocks:
        for value in block:
            one.append(value)
        many.extend(np.array(block, dtype=np.int64))
    assert (
        unpack(one.share()).tolist() == unpack(many.share()).tolist() == [value for block in blocks for value in block]
    )


@given(st.lists(_decimals, max_size=4))
def test_many_numbers_are_kept_like_one_by_one(blocks):
    one, many = DecimalColumn(Decimals()), DecimalColumn(Decimals())
    for block in blocks:
        for value in block:
            one.append(value)
        many.extend(np.array(block, dtype=np.float64))
    expected = np.array([value for block in blocks for value in block])
    assert np.array_equal(unpack(one.share()), expected, equal_nan=True)
    assert np.array_equal(unpack(many.share()), expected, equal_nan=True)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.75, 0.95, 0.975, 0.995])
def test_the_quantile_of_a_normal_distribution(share: float) -> None:
    assert normal_quantile(share) == pytest.approx(NormalDist().inv_cdf(share), abs=1e-12)
