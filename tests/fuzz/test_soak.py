"""A little of the soak in every run of the tests, and the inputs that once broke something."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fuzz.soak import problem_of, problem_with

# A folder each, named after the input that the soak found. Every file is as the soak made it.
BROKE = sorted(path for path in (Path(__file__).parent / "broke").iterdir() if path.is_dir())
_NUM = int(os.environ.get("STEPSCOPE_FUZZ") or 600)
_PARTS = 10


@pytest.mark.parametrize("folder", BROKE, ids=lambda path: path.name)
@pytest.mark.parametrize("number", [0, 10])
def test_what_once_broke_holds(folder, number):
    """By every renderer, with a total and without."""
    assert problem_with(folder, sorted(path.name for path in folder.iterdir()), number) is None


@pytest.mark.parametrize("part", range(_PARTS))
def test_a_little_of_the_soak(part):
    seeds = range(part, _NUM, _PARTS)
    assert {seed: problem for seed in seeds if (problem := problem_of(seed)[1]) is not None} == {}
