"""The store is plain Parquet: what the docs ask of it, asked by DuckDB, and the same by Polars."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("duckdb")

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")
(SQL,) = re.findall(r"^```sql\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
QUERIES = [query.strip() for query in SQL.split(";") if query.strip()]
(POLARS,) = re.findall(r"^```python\n(import polars.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def answer(query: str, store) -> list[tuple]:
    """What DuckDB, without any of our code, makes of a query of the page."""
    import duckdb

    return duckdb.connect().sql(query.replace("'fleet/", f"'{store}/")).fetchall()


def test_each_query_of_the_page_is_answered(scanned_fleet):
    hours, died, savings, unread = (answer(query, scanned_fleet.store) for query in QUERIES)
    phases = dict(hours)
    truth = sum((spent for spent in scanned_fleet.truth.by_run.values()), start=type(scanned_fleet.truth.device_s)())
    assert phases["checkpoint"] > 0
    assert sum(phases.values()) == pytest.approx(truth.total() / 3600, rel=1e-3)
    early = {name for name, spent in scanned_fleet.truth.by_run.items() if spent["died_before_checkpoint"]}
    assert {uri.rpartition("/")[2] for uri, *_ in died} == early
    assert {code for code, *_ in savings} >= {"A101", "A108"}
    assert unread == []


def test_polars_says_the_same(scanned_fleet):
    polars = pytest.importorskip("polars", reason="Polars is not installed")
    assert polars
    names: dict[str, object] = {}
    exec(POLARS.replace('"fleet/', f'"{scanned_fleet.store}/'), names)
    found = dict(names["hours"].rows())
    assert found == pytest.approx(dict(answer(QUERIES[0], scanned_fleet.store)))
