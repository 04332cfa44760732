"""W&B's wandb-history.jsonl, and exports like it: each row has the moment at which it was logged."""

from stepscope.formats._shared.tables import MOMENT, first_lines, sniffer, table_lines, writer
from stepscope.lines.format import Clock, Document, Format, Sample

NAME = "wandb_history"

FORMAT = Format(
    title="W&B history",
    url="https://github.com/wandb/wandb",
    lines=table_lines(NAME, MOMENT),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="_timestamp, the moment of each call to log(): the difference of two holds everything that happened "
        "between them. The step is the trainer's own where it logs one, else _step, which counts those calls. Neither "
        "a total nor an ETA is written.",
    ),
    document=Document(sniff=sniffer(NAME), to_lines=writer(NAME), first_lines=first_lines),
    samples=(
        Sample(
            "wandb_history: step 120 unix_s 1731600000.500000 loss 3.25",
            "step",
            {"step": 120, "unix_s": 1731600000.5, "loss": 3.25},
        ),
        Sample(
            "wandb_history: evaluation step 121 unix_s 1731600009.000000 val_loss 3.5",
            "evaluation",
            {"step": 121, "unix_s": 1731600009, "val_loss": 3.5},
        ),
        Sample("wandb_history: step 122 loss 3.25", None),  # without its moment
        Sample("wandb: Run history:", None),
    ),
)
