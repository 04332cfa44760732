"""The meters of PyTorch's ImageNet example in scripts that print them once per epoch: `[20/20] Time 0.156 (0.227)`.

The first figure is that of the epoch's last batch alone, which is often a smaller one and was loaded ahead; the mean
in brackets is that of all batches of the epoch.
"""

from stepscope.formats.imagenet import FORMAT as OF_BATCHES
from stepscope.formats.imagenet import step_line
from stepscope.lines.format import Clock, Format, Layout, Sample

_PLACE = r"Epoch:? \[(?P<epoch>\d+)(?:/(?P<epochs>\d+))?\]\[ *(?P<batch>\d+)/(?P<batches>(?P=batch))\]"
_TIME = r"(?:batch_|Batch )?[Tt]ime:? +[\d.]+s? *\( *(?P<dur_s>[\d.]+)s?\)"
_DATA = r"(?:,?\s+(?:data_|Data )?[Dd]ata(?: [Tt]ime)?:? +[\d.]+s? *\( *(?P<data_s>[\d.]+)s?\))?"

FORMAT = Format(
    title="PyTorch ImageNet example, one line per epoch",
    url="https://github.com/pytorch/examples",
    lines=(
        step_line(_PLACE, _TIME, _DATA),
        *(line for line in OF_BATCHES.lines if line.kind != "step"),
    ),
    clock=Clock(
        covers="window",
        includes=("data", "logging"),
        note="The figure in brackets: the mean of all batches of the epoch that the line ends, waiting for their data "
        "included. The timer begins again with each epoch, so validation and saving are outside.",
    ),
    layout=Layout(events_follow_step=True, first_step=1, lines_end_epochs=True),
    controls=OF_BATCHES.controls,
    samples=(
        Sample(
            "Epoch: [7][20/20]\tTime 0.156 (0.227)\tContrastive Loss 8.31776\tCluster Loss 23.1",
            "step",
            {"epoch": 7, "batch": 20, "batches": 20, "dur_s": 0.227},
        ),
        Sample(
            "Epoch: [3/90][391/391]  Time 0.119 (0.140)  Data 0.002 (0.010)  Loss 1.2040 (1.3110)",
            "step",
            {"epochs": 90, "dur_s": 0.14, "data_s": 0.01, "loss": 1.204},
        ),
        *(sample for sample in OF_BATCHES.samples if sample.kind not in {"step", None}),
        Sample("Epoch: [3][40/391]\tTime 0.119 (0.140)\tLoss 1.2040 (1.3110)", None),  # others of the epoch follow
    ),
)
