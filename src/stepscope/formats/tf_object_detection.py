"""The object detection API of TensorFlow 2: `Step 1200 per-step time 0.412s`, a mean over a hundred steps."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

FORMAT = Format(
    title="TensorFlow 2 object detection",
    url="https://github.com/tensorflow/models",
    lines=(
        Line(
            "step",
            r"Step (?P<step>\d+) per-step time (?P<dur_s>[\d.]+)s(?: loss=(?P<loss>[-+\d.e]+|nan|inf))?\s*$",
        ),
        Line("step", r"\{?'Loss/total_loss': (?P<loss>[-+\d.e]+|nan|inf)"),
        Line("evaluation", r"Eval metrics at step (?P<step>\d+)"),
        Line("fact", r"Maybe overwriting train_steps: (?P<total>\d+)"),
        Line("chatter", r"\{?'(?!Loss/total_loss)[\w/]{2,80}': \S+"),
        Line("chatter", r"(?:\t?\+ |Finished eval step \d+|Performing evaluation on )"),
    ),
    clock=Clock(
        covers="window",
        includes=("checkpoint", "data", "logging"),
        note="The mean time of a step over the hundred steps of one call to the device; a save falls into the figure "
        "after it. Evaluation is another program's. The total may be printed at the top, an ETA is not.",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample("Step 1200 per-step time 0.412s", "step", {"step": 1200, "dur_s": 0.412, "loss": None}),
        Sample("Step 100 per-step time 1.287s loss=0.931", "step", {"dur_s": 1.287, "loss": 0.931}),
        Sample("'Loss/total_loss': 0.93120,", "step", {"loss": 0.9312}),
        Sample("Eval metrics at step 1000", "evaluation", {"step": 1000}),
        Sample("Maybe overwriting train_steps: 25000", "fact", {"total": 25000}),
        Sample("{'Loss/classification_loss': 0.512,", "chatter"),
        Sample("Finished eval step 100", "chatter"),
        Sample("Step 1200 per-step time 0.4", None),  # cut mid-write
    ),
)
