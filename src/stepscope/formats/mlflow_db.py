"""MLflow's SQLite store: the metrics of the run that was logged to last, each with its moment and step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from stepscope.formats._shared.tables import MOMENT, logged_lines, table_lines
from stepscope.lines.format import Clock, Document, Format, Sample

_NAME = "mlflow_db"
_MAGIC = b"SQLite format 3\0"
_METRICS = "SELECT key, value, timestamp, step, is_nan FROM metrics WHERE run_uuid = ? ORDER BY step, timestamp"
# The metrics of the run that goes on longest; system metrics have a clock of their own.
_LAST_RUN = "SELECT run_uuid FROM metrics WHERE key NOT LIKE 'system/%' ORDER BY timestamp DESC, rowid DESC LIMIT 1"


def sniff(head: bytes) -> bool:
    """Whether this is an SQLite file; whose it is shows in its tables."""
    return head.startswith(_MAGIC)


def to_lines(blob: bytes) -> Iterator[str]:
    """The steps of the run that was logged to last, in the order of its steps."""
    import sqlite3

    try:
        with closing(sqlite3.connect(":memory:")) as store:
            store.deserialize(blob)
            run = store.execute(_LAST_RUN).fetchone()
            found = store.execute(_METRICS, run).fetchall() if run else []
    except (sqlite3.Error, MemoryError):
        return  # torn, or another program's; a torn page may state any size
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
