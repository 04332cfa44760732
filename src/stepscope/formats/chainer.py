"""Chainer and ESPnet 1: the rows of PrintReport, with a running clock, between the bars of ProgressBar."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:\d[\d.]*+(?:e[-+]?\d++)?|nan|inf)"
# What moves the cursor and clears the bar, where it was pasted as text.
_CLEAR = r"(?:(?:ESC|\^\[)?\[\d*[AJ])*"
# The first cells are twelve characters wide: a whole number, or one of seven digits and more to six digits.
_CELL = (
    r"(?=(?:\d {11}|\d{2} {10}|\d{3} {9}|\d{4} {8}|\d{5} {7}|\d{6} {6}|\de\+\d\d {7}|\d\.\d{1,5}e\+\d\d {2,6})[\dni-])"
)
# elapsed_time is the last column, but for ESPnet's eps.
_CLOCK = rf"(?:{_NUMBER} {{2,}}){{0,40}}?(?P<elapsed_s>[1-9]\d*(?:\.\d+)?(?:e\+\d+)?)(?: {{2,}}\d(?:\.\d+)?e-\d+)?\s*$"

FORMAT = Format(
    title="Chainer and ESPnet 1",
    url="https://github.com/chainer/chainer",
    lines=(
        Line(
            "step",
            rf"{_CLEAR}{_CELL}\d+ +{_CELL}(?P<step>\d+(?:\.\d+)?(?:e\+\d+)?) {{2,}}(?P<loss>{_NUMBER}) {{2,}}{_CLOCK}",
        ),
        Line("chatter", rf"{_CLEAR}epoch {{2,}}(?:[\w./-]{{1,80}} {{2,}}){{1,40}}elapsed_time(?: +eps)?\s*$"),
        Line("chatter", rf"{_CLEAR}(?: *total|this epoch) \[[#.]+\] +[\d.]+%\s*$"),
        Line("fact", rf"{_CLEAR}\d+ iter, \d+ epoch / (?P<epochs>\d+) epochs\s*$"),
        Line("fact", rf"{_CLEAR}\d+ iter, \d+ epoch / (?P<total>\d+) iterations\s*$"),
        Line("chatter", rf"{_CLEAR}(?:{_NUMBER}) iters/sec\. Estimated time to finish: "),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="elapsed_time: seconds since the training began, the time before a snapshot was resumed included; "
        "validation and saving are inside. The bar's iters/sec is the mean of its last hundred updates, and the time "
        "to finish is what is left at that rate: infinite and zero on the first bar.",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample(
            "3           1200        41.25       12.5                                    0.871       512.812",
            "step",
            {"step": 1200, "loss": 41.25, "elapsed_s": 512.812},
        ),
        Sample(
            "ESC[4AESC[J0           300         91.125      88.5        0.0012      171.5       1e-08",
            "step",
            {"step": 300, "loss": 91.125, "elapsed_s": 171.5},
        ),
        Sample("epoch       iteration   main/loss   validation/main/loss  main/acc    elapsed_time", "chatter"),
        Sample("this epoch [#####.............................................] 11.20%", "chatter"),
        Sample("1200 iter, 3 epoch / 40 epochs", "fact", {"epochs": 40}),
        Sample("1200 iter, 3 epoch / 9000 iterations", "fact", {"total": 9000}),
        Sample("2.4101 iters/sec. Estimated time to finish: 1:02:03.125000.", "chatter"),
        Sample("3           1200        41.25       12.5                                    0.871", None),  # cut
        Sample("3 1200 41.25 12.5 0.871 512.812", None),  # another table
        Sample("0   1   2   3   4   5   6   7", None),  # a channel of NCCL
    ),
)
