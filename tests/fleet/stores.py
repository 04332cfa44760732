"""What a store says, to compare two of them."""

from __future__ import annotations

from pyarrow import parquet

from stepscope.fleet.store import Store
from stepscope.fleet.tables import TABLES

# Of one reading, not of a run.
OF_A_READING = {"read_id", "scanned_at"}


def rows(store: Store, table: str) -> list[dict]:
    return [row for path in store.parts(table) for row in parquet.read_table(path).to_pylist()]


def content(store: Store, without: frozenset[str] = frozenset()) -> dict[str, list]:
    """What a store says, in an order of its own and without what belongs to a reading."""
    uris = {row["read_id"]: row["uri"] for row in rows(store, "runs")}
    left_out = OF_A_READING | without
    return {
        table: sorted(
            repr(("" if "uri" in without else uris[row["read_id"]], {k: row[k] for k in row if k not in left_out}))
            for row in rows(store, table)
        )
        for table in TABLES
    }
