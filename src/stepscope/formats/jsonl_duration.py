"""JSON objects, one per line, with a step and the time of that step in each row, perhaps with a moment next to it."""

from stepscope.formats._shared.plain_table import JSONL, timed_table

FORMAT = timed_table("jsonl_duration", "JSON lines with step times", JSONL)
