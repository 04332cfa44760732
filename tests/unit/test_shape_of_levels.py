"""The shape of a run's normal rows, as causes see it."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.causes._trend import find_trend


@pytest.mark.parametrize("zeros", [slice(-10, None), slice(0, 10), slice(20, 30), slice(0, 0)])
def test_rows_that_took_no_time_by_a_coarse_clock_break_nothing(zeros):
    seconds = np.random.default_rng(1).normal(1.0, 0.01, 48)
    seconds[zeros] = 0.0
    found = find_trend(seconds, np.arange(48))
    assert np.isfinite([found.change, found.noise]).all()
    assert (found.kind == "flat") == (zeros == slice(0, 0))
