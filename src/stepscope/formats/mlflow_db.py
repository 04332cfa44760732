"""MLflow's SQLite store: the metrics of the run that was logged to last, each with its moment and step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from stepscope.core.errors import InputError
from stepscope.formats._shared.tables import MOMENT, logged_lines, table_lines
from stepscope.lines.format import Clock, Document, Format, Sample

_NAME = "mlflow_db"
_OPERATIONS = 100_000  # of SQLite's machine between two looks at the budget: some milliseconds
_MOST_TICKS = 10_000  # half a minute
_LONGEST = 1 << 20  # of a text in the database
_MAGIC = b"SQLite format 3\0"
_METRICS = (
    "SELECT key, value, timestamp, step, is_nan FROM metrics WHERE run_uuid = ? ORDER BY step, timestamp LIMIT 20000000"
)
# The metrics of the run that goes on longest; system metrics have a clock of their own.
_LAST_RUN = "SELECT run_uuid FROM metrics WHERE key NOT LIKE 'system/%' ORDER BY timestamp DESC, rowid DESC LIMIT 1"


class _Clock:
    """Counts what SQLite does, ends a query that takes too long, and lets Ctrl-C through."""

    def __init__(self) -> None:
        self._num_ticks = 0
        self.is_interrupted = False

    def tick(self) -> bool:
        """Whether to end the query. An exception in here would be lost."""
        try:
            self._num_ticks += 1
            return self._num_ticks > _MOST_TICKS
        except KeyboardInterrupt:
            self.is_interrupted = True
            return True


def sniff(head: bytes) -> bool:
    """Whether this is an SQLite file; whose it is shows in its tables."""
    return head.startswith(_MAGIC)


def to_lines(blob: bytes) -> Iterator[str]:
    """The steps of the run that was logged to last, in the order of its steps."""
    import sqlite3

    clock = _Clock()
    try:
        with closing(sqlite3.connect(":memory:")) as store:
            store.deserialize(blob)
            store.text_factory = lambda text: text.decode("utf-8", "replace")
            store.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
            store.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            store.set_progress_handler(clock.tick, _OPERATIONS)
            # The file says what `metrics` is: a view may compute for ever.
            is_table = store.execute("SELECT 1 FROM sqlite_master WHERE name = 'metrics' AND type = 'table'").fetchone()
            if not is_table:
                raise InputError("no-metrics-table")
            run = store.execute(_LAST_RUN).fetchone()
            found = store.execute(_METRICS, run).fetchall() if run else []
    except (sqlite3.Error, MemoryError, UnicodeDecodeError) as problem:  # the last: its own message quotes torn bytes
        if clock.is_interrupted:
            raise KeyboardInterrupt from None
        # Torn, or another program's; a torn page may state any size.
        raise InputError("broken-database", reason=str(problem) or type(problem).__name__) from None
    yield from logged_lines(
        _NAME,
        (
            (key, float("nan") if is_nan else value, timestamp, step)
            for key, value, timestamp, step, is_nan in found
            if isinstance(key, str) and not key.startswith("system/") and isinstance(step, int)
        ),
    )


FORMAT = Format(
    title="MLflow database",
    url="https://github.com/mlflow/mlflow",
    lines=table_lines(_NAME, MOMENT),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The moment of each call to log_metric, in milliseconds: the difference of two holds everything that "
        "happened between them. Of several runs in the file the one logged to last is read. A value logged without a "
        "step has step 0. Neither a total nor an ETA is written.",
    ),
    document=Document(sniff=sniff, to_lines=to_lines),
    samples=(
        Sample(
            "mlflow_db: step 12 unix_s 1731600000.500000 loss 3.25",
            "step",
            {"step": 12, "unix_s": 1731600000.5, "loss": 3.25},
        ),
        Sample(
            "mlflow_db: evaluation step 12 unix_s 1731600001.000000 val_loss 3.5",
            "evaluation",
            {"step": 12, "val_loss": 3.5},
        ),
        Sample("mlflow_db: step 12 loss 3.25", None),  # without its moment
    ),
)
