"""LightGBM's own program: the seconds since training began, after every round."""

from stepscope.lines.format import Clock, Controls, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"
_HEAD = r"\[LightGBM\] \[Info\] "

FORMAT = Format(
    title="LightGBM (command line)",
    url="https://github.com/microsoft/LightGBM",
    lines=(
        Line("step", rf"{_HEAD}(?P<elapsed_s>\d[\d.]*) seconds elapsed, finished iteration (?P<step>\d+)\s*$"),
        Line(
            "evaluation", rf"{_HEAD}Iteration: ?(?P<step>\d+), (?!training )\S.{{0,80}}? : (?P<val_loss>{_NUMBER})\s*$"
        ),
        Line("fact", rf"{_HEAD}Iteration: ?\d+, training .{{0,80}}? : (?P<loss>{_NUMBER})\s*$"),
        Line("start", rf"{_HEAD}Started training"),
        Line("checkpoint", rf"{_HEAD}Saved? (?:model|snapshot)"),
        Line(
            "chatter",
            r"\[LightGBM\] \[(?:Warning|Debug|Fatal)\] |\[LightGBM\] \[Info\] "
            r"(?!\d[\d.]* seconds elapsed|Iteration: ?\d|Started training|Saved? (?:model|snapshot))",
        ),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="Seconds since training began, printed after each round, with the scores of that round inside; loading "
        "and binning the data are not. A step is a boosting round. num_iterations is not printed, and no ETA is.",
        restarts_with="process",
    ),
    layout=Layout(first_step=1),
    controls=Controls(
        names={"num_iterations": "max_steps", "metric_freq": "eval_interval", "snapshot_freq": "checkpoint_interval"},
        settable={
            "max_steps": "num_iterations",
            "eval_interval": "metric_freq",
            "checkpoint_interval": "snapshot_freq",
        },
        syntax="{name}={value}",
    ),
    samples=(
        Sample(
            "[LightGBM] [Info] 3.412077 seconds elapsed, finished iteration 24",
            "step",
            {"step": 24, "elapsed_s": 3.412077},
        ),
        Sample(
            "[LightGBM] [Info] Iteration:24, valid_1 auc : 0.7312",
            "evaluation",
            {"step": 24, "val_loss": 0.7312},
        ),
        Sample("[LightGBM] [Info] Iteration:24, training binary_logloss : 0.5511", "fact", {"loss": 0.5511}),
        Sample("[LightGBM] [Info] Started training...", "start"),
        Sample("[LightGBM] [Info] Saved model to LightGBM_model.txt", "checkpoint"),
        Sample("[LightGBM] [Info] Number of positive: 3716, number of negative: 3284", "chatter"),
        Sample("[LightGBM] [Warning] No further splits with positive gain, best gain: -inf", "chatter"),
        Sample("[LightGBM] [Info] 3.412077 seconds elapsed, finished itera", None),  # cut mid-write
    ),
)
