"""JSON objects, one per line, with a step and a moment in each row: the moments are the clock."""

from stepscope.formats._shared.plain_table import JSONL, stamped_table

FORMAT = stamped_table("jsonl_stamp", "JSON lines with timestamps", JSONL)
