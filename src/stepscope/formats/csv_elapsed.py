"""CSV tables with a step and the seconds since the start in each row."""

from stepscope.formats._shared.plain_table import CSV, elapsed_table

FORMAT = elapsed_table("csv_elapsed", "CSV table with elapsed time", CSV)
