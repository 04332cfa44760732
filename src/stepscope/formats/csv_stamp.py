"""CSV tables with a step and a moment in each row: the moments are the clock."""

from stepscope.formats._shared.plain_table import CSV, stamped_table

FORMAT = stamped_table("csv_stamp", "CSV table with timestamps", CSV)
