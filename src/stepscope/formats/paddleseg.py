"""PaddleSeg. One line per window of log_iters iterations; evaluation comes after it, untimed."""

from stepscope.lines.format import Clock, Controls, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf|NaN|Inf)"
_LEVEL = r"(?:\[(?:INFO|WARNING|DEBUG)\]\s+)"

FORMAT = Format(
    title="PaddleSeg",
    url="https://github.com/PaddlePaddle/PaddleSeg",
    lines=(
        Line(
            "step",
            rf"{_LEVEL}?\[TRAIN\] epoch: \d+, iter: (?P<step>\d+)/(?P<total>\d+), loss: (?P<loss>{_NUMBER}), "
            r".{0,400}?\bbatch_cost: (?P<dur_s>[\d.]+), reader_cost: (?P<data_s>[\d.]+)",
        ),
        Line("evaluation", rf"{_LEVEL}?\[EVAL\] #Images: \d+,? "),
        Line("start", r"-*Environment Information-{8,}\s*$"),
        Line("resume", rf"{_LEVEL}Resume model from (?P<path>\S+)"),
        Line("chatter", rf"{_LEVEL}?\[EVAL\] (?!#Images)|{_LEVEL}(?!\[TRAIN\] |\[EVAL\] |Resume )|\[INFO\]\s*$"),
        # The bar of an evaluation, full.
        Line("evaluation", r"(\d+)/\1 (?:\[=+\] )?- (?P<took_s>\d+)s .{0,80}batch_cost: "),
        Line("chatter", r"(\d+)/(?!\1 )\d+ (?:\[[=>.]+\] )?- .{0,80}batch_cost: |(\d+)/\2 (?:\[=+\] )?- ETA: "),
        # The environment and the config as YAML, class scores, the warnings of Paddle's runtime.
        Line(
            "chatter",
            r"(?!Epoch:)(?:- )?[A-Za-z_][\w ]{0,40}:(?:\s|$)|-*Config Information-{8,}|- [\w.'\"-]+\s*$|-{8,}\s*$",
        ),
        Line("chatter", r"\[?\[?[\d. ]++\]?\]?\s*$"),
        Line("chatter", r"[IWE]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \w+\.cc:\d+\]"),
        Line("chatter", r"<class 'paddle.{1,80}flops has been counted|Cannot find suitable count function for "),
        Line("chatter", r"\S+\.py:\d+: \w*Warning: |format\(lhs_dtype, rhs_dtype"),
    ),
    clock=Clock(
        covers="window",
        includes=("data",),
        note="batch_cost is the mean of the iterations since the last printed line, reader_cost inside it; evaluation "
        "and saving are outside. The printed ETA is batch_cost x the iterations left and leaves both out.",
    ),
    layout=Layout(first_step=1, events_follow_step=True),
    controls=Controls(
        names={"iters": "max_steps"},
        settable={
            "eval_interval": "save_interval",
            "max_steps": "iters",
            "log_interval": "log_iters",
            "batch_size": "batch_size",
            "num_workers": "num_workers",
            "keep_saves": "keep_checkpoint_max",
        },
        syntax="--{name} {value}",
    ),
    samples=(
        Sample(
            "[INFO]\t[TRAIN] epoch: 2, iter: 320/8000, loss: 0.5655, lr: 0.008919, batch_cost: 0.2893, reader_cost: "
            "0.01874, ips: 13.8250 samples/sec | ETA 00:37:01",
            "step",
            {"step": 320, "total": 8000, "loss": 0.5655, "dur_s": 0.2893},
        ),
        Sample("[INFO]\t[EVAL] #Images: 120 mIoU: 0.7315 Acc: 0.9533 Kappa: 0.7111", "evaluation"),
        Sample("------------Environment Information-------------", "start"),
        Sample("[INFO]\tResume model from output/iter_4000", "resume", {"path": "output/iter_4000"}),
        Sample("[INFO]\t[EVAL] The model with the best validation mIoU (0.7315) was saved at iter 500.", "chatter"),
        Sample(
            "120/120 [==============================] - 14s 117ms/step - batch_cost: 0.1162 - reader cost: 0.07",
            "evaluation",
            {"took_s": 14},
        ),
        Sample("12/120 [==>...........................] - ETA: 3s - batch_cost: 0.0312 - reader cost: 0.01", "chatter"),
        Sample("learning_rate: 0.01", "chatter"),
        Sample("[0.97 0.84 0.61]", "chatter"),
        Sample("W1008 23:18:51.123456  4242 device_context.cc:404] device: 0, cuDNN Version: 8.1.", "chatter"),
        Sample("<class 'paddle.nn.layer.conv.Conv2D'>'s flops has been counted", "chatter"),
        Sample("/env/lib/paddle/math_op_patch.py:238: UserWarning: The dtype of left and right", "chatter"),
        Sample("[TRAIN] epoch: 2, iter: 320/8000, loss: 0.5655, lr: 0.008919, batch_cost: 0.2", None),  # cut mid-write
        Sample(
            "Epoch: [0] [ 20/464] learning_rate: 0.1 loss: 9.4 eta: 1:13:14 batch_cost: 0.4965 data_cost: 0.1", None
        ),
    ),
)
