"""Chainer's PrintReport without a column of iterations: a row per epoch, with a running clock at its end."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:\d[\d.]*+(?:e[-+]?\d++)?|nan|inf)"
_CLEAR = r"(?:(?:ESC|\^\[)?\[\d*[AJ])*"
# A cell is twelve characters wide. What follows the epoch, which begins the line, has a point: iterations are whole.
_EPOCH = r"(?=(?:\d {11}|\d{2} {10}|\d{3} {9}|\d{4} {8})(?:\d+\.\d|nan))(?P<step>\d+)"

FORMAT = Format(
    title="Chainer, by epochs",
    url="https://github.com/chainer/chainer",
    lines=(
        Line(
            "step",
            rf"^{_CLEAR}{_EPOCH} +(?P<loss>{_NUMBER}) {{2,}}(?:{_NUMBER} {{2,}}){{0,40}}?"
            r"(?P<elapsed_s>[1-9]\d*(?:\.\d+)?(?:e\+\d+)?)\s*$",
        ),
        Line("chatter", rf"{_CLEAR}epoch {{2,}}+(?!iteration)(?:[\w./-]{{1,80}} {{2,}}){{1,40}}elapsed_time\s*$"),
        Line("chatter", rf"{_CLEAR}(?: *total|this epoch) \[[#.]+\] +[\d.]+%\s*$", weak=True),
        Line("fact", rf"{_CLEAR}\d+ iter, \d+ epoch / (?P<total>\d+) epochs\s*$", weak=True),
        Line("fact", r"# epoch: (?P<total>\d+)\s*$", weak=True),
        Line("chatter", rf"{_CLEAR}(?:{_NUMBER}) iters/sec\. Estimated time to finish: ", weak=True),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="As in the other table: seconds since the training began, validation and saving inside. A step is an "
        "epoch; the iterations that the bar counts in between have no times of their own.",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample(
            "3           0.41251     0.52013               0.871          0.844                     36.812",
            "step",
            {"step": 3, "loss": 0.41251, "elapsed_s": 36.812},
        ),
        Sample("epoch       main/loss   validation/main/loss  main/accuracy  elapsed_time", "chatter"),
        Sample("this epoch [#####.............................................] 11.20%", "chatter"),
        Sample("1200 iter, 3 epoch / 40 epochs", "fact", {"total": 40}),
        Sample("# epoch: 40", "fact", {"total": 40}),
        Sample("2.4101 iters/sec. Estimated time to finish: 1:02:03.125000.", "chatter"),
        Sample("3           1200        41.25       12.5                                    0.871       512.812", None),
        Sample("3 0.4 0.871 512.812", None),  # another table
    ),
)
