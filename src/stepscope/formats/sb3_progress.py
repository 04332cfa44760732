"""Stable-Baselines3's progress.csv: its clock is in whole seconds and its steps are those of the environments."""

from stepscope.formats._shared.tables import ELAPSED, first_lines, sniffer, table_lines, writer
from stepscope.lines.format import Clock, Document, Format, Layout, Sample

NAME = "sb3_progress"

FORMAT = Format(
    title="Stable-Baselines3 progress.csv",
    url="https://github.com/DLR-RM/stable-baselines3",
    lines=table_lines(NAME, ELAPSED),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="time/time_elapsed, whole seconds since learn() began, with evaluations and saving in it; a step is one "
        "of time/total_timesteps, thousands of which make a row. fps is the mean since the start. Neither a total nor "
        "an ETA is written.",
    ),
    layout=Layout(first_step=1),
    document=Document(sniff=sniffer(NAME), to_lines=writer(NAME), first_lines=first_lines),
    samples=(
        Sample(
            "sb3_progress: step 6144 elapsed_s 4.000000000 loss 210.5",
            "step",
            {"step": 6144, "elapsed_s": 4, "loss": 210.5},
        ),
        # The first row: nothing has been trained yet.
        Sample("sb3_progress: step 2048 elapsed_s 0.000000000", "step", {"elapsed_s": 0, "loss": None}),
        Sample("sb3_progress: evaluation step 10000", "evaluation", {"step": 10000, "val_loss": None}),
        Sample("sb3_progress: step 8192 loss 210.5", None),  # without its time
        Sample("| time/              |          |", None),
    ),
)
