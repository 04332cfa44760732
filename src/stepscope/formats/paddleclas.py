"""PaddleClas: means over the print interval, reader inside batch; Paddle's usual figures behind a tag of its own."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"(?:[-+]?[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"
_HEAD = r"(?:(?:ppcls|root)[\w.]* INFO: )?"

FORMAT = Format(
    title="PaddleClas",
    url="https://github.com/PaddlePaddle/PaddleClas",
    lines=(
        Line(
            "step",
            rf"{_HEAD}\[Train\]\[Epoch (?P<epoch>\d+)/(?P<epochs>\d+)\]\[Iter: (?P<batch>\d+)/(?P<batches>\d+)\]"
            rf".{{0,400}}?\bloss: (?P<loss>{_NUMBER}), batch_cost: (?P<dur_s>[\d.]+) ?s, "
            r"(?:reader_cost: (?P<data_s>[\d.]+) ?s?, )?",
        ),
        Line("evaluation", rf"{_HEAD}\[Eval\]\[Epoch \d+\]\[Avg\](?:.{{0,400}}?\bloss: (?P<val_loss>{_NUMBER}))?"),
        Line(
            "evaluation",
            rf"{_HEAD}\[Eval\]\[Epoch \d+\]\[Iter: (?P<took_batch>\d+)/(?P<took_batches>\d+)\].{{0,600}}?"
            r"\bbatch_cost: (?P<took_mean_s>[\d.]+) ?s",
        ),
        Line("checkpoint", rf"{_HEAD}Already save model in (?P<path>\S+)"),
        Line(
            "chatter",
            rf"{_HEAD}(?:\[Eval\]\[Epoch \d+\]\[(?!Avg|.{{0,800}}?\bbatch_cost: [\d.]+ ?s)"
            r"|\[Train\]\[Epoch \d+/\d+\]\[Avg\])",
        ),
    ),
    clock=Clock(
        covers="window",
        includes=("data", "logging"),
        note="batch_cost is the mean since the last line, with reader_cost inside it; evaluation and saving are "
        "outside. eta is batch_cost times the batches left, without them.",
    ),
    layout=Layout(first_epoch=1),
    samples=(
        Sample(
            "ppcls INFO: [Train][Epoch 3/120][Iter: 40/626]lr(PiecewiseDecay): 0.10000000, top1: 0.11, "
            "CELoss: 4.91203, loss: 4.91203, batch_cost: 0.31200s, reader_cost: 0.01102, ips: 410.2 samples/s, "
            "eta: 6:20:11",
            "step",
            {"epoch": 3, "epochs": 120, "batch": 40, "batches": 626, "dur_s": 0.312, "loss": 4.91203},
        ),
        Sample("[Eval][Epoch 3][Avg]CELoss: 4.51, loss: 4.51, top1: 0.13", "evaluation", {"val_loss": 4.51}),
        Sample(
            "[Eval][Epoch 3][Iter: 10/79]CELoss: 4.51, loss: 4.51, top1: 0.13, batch_cost: 0.41s, reader_cost: 0.3",
            "evaluation",
            {"took_batch": 10, "took_batches": 79, "took_mean_s": 0.41},
        ),
        Sample("ppcls INFO: Already save model in ./output/net/latest", "checkpoint"),
        Sample("[Eval][Epoch 3][Iter: 0/391]CELoss: 4.51, loss: 4.51", "chatter"),
        Sample("[Train][Epoch 3/120][Iter: 40/626]lr: 0.1, loss: 4.9, batch_c", None),  # cut mid-write
    ),
)
