"""CSV tables with a step but no time in any row."""

from ._base import Clock, Format, Sample
from ._tables import sniffer, table_lines, writer

NAME = "csv_untimed"

FORMAT = Format(
    title="CSV table without times (Lightning CSVLogger)",
    url="https://github.com/Lightning-AI/pytorch-lightning",
    lines=table_lines(NAME, ""),
    is_timed=False,
    clock=Clock(
        # There is no stamp either: the steps stay without a time.
        covers="stamp",
        includes=(),
        note="The table has no time at all: steps and losses are read, durations are not known. "
        "A column with the time, such as time.time() at each row, would give them.",
    ),
    sniff=sniffer(NAME),
    to_lines=writer(NAME),
    samples=(
        Sample("csv_untimed: step 49 loss 7.5", "step", {"step": 49, "loss": 7.5}),
        Sample("csv_untimed: step 50 of 100", "step", {"step": 50, "total": 100, "loss": None}),
        Sample("csv_untimed: evaluation step 99 val_loss 4.25", "evaluation", {"step": 99, "val_loss": 4.25}),
        Sample("csv_untimed: evaluation", "evaluation", {"step": None, "val_loss": None}),
        Sample("csv_untimed: step 49 los", None),
        Sample("step,loss,time", None),
    ),
)
