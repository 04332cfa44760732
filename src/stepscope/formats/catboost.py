"""CatBoost's rounds: scores, the time since the start and the time it expects to remain."""

from stepscope.lines.format import Clock, Controls, Format, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"
_SPAN = r"(?:\d[\d.]*(?:us|ms|s|m|h|d)(?: (?=\d))?){1,4}"
_TEST = rf"(?:test\d*:? (?P<val_loss>{_NUMBER})\s+)?(?:test\d+:? {_NUMBER}\s+)*"

FORMAT = Format(
    title="CatBoost",
    url="https://github.com/catboost/catboost",
    lines=(
        Line(
            "step",
            rf"(?P<step>\d+):\s+(?:learn:? (?P<loss>{_NUMBER})\s*+)?{_TEST}"
            rf"(?:best(?:Test)?:? {_NUMBER}(?: *\(\d+\))?\s*+)?(?:passed: [\d.]++ ?[a-z]++\s+)?"
            rf"total: (?P<elapsed_clock>{_SPAN})\s+remaining: {_SPAN}",
        ),
        Line("fact", r"Learning rate set to (?P<learning_rate>[\d.e-]+)"),
        Line("chatter", r"Stopped by overfitting detector|bestTest = |bestIteration = |Shrink model to first \d+ iter"),
        Line("chatter", r"(?:Custom|Default|Warning: \w+ is|Metric \S+ is not|Training on fold \[)\b"),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="`total`, the time since the first round, to three digits, so whole seconds after a few minutes; scoring "
        "the test set is inside, preparing the data is not. `remaining` is the mean time of a round x the rounds left: "
        "overfitting detection may end the training long before. The number of rounds is not printed.",
        restarts_with="process",
    ),
    controls=Controls(
        names={"iterations": "max_steps", "metric_period": "log_interval"},
        settable={"max_steps": "iterations", "log_interval": "metric_period"},
        syntax="{name}={value}",
    ),
    samples=(
        Sample(
            "12:\tlearn: 0.5512331\ttest: 0.5611207\tbest: 0.5611207 (12)\ttotal: 612ms\tremaining: 46.5s",
            "step",
            {"step": 12, "loss": 0.5512331, "val_loss": 0.5611207},
        ),
        # Up to 0.7 it printed the time of the round, right behind the scores.
        Sample(
            "3:\tlearn 0.6035384363passed: 11.2 sec\ttotal: 1m 4s\tremaining: 17m 2s",
            "step",
            {"step": 3, "loss": 0.6035384363},
        ),
        Sample("0:\tlearn: 0.6712\ttotal: 58.1ms\tremaining: 58.1s", "step", {"step": 0, "val_loss": None}),
        Sample(
            "4100:\tlearn: 12.331\ttest: 12.71\ttest1: 12.9\tbest: 12.70 (3998)\ttotal: 1h 2m 10s\tremaining: 14m 2s",
            "step",
            {"step": 4100, "val_loss": 12.71},
        ),
        Sample("Learning rate set to 0.041212", "fact", {"learning_rate": 0.041212}),
        Sample("Stopped by overfitting detector  (50 iterations wait)", "chatter"),
        Sample("Shrink model to first 3999 iterations.", "chatter"),
        Sample("Training on fold [0/5]", "chatter"),
        Sample("12:\tlearn: 0.5512331\ttest: 0.56112", None),  # cut mid-write
        Sample("12: train loss 0.55", None),
    ),
)
