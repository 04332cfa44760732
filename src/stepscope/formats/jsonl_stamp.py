"""JSON objects, one per line, with a step and a moment in each row: the moments are the clock."""

from ._base import Clock, Format, Sample
from ._tables import MOMENT, sniffer, table_lines, writer

NAME = "jsonl_stamp"

FORMAT = Format(
    title="JSON lines with time stamps",
    url="https://jsonlines.org",
    lines=table_lines(NAME, MOMENT),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The moment of each row: the difference of two holds everything that happened between them. "
        "No total and no ETA is written, unless a column max_steps says how many steps there are.",
    ),
    sniff=sniffer(NAME),
    to_lines=writer(NAME),
    samples=(
        Sample(
            "jsonl_stamp: step 120 unix_s 1731600000.500000 loss 3.25",
            "step",
            {"step": 120, "unix_s": 1731600000.5, "loss": 3.25},
        ),
        Sample("jsonl_stamp: step 121 of 5000 stamp 2024-11-14T16:00:01.25", "step", {"step": 121, "total": 5000}),
        Sample(
            "jsonl_stamp: evaluation step 121 unix_s 1731600009.000000 val_loss 3.5",
            "evaluation",
            {"step": 121, "unix_s": 1731600009, "val_loss": 3.5},
        ),
        Sample("jsonl_stamp: step 122 loss 3.25", None),  # without its moment
        Sample('{"step": 10, "loss": 2.5}', None),
    ),
)
