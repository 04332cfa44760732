"""A store's newest readings with what was stated of them, as tables that DuckDB asks: `run`, `finding`, `advice`, …

`run.weight` is what a second of a run counts: its GPUs where the fleet's are known, else one. `run.price` is per GPU
and hour, `run.wall_s` without the pauses between two starts. A copy of another log is in `copy`, not in `run`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepscope.core.errors import UsageError
from stepscope.fleet.facts import FACTS, Facts
from stepscope.fleet.store import Store
from stepscope.fleet.tables import TABLES, Row, arrow_schema

_OTHERS = {"findings": "finding", "advice": "advice", "phases": "phase", "alarms": "alarm", "ranks": "rank"}
_NO_COPY = "read_id NOT IN (SELECT read_id FROM copy)"


class Fleet:
    """The runs of a store, and a connection that answers questions about them."""

    def __init__(self, store: Store, facts: Facts, price: float | None = None) -> None:
        try:
            import duckdb
        except ImportError:
            raise UsageError("needs-extra", place="stepscope fleet report", extra="fleet") from None
        # Moments leave as seconds: DuckDB knows time zones only with an extension that it would have to fetch.
        self._base = duckdb.connect(":memory:")
        self._load(store)
        self._state(facts, price)
        self.has_devices = bool(self.one("SELECT count(*) FROM run WHERE is_timed AND devices IS NOT NULL")[0])
        weight = "devices" if self.has_devices else "1.0"
        self._base.execute(f"ALTER TABLE run ADD COLUMN weight DOUBLE; UPDATE run SET weight = {weight}")

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """The answer to a question, a dictionary a row."""
        answer = self._base.execute(sql, list(values))
        names = [column[0] for column in answer.description]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]

    def one(self, sql: str, values: Sequence[object] = ()) -> tuple[Any, ...]:
        """The only row of an answer."""
        found = self._base.execute(sql, list(values)).fetchone()
        assert found is not None, sql
        return found

    def _load(self, store: Store) -> None:
        self._view(store, "runs", "reading")
        # A file that was read as part of another candidate before is there twice; the newest reading counts.
        self._base.execute(
            """
            CREATE TABLE newest AS
            SELECT * FROM (SELECT * FROM reading QUALIFY scanned_at = max(scanned_at) OVER (PARTITION BY candidate))
            QUALIFY row_number() OVER (PARTITION BY uri ORDER BY scanned_at DESC, read_id) = 1
            """
        )
        # Logs are copied, whole: of equal ones the oldest counts.
        self._base.execute(
            """
            CREATE TABLE copy AS SELECT read_id FROM newest WHERE fingerprint IS NOT NULL
            QUALIFY row_number() OVER (PARTITION BY format, fingerprint ORDER BY written_at, uri) > 1
            """
        )
        for table, name in _OTHERS.items():
            self._view(store, table, f"{name}_read")
            columns = ", ".join(f'"{column}"' for column in TABLES[table])
            own = f"SELECT {columns} FROM {name}_read SEMI JOIN newest USING (read_id)"
            self._base.execute(f"CREATE TABLE {name} AS {own}")

    def _view(self, store: Store, table: str, name: str) -> None:
        parts = [str(path) for path in store.parts(table)]
        self._base.register(f"no_{name}", arrow_schema(table).empty_table())
        # The empty table brings the columns that an older part lacks.
        sql = f"SELECT * FROM no_{name}"
        if parts:
            self._base.read_parquet(parts, union_by_name=True).create_view(f"parts_{name}")
            sql += f" UNION ALL BY NAME SELECT * FROM parts_{name}"
        self._base.execute(f"CREATE VIEW {name} AS {sql}")

    def _state(self, facts: Facts, price: float | None) -> None:
        """Join what was stated of the runs to what their logs say."""
        import pyarrow as arrow

        names = self._base.execute(
            f"SELECT read_id, uri, job_id FROM newest WHERE status = 'read' AND {_NO_COPY}"
        ).fetchall()
        stated = [facts.of(uri, job_id) for _, uri, job_id in names]
        types = {**{name: arrow_schema("runs").field(name).type for name in FACTS if name != "price"}}
        types["price"] = arrow.float64()
        columns = {name: arrow.array([row.get(name) for row in stated], types[name]) for name in FACTS}
        numbers = arrow.array([number for number, *_ in names], arrow.int64())
        self._base.register("stated", arrow.table({"read_id": numbers, **columns}))
        own = ", ".join(
            f'coalesce(stated."{name}", newest."{name}") AS "{name}"' for name in FACTS if name not in {"price"}
        )
        kept = ", ".join(f'newest."{name}"' for name in TABLES["runs"] if name not in {*FACTS, "wall_s"})
        self._base.execute(
            f"""
            CREATE TABLE run AS
            SELECT {kept}, {own}, coalesce(stated.price, ?) AS price,
                   newest.wall_s - coalesce(newest.paused_s, 0) AS wall_s,
                   coalesce(newest.wall_s - coalesce(newest.paused_s, 0) > 0, false) AS is_timed
            FROM newest JOIN stated USING (read_id)
            """,
            [price],
        )
