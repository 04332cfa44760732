"""JSON objects, one per line, with a step and the seconds since the start in each row."""

from ._base import Clock, Format, Sample
from ._tables import ELAPSED, sniffer, table_lines, writer

NAME = "jsonl_elapsed"

FORMAT = Format(
    title="JSON lines with elapsed time",
    url="https://jsonlines.org",
    lines=table_lines(NAME, ELAPSED),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="Seconds since the start, as the table's own column says; whether its clock stops during evaluations is "
        "up to whoever wrote it. After a restart it begins again. No total and no ETA is written, unless a column "
        "max_steps says how many steps there are.",
    ),
    sniff=sniffer(NAME),
    to_lines=writer(NAME),
    samples=(
        Sample(
            "jsonl_elapsed: step 40 elapsed_s 12.500000000 loss 3.25",
            "step",
            {"step": 40, "elapsed_s": 12.5, "loss": 3.25},
        ),
        Sample("jsonl_elapsed: step 41 of 900 elapsed_s 13.000000000", "step", {"total": 900, "loss": None}),
        Sample("jsonl_elapsed: evaluation step 41 val_loss 3.5", "evaluation", {"step": 41, "val_loss": 3.5}),
        Sample("jsonl_elapsed: step 42 loss 3.25", None),  # without its time
        Sample('{"step": 10, "loss": 2.5}', None),
    ),
)
