"""JSON objects, one per line, with a step but no time in any row."""

from stepscope.formats._shared.plain_table import JSONL, untimed_table

FORMAT = untimed_table("jsonl_untimed", "JSON lines without times", JSONL)
