"""Kaldi's nnet3 scripts: an iteration is a stage of minutes, and only its beginning is printed."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_LOGGER = r"(?:\[[^\]]{1,120} - \w+ - \w+ ?\] )?"

FORMAT = Format(
    title="Kaldi nnet3",
    url="https://github.com/kaldi-asr/kaldi",
    lines=(
        Line(
            "step",
            rf"{_LOGGER}Iter: (?P<step>\d+)/(?P<total>\d+) +(?:Jobs: \d+ +)?Epoch: [\d.]+/[\d.]+ \([\d.]+% complete\)",
        ),
        Line("start", rf"{_LOGGER}Training will run for [\d.]+ epochs = \d+ iterations"),
        Line(
            "chatter",
            rf"{_LOGGER}(?:Copying the properties|Computing the preconditioning|Preparing the initial|Creating |Doing "
            r"|Initializing |Generating |Doing final combination|Cleaning up )",
        ),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The moment at which an iteration begins. Its jobs run in parallel, and the models they leave are "
        "averaged, which is inside. Iterations count from 0 to the number behind the stroke.",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample(
            "[steps/nnet3/chain/train.py:529 - train - INFO ] Iter: 41/62   Jobs: 6   Epoch: 2.61/4.0 (65.2% complete)"
            "   lr: 0.000411",
            "step",
            {"step": 41, "total": 62},
        ),
        Sample("Iter: 0/62   Epoch: 0.00/4.0 (0.0% complete)   lr: 0.001", "step", {"step": 0, "total": 62}),
        Sample("Training will run for 4.0 epochs = 63 iterations", "start"),
        Sample("Preparing the initial acoustic model.", "chatter"),
        Sample("Iter: 41/62   Jobs: 6   Epoch: 2.6", None),  # cut mid-write
        Sample("Iter: 41/62 loss: 0.3", None),
    ),
)
