"""JSON objects, one per line, with a step and the seconds since the start in each row."""

from stepscope.formats._shared.plain_table import JSONL, elapsed_table

FORMAT = elapsed_table("jsonl_elapsed", "JSON lines with elapsed time", JSONL)
