"""A little of the soak in every run of the tests, and the inputs that once broke something."""

from __future__ import annotations

import os

import pytest

from tests.fuzz.soak import problem_of

# One number each: what broke is what `make(number)` makes, for as long as the generators stay as they are.
BROKE = (1000200, 1000311, 1000339, 2000495, 2000877, 2000904, 3000396)
_NUM = int(os.environ.get("STEPSCOPE_FUZZ") or 300)
_PARTS = 10


@pytest.mark.parametrize("seed", BROKE)
def test_what_once_broke_holds(seed):
    assert problem_of(seed)[1] is None


@pytest.mark.parametrize("part", range(_PARTS))
def test_a_little_of_the_soak(part):
    seeds = range(part, _NUM, _PARTS)
    assert {seed: problem for seed in seeds if (problem := problem_of(seed)[1]) is not None} == {}
