"""DeePMD-kit 1 and 2: the seconds spent in the training operation since the line before, and those of a test."""

from stepscope.lines.format import Clock, Controls, Format, Layout, Line, Sample

_WHO = r"(?:DEEPMD (?:RANK:\d+ +)?(?:INFO|WARNING|ERROR) +|# DEEPMD: )?"

FORMAT = Format(
    title="DeePMD-kit 2",
    url="https://github.com/deepmodeling/deepmd-kit/tree/v2.2.7",
    lines=(
        Line(
            "step",
            rf"{_WHO}batch +(?P<step>\d+):? training time =? ?(?P<dur_s>[\d.]+) s, "
            r"testing time =? ?(?P<evaluation_after_s>[\d.]+) s(?:,|\s*$)",
        ),
        Line("checkpoint", rf"{_WHO}saved checkpoint (?P<path>\S+)\s*$"),
        Line("start", rf"{_WHO}start training at lr "),
        Line("chatter", rf"{_WHO}(?:finished training|wall time: +[\d.]+ s|average training time: [\d.]+ s/batch)"),
        Line(
            "chatter",
            r"(?:DEEPMD (?:RANK:\d+ +)?(?:INFO|WARNING|ERROR) +|# DEEPMD: )"
            r"(?! |batch +\d|saved checkpoint|start training at|finished training|wall time|average training)",
        ),
    ),
    clock=Clock(
        covers="window",
        includes=(),
        note="training time: the seconds of all batches since the line before (disp_freq), of the session's training "
        "operation alone. Getting the batches is outside, as are the test (testing time) and saving. wall time at the "
        "end is that of the whole training: far more than the sum of the lines means that the batches came slowly.",
        is_sum=True,
    ),
    layout=Layout(first_step=1, events_follow_step=True),
    controls=Controls(
        settable={"log_interval": "disp_freq", "checkpoint_interval": "save_freq", "max_steps": "numb_steps"},
        syntax='"{name}": {value}',
    ),
    samples=(
        Sample(
            "DEEPMD INFO    batch    3000 training time 41.20 s, testing time 0.31 s",
            "step",
            {"step": 3000, "dur_s": 41.2, "evaluation_after_s": 0.31},
        ),
        Sample("# DEEPMD: batch    3000 training time 41.20 s, testing time 0.31 s", "step", {"step": 3000}),
        Sample(
            "DEEPMD INFO    batch    3000 training time 41.20 s, testing time 0.31 s, total wall time 60.10 s", "step"
        ),
        Sample("DEEPMD INFO    saved checkpoint model.ckpt", "checkpoint", {"path": "model.ckpt"}),
        Sample("DEEPMD INFO    start training at lr 1.00e-03 (== 1.00e-03), decay_step 5000", "start"),
        Sample("DEEPMD INFO    wall time: 4120.311 s", "chatter"),
        Sample("DEEPMD INFO    initialize model from scratch", "chatter"),
        Sample("DEEPMD INFO    batch    3000 training time 41.20 s, testing", None),  # cut mid-write
        Sample("batch    3000: total wall time = 61.20 s", None),  # DeePMD-kit 3
    ),
)
