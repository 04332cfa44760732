"""MaxText. JAX hands work over without waiting: the second step looks fast, and the one after it pays."""

from stepscope.lines.format import Clock, Controls, Format, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf|NaN|Inf)"
_GLOG = r"(?:[IWE]\d{4} (?P<stamp>\d\d:\d\d:\d\d(?:\.\d+)?) +\d+ [\w.]+:\d+\] )?"

FORMAT = Format(
    title="MaxText",
    url="https://github.com/AI-Hypercomputer/maxtext",
    lines=(
        Line(
            "step",
            rf"{_GLOG}completed step: (?P<step>\d+), seconds: +(?P<dur_s>[\d.]+), TFLOP/s(?:/device)?: +{_NUMBER}, "
            rf"(?:(?!loss)[\w/ ]{{1,40}}: +[^,]{{1,40}}, +){{0,6}}loss: (?P<loss>{_NUMBER})",
        ),
        Line(
            "evaluation", rf"{_GLOG}eval metrics after step: (?P<step>\d+), (?:eval_)?loss[=:] ?(?P<val_loss>{_NUMBER})"
        ),
        Line("checkpoint", rf"{_GLOG}(?:[Ss]aved a checkpoint at step|Saving checkpoint at step) (?P<step>\d+)"),
        Line("fact", rf"{_GLOG}Config param steps: (?P<total>\d+)"),
        Line("setting", rf"{_GLOG}Config param (?!steps:)(?P<key>\w+): ?(?P<value>.*)"),
        Line("resume", rf"{_GLOG}[Rr]estoring from this run's directory step (?P<text>\d+)"),
        Line("chatter", rf"{_GLOG}(?:Completed eval step \d+|To see full metrics 'tensorboard )"),
        Line("chatter", rf"{_GLOG}(?:Per train step|[Ss]plit as [\d.]+% learnable|number parameters: )"),
    ),
    clock=Clock(
        covers="step",
        # The clock runs from the end of one step's call to the end of the next.
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The time of one step, from the end of the step before it, so an evaluation or a save is inside the step "
        "that follows it. Work is handed over asynchronously: the first steps' figures are not theirs alone. No ETA is "
        "printed.",
    ),
    controls=Controls(
        names={
            "checkpoint_period": "checkpoint_interval",
            "eval_steps": "eval_iters",
            "max_target_length": "block_size",
        },
        settable={
            "eval_interval": "eval_interval",
            "eval_iters": "eval_steps",
            "checkpoint_interval": "checkpoint_period",
            "log_interval": "log_period",
            "max_steps": "steps",
            "batch_size": "per_device_batch_size",
            "block_size": "max_target_length",
            "asynchronous_saving": "async_checkpointing=True",
        },
        syntax="{name}={value}",
    ),
    samples=(
        Sample(
            "completed step: 31, seconds: 2.208, TFLOP/s/device: 180.411, Tokens/s/device: 7422.101, "
            "total_weights: 131072, loss: 6.021",
            "step",
            {"step": 31, "dur_s": 2.208, "loss": 6.021},
        ),
        Sample(
            "I0203 04:05:06.789012 140222333444555 metric_logger.py:181] completed step: 0, seconds: 31.500, "
            "TFLOP/s/device: 3.100, Tokens/s/device: 129.000, total_weights: 30193, loss: 12.938",
            "step",
            {"step": 0, "dur_s": 31.5, "loss": 12.938},
        ),
        Sample(
            "completed step: 4, seconds: 3.964, TFLOP/s: 52.876, loss: 8.903", "step", {"step": 4, "loss": 8.903}
        ),  # 2023
        Sample("completed step: 4, seconds: 3.964, TFLOP/s/dev", None),
        Sample("Completed step: upload_artifacts", None),
        Sample(
            "eval metrics after step: 99, loss=4.733, total_weights=8751", "evaluation", {"step": 99, "val_loss": 4.733}
        ),
        Sample("saved a checkpoint at step 100", "checkpoint", {"step": 100}),
        Sample("Config param steps: 500", "fact", {"total": 500}),
        Sample("Config param eval_interval: 50", "setting", {"key": "eval_interval", "value": "50"}),
        Sample("restoring from this run's directory step 100", "resume"),
        Sample("Completed eval step 3", "chatter"),
        Sample("Per train step:", "chatter"),
    ),
)
