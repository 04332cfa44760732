"""fastText: no steps, only the share that is done, words a second and thread, and what is left."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

FORMAT = Format(
    title="fastText",
    url="https://github.com/facebookresearch/fastText",
    lines=(
        Line(
            "step",
            r"Progress: {1,3}(?P<percent>(?P<step>\d+)(?:\.\d+)?)% +words/sec/thread: +\d+ +lr: +-?[\d.]+ +"
            r"(?:avg\.)?loss: +(?P<loss>[\d.]+) +ETA: +(?P<left_clock>\d+h ?\d+m(?: ?\d+s)?)",
        ),
        Line("chatter", r"Read \d+[KM]? words$|Number of (?:words|labels):"),
    ),
    clock=Clock(
        covers="window",
        includes=("data", "logging"),
        note="A step is one percent of the training. Its mean time is what is left over the percent that are left, in "
        "whole seconds (minutes in old versions). Nothing is evaluated, and nothing saved before the end.",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample(
            "Progress:  12.3% words/sec/thread:   15730 lr:  0.043850 avg.loss:  1.300813 ETA:   0h50m33s",
            "step",
            {"step": 12, "percent": 12.3, "loss": 1.300813},
        ),
        Sample("Progress: 5.0% words/sec/thread: 9000 lr: 0.0475 loss: 2.1 ETA: 1h 2m", "step", {"step": 5}),
        Sample("Read 124M words", "chatter"),
        Sample("Number of words:  218316", "chatter"),
        Sample("Progress:  12.3% words/sec/thread:   15730 lr:  0.0438", None),
    ),
)
