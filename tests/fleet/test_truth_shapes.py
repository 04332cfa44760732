"""On runs of several trainers whose seconds are known: what a fleet's table of causes makes of each trainer's log."""

from __future__ import annotations

import os
from collections import Counter

import pytest

pytest.importorskip("duckdb")

from stepscope.fleet.engines import Inline
from stepscope.fleet.facts import read_facts
from stepscope.fleet.query import Fleet
from stepscope.fleet.scan import scan
from stepscope.fleet.store import Store
from tests.fleet.made_shapes import SHAPES, make_shapes

# Of each trainer; STEPSCOPE_SHAPES=400 makes 2,000 runs.
NUM = int(os.environ.get("STEPSCOPE_SHAPES", "8"))
FORMATS = {"ranks": "megatron", "lightning": "lightning_bar"}
# Of the whole time: what a cause may have that took no time at all, from bars of whole seconds.
_CHANCE = 0.002


@pytest.fixture(scope="module")
def shapes(tmp_path_factory) -> tuple[dict, Fleet]:
    """The true seconds of each shape, and what was made of them."""
    folder = tmp_path_factory.mktemp("shapes")
    truth = make_shapes(folder / "logs", NUM)
    store = Store(folder / "store")
    scan([str(folder / "logs")], store, Inline())
    return truth, Fleet(store, read_facts())


@pytest.mark.parametrize("shape", SHAPES)
def test_each_trainers_seconds_are_where_they_went(shapes, shape):
    truth, fleet = shapes
    name = FORMATS.get(shape, shape)
    runs, wall_s, trained_s, unexplained_s = fleet.one(
        "SELECT count(*), sum(wall_s), sum(productive_s), sum(unexplained_s) FROM run WHERE format = ?", [name]
    )
    causes = fleet.rows(
        "SELECT code, sum(seconds) AS seconds FROM finding JOIN run USING (read_id) WHERE format = ? GROUP BY code",
        [name],
    )
    found = {cause["code"]: cause["seconds"] for cause in causes}
    expected = Counter(truth[shape])
    assert runs == NUM
    assert wall_s == pytest.approx(expected.total(), rel=0.005)
    assert trained_s == pytest.approx(expected.pop("step"), rel=0.01)
    assert unexplained_s <= 0.01 * wall_s
    for code in found.keys() | expected.keys():
        assert found.get(code, 0.0) == pytest.approx(expected[code], rel=0.05, abs=_CHANCE * wall_s), code
    assert sum(found.values()) + trained_s + unexplained_s == pytest.approx(wall_s, rel=1e-6)


def test_the_troubles_that_were_made_are_in_the_logs(shapes):
    """A truth without data waits and stragglers would prove nothing."""
    truth, _ = shapes
    assert truth["mmengine"]["data"] > 0.05 * truth["mmengine"].total()
    assert truth["ranks"]["straggler"] > 0.05 * truth["ranks"].total()
