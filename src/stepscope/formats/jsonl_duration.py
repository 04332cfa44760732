"""JSON objects, one per line, with a step and the time of that step in each row, perhaps with a moment beside it."""

from ._base import Clock, Format, Sample
from ._tables import DURATION, sniffer, table_lines, writer

NAME = "jsonl_duration"

FORMAT = Format(
    title="JSON lines with step times",
    url="https://jsonlines.org",
    lines=table_lines(NAME, DURATION),
    clock=Clock(
        covers="step",
        # Nothing in the table says what else its timer saw.
        includes=(),
        note="The time of one step, the one of the row, by the name of its column; that evaluations, checkpoints and "
        "the steps between two rows are outside is assumed. No total and no ETA is written, unless a column max_steps "
        "says how many steps there are.",
    ),
    sniff=sniffer(NAME),
    to_lines=writer(NAME),
    samples=(
        Sample(
            "jsonl_duration: step 40 dur_s 0.312500000 loss 3.25",
            "step",
            {"step": 40, "dur_s": 0.3125, "loss": 3.25},
        ),
        Sample(
            "jsonl_duration: step 41 of 900 dur_s 0.250000000 unix_s 1731600000.500000",
            "step",
            {"total": 900, "dur_s": 0.25, "unix_s": 1731600000.5},
        ),
        Sample("jsonl_duration: evaluation step 41 val_loss 3.5", "evaluation", {"step": 41, "val_loss": 3.5}),
        Sample("jsonl_duration: step 42 loss 3.25", None),  # without its time
        Sample('{"step": 10, "loss": 2.5}', None),
    ),
)
