"""TPUEstimator where it prints nothing but rates: neither a step nor a loss, so its lines are counted."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

# Every line is printed twice, once with these words and once behind a timestamp; only the first is counted.
_WHO = r"INFO:tensorflow:"
_PLACE = r"(?:tpu_estimator|basic_session_run_hooks)\.py:\d+\] "

FORMAT = Format(
    title="TPUEstimator",
    url="https://github.com/tensorflow/estimator",
    lines=(
        Line("fact", rf"{_WHO}global_step/sec: (?P<it_per_s>\d[\d.]*(?:e[-+]?\d+)?)\s*$"),
        Line("step", rf"{_WHO}examples/sec: \d[\d.]*(?:e[-+]?\d+)?\s*$"),
        # Where the prefix leaves the place in the code.
        Line("chatter", rf"{_PLACE}(?:global_step|examples)/sec: "),
        Line("chatter", r"It seems that global step \(tf\.train\.get_global_step\) has not been increased\."),
    ),
    clock=Clock(
        covers="step",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="global_step/sec: the mean rate of the steps since the line before, with all that happened in between. "
        "These lines have no number: each counts as one step, though it covers as many as iterations_per_loop or "
        "log_step_count_steps says. No total and no ETA is printed.",
    ),
    layout=Layout(first_step=1, counts_lines=True),
    samples=(
        Sample("INFO:tensorflow:global_step/sec: 0.212504", "fact", {"it_per_s": 0.212504}),
        Sample("INFO:tensorflow:examples/sec: 6.80012", "step"),
        Sample("tpu_estimator.py:2160] examples/sec: 6.80012", "chatter"),
        Sample(
            "It seems that global step (tf.train.get_global_step) has not been increased. Current value: 41", "chatter"
        ),
        Sample("INFO:tensorflow:loss = 0.41, step = 301 (9.118 sec)", None),  # TensorFlow's other estimators
        Sample("INFO:tensorflow:examples/sec:", None),
    ),
)
