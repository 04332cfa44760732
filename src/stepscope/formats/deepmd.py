"""DeePMD-kit since 2.2.8 and 3: the seconds of the batches since the line before, called the total wall time."""

from stepscope.lines.format import Clock, Controls, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:\d[\d.]*+(?:[eE][-+]?\d++)?|nan|inf)"
_WHO = r"(?:DEEPMD (?:RANK:\d+ +)?(?:INFO|WARNING|ERROR) +)?"

FORMAT = Format(
    title="DeePMD-kit",
    url="https://github.com/deepmodeling/deepmd-kit",
    lines=(
        Line("step", rf"{_WHO}[Bb]atch +(?P<step>\d+): total wall time = (?P<dur_s>[\d.]+) s(?:,|\s*$)"),
        # The errors of a batch come before the time; rmse is the square root of the whole loss.
        Line("fact", rf"{_WHO}[Bb]atch +\d+: (?:\w+_)?trn: (?:rmse = (?P<loss>{_NUMBER})|\w)"),
        # A validation of one batch unless numb_btch says more, at every line.
        Line("chatter", rf"{_WHO}[Bb]atch +\d+: (?:\w+_)?val: \w"),
        Line("checkpoint", rf"{_WHO}Saved model to (?P<path>\S+)\s*$"),
        Line("checkpoint", rf"{_WHO}saved checkpoint (?P<path>\S+)\s*$"),
        Line("start", rf"{_WHO}Start to train (?P<total>\d+) steps"),
        Line("remark", rf"{_WHO}Data loading buffer is empty or nearly empty\."),
        Line(
            "chatter",
            r"DEEPMD (?:RANK:\d+ +)?(?:INFO|WARNING|ERROR) +"
            r"(?! |[Bb]atch +\d|Saved model to|saved checkpoint|Data loading buffer|Start to train \d)",
        ),
    ),
    clock=Clock(
        covers="window",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="total wall time: the seconds of all batches since the line before (disp_freq), the validation batch, "
        "waiting for data and a save after the line before included. It is no running clock, in spite of its name. "
        "The printed eta is this time x the intervals left.",
        is_sum=True,
    ),
    layout=Layout(first_step=1),
    controls=Controls(
        settable={"log_interval": "disp_freq", "checkpoint_interval": "save_freq", "max_steps": "numb_steps"},
        syntax='"{name}": {value}',
    ),
    samples=(
        Sample("DEEPMD INFO    batch    3000: total wall time = 61.20 s", "step", {"step": 3000, "dur_s": 61.2}),
        Sample(
            "DEEPMD INFO    Batch    3000: total wall time = 61.20 s, eta = 5:30:01 at 2025-02-03 04:05",
            "step",
            {"step": 3000, "dur_s": 61.2},
        ),
        Sample(
            "DEEPMD INFO    batch    3000: trn: rmse = 4.12e+00, rmse_e = 2.01e-02, rmse_f = 1.30e-01, lr = 9.10e-04",
            "fact",
            {"loss": 4.12},
        ),
        Sample(
            "DEEPMD INFO    batch    3000: val: rmse = 5.10e+00, rmse_e = 3.20e-02, rmse_f = 1.61e-01",
            "chatter",
        ),
        Sample("DEEPMD INFO    Saved model to model.ckpt-4000.pt", "checkpoint", {"path": "model.ckpt-4000.pt"}),
        Sample("DEEPMD INFO    saved checkpoint model.ckpt", "checkpoint", {"path": "model.ckpt"}),
        Sample("DEEPMD INFO    Start to train 600000 steps.", "start", {"total": 600000}),
        Sample("DEEPMD WARNING Data loading buffer is empty or nearly empty. This may indicate", "remark"),
        Sample("DEEPMD INFO    Adjust batch size from 1024 to 2048", "chatter"),
        Sample("DEEPMD INFO    batch    3000: total wall time = 61.", None),  # cut mid-write
        Sample("batch 3000 training time 41.20 s, testing time 0.01 s", None),  # DeePMD-kit 2
    ),
)
