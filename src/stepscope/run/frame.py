"""The step rows of a Run as a pandas DataFrame. pandas is imported here only."""

from __future__ import annotations

from typing import Any

from stepscope.core.errors import UsageError
from stepscope.core.units import NS
from stepscope.run.model import NO_TIME, Run


def frame(run: Run) -> Any:
    """One row per printed step: step, seconds of one step, steps covered, loss, line, and the time where it is known.

    Times have a time zone where the log's timestamps have one.
    """
    try:
        import pandas as pd
    except ImportError:
        raise UsageError("needs-extra", place="Run.to_pandas", extra="pandas") from None
    steps, stamps = run.steps, run.stamps
    columns: dict[str, Any] = {
        "step": steps.step,
        "step_s": steps.dur_ns / NS,
        "num_steps": steps.span,
        "loss": steps.loss,
        "line": steps.line,
    }
    if len(steps.t_ns) and stamps is not None and stamps.dated:
        known = pd.Series(steps.t_ns - stamps.shift_ns).where(steps.t_ns != NO_TIME)
        columns["time"] = pd.to_datetime(known, unit="ns", utc=stamps.zoned)
    return pd.DataFrame(columns)
