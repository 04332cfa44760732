"""The timeline as a Parquet file: the columns of the CSV with their types, for data frames and databases."""

from __future__ import annotations

from io import BytesIO

from stepscope import __version__
from stepscope.analysis.report import Report
from stepscope.core.errors import UsageError
from stepscope.i18n import Language
from stepscope.ledger.timeline import timeline
from stepscope.report.csv import COLUMNS


def render(report: Report, language: Language) -> bytes:
    """The table; `language` is not used. The paths of the log are in the file's own metadata."""
    del language
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise UsageError("needs-extra", place="--format parquet", extra="parquet") from None
    pieces = timeline(report.run, report.ledger)
    types = {
        "start_s": arrow.float64(),
        "seconds": arrow.float64(),
        "phase": arrow.dictionary(arrow.int8(), arrow.string()),
        "first_step": arrow.int64(),
        "last_step": arrow.int64(),
    }
    about = {"stepscope_version": __version__, "format": report.run.format.name}
    schema = arrow.schema([(name, types[name]) for name in COLUMNS], metadata=about)
    columns = [
        arrow.array([getattr(piece, name) for piece in pieces], type=arrow.string()).cast(types[name])
        if name == "phase"
        else arrow.array([getattr(piece, name) for piece in pieces], type=types[name])
        for name in COLUMNS
    ]
    out = BytesIO()
    parquet.write_table(arrow.Table.from_arrays(columns, schema=schema), out, compression="zstd")
    return out.getvalue()
