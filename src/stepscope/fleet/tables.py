"""The tables of a store, `stepscope.fleet/1`: their columns and types. Columns are added, never renamed.

`uri` names a run, `read_id` one reading of it: the rows of the other tables belong to the reading with their `read_id`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pyarrow as arrow

SCHEMA = "stepscope.fleet/1"
Type = Literal["text", "texts", "whole", "number", "numbers", "truth", "time"]
Row = dict[str, Any]
Rows = dict[str, list[Row]]

TABLES: dict[str, dict[str, Type]] = {
    "runs": {
        "read_id": "whole",
        "uri": "text",
        "paths": "texts",
        "candidate": "whole",
        "digest": "whole",
        "scanned_at": "time",
        "tool_version": "text",
        "size": "whole",
        "written_at": "time",
        "version": "text",
        "status": "text",
        "error": "text",
        "error_text": "text",
        "format": "text",
        "started_at": "time",
        "ended_at": "time",
        "time_from": "text",
        "wall_s": "number",
        "wall_low_s": "number",
        "wall_high_s": "number",
        "productive_s": "number",
        "productive_low_s": "number",
        "productive_high_s": "number",
        "unexplained_s": "number",
        "paused_s": "number",
        "fingerprint": "text",
        "first_step": "whole",
        "last_step": "whole",
        "max_steps": "whole",
        "num_steps": "number",
        "state": "text",
        "ended_early": "truth",
        "typical_s": "number",
        "step_low_s": "number",
        "step_high_s": "number",
        "tokens_per_s": "number",
        "mfu": "number",
        "remaining_s": "number",
        "remaining_low_s": "number",
        "remaining_high_s": "number",
        "finish_quantiles": "numbers",
        "num_restarts": "whole",
        "num_checkpoints": "whole",
        "shows_checkpoints": "truth",
        "evaluation_excess_s": "number",
        "best_step": "whole",
        "best_val_loss": "number",
        "config": "text",
        "config_hash": "text",
        "devices": "number",
        "hosts": "texts",
        "gpu": "text",
        "user": "text",
        "project": "text",
        "job_id": "text",
        "commit": "text",
        "wall_limit_at": "time",
        "lines": "whole",
        "unread_lines": "whole",
        "reading_confidence": "number",
    },
    "phases": {
        "read_id": "whole",
        "phase": "text",
        "seconds": "number",
        "low_s": "number",
        "high_s": "number",
        "count": "whole",
        "basis": "text",
    },
    "slow": {
        "read_id": "whole",
        "step": "whole",
        "line": "whole",
        "seconds": "number",
        "cause": "text",
        "code": "text",
        "confidence": "number",
    },
    "alarms": {
        "read_id": "whole",
        "code": "text",
        "severity": "text",
        "step": "whole",
        "line": "whole",
        "message": "text",
    },
    "findings": {
        "read_id": "whole",
        "code": "text",
        "seconds": "number",
        "low_s": "number",
        "high_s": "number",
        "basis": "text",
        "setting": "text",
    },
    "advice": {
        "read_id": "whole",
        "code": "text",
        "setting": "text",
        "now": "text",
        "proposed": "text",
        "saves_s": "number",
        "saves_low_s": "number",
        "saves_high_s": "number",
        "saves_logged_s": "number",
        "phases": "texts",
        "evidence": "text",
    },
    "ranks": {
        "read_id": "whole",
        "rank": "whole",
        "host": "text",
        "typical_s": "number",
        "num_steps": "whole",
        "ratio": "number",
    },
}


def arrow_schema(table: str) -> arrow.Schema:
    """The columns of a table as Parquet has them."""
    import pyarrow as arrow

    types = {
        "text": arrow.string(),
        "texts": arrow.list_(arrow.string()),
        "whole": arrow.int64(),
        "number": arrow.float64(),
        "numbers": arrow.list_(arrow.float64()),
        "truth": arrow.bool_(),
        "time": arrow.timestamp("us", tz="UTC"),
    }
    return arrow.schema([(name, types[kind]) for name, kind in TABLES[table].items()], metadata={"schema": SCHEMA})
