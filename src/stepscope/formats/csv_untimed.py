"""CSV tables with a step but no time in any row."""

from stepscope.formats._shared.plain_table import CSV, untimed_table

FORMAT = untimed_table("csv_untimed", "CSV table without times (Lightning CSVLogger)", CSV)
