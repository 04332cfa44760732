"""CSV tables with a step and the time of that step in each row, perhaps with a moment next to it."""

from stepscope.formats._shared.plain_table import CSV, timed_table

FORMAT = timed_table("csv_duration", "CSV table with step times", CSV)
