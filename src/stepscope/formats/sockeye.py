"""Sockeye 2 and 3: an interval between checkpoints with its updates and its seconds, then what validation found."""

from stepscope.lines.format import Clock, Controls, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:\d[\d.]*+(?:[eE][-+]?\d++)?|nan|inf)"
_LOGGER = r"(?:\[INFO:[\w.]+\] )?"

FORMAT = Format(
    title="Sockeye",
    url="https://github.com/awslabs/sockeye",
    lines=(
        Line(
            "step",
            rf"{_LOGGER}Checkpoint \[\d+\]\s+Updates=(?P<step>\d+) Epoch=\d+ Samples=\d+ "
            r"Time-cost=(?P<dur_s>[\d.]+) Updates/sec=",
        ),
        Line(
            "evaluation",
            rf"{_LOGGER}Checkpoint \[\d+\]\s+Validation-(?:ppl|perplexity|cross-entropy)=(?P<val_loss>{_NUMBER})",
        ),
        Line("fact", r".{0,200}?Namespace\(.{0,20000}?\bmax_updates=(?P<total>\d+)"),
        Line("chatter", rf"{_LOGGER}E=\d+ B=\d+\s+s/sec=[\d.]+ tok/sec="),
        Line("chatter", rf"{_LOGGER}Checkpoint \[\d+\]\s+(?:Train|Learning)-"),
        Line("chatter", rf"{_LOGGER}(?:Validation-\S+|Saved (?:optimizer|params|')|Learning rate)"),
    ),
    clock=Clock(
        covers="window",
        includes=("data", "logging"),
        is_sum=True,
        note="Time-cost is the time of all updates since the last checkpoint, which is when validation and saving "
        "come; they are outside, and each row has both. The lines between count batches (B), of which an update takes "
        "`update_interval`, and print updates per second.",
    ),
    layout=Layout(first_step=1, events_follow_step=True),
    controls=Controls(settable={"max_steps": "max-updates"}, syntax="--{name} {value}"),
    samples=(
        Sample(
            "[INFO:sockeye.training] Checkpoint [7]\tUpdates=28000 Epoch=21 Samples=22640112 Time-cost=1483.201 "
            "Updates/sec=2.697",
            "step",
            {"step": 28000, "dur_s": 1483.201},
        ),
        Sample(
            "[INFO:sockeye.training] Checkpoint [7]\tValidation-ppl=88.130000\tValidation-bleu=0.021",
            "evaluation",
            {"val_loss": 88.13},
        ),
        Sample('[INFO:root] Saved params/state_dict to "out/params.00007"', "chatter"),
        Sample("[INFO:sockeye.utils] Arguments: Namespace(config=None, max_updates=90000)", "fact", {"total": 90000}),
        Sample("[INFO:sockeye.training] E=21 B=56000\ts/sec=2100.1 tok/sec=30100.2 u/sec=2.7\tppl=101.2", "chatter"),
        Sample("[INFO:sockeye.training] Checkpoint [7]\tTrain-ppl=101.211002", "chatter"),
        Sample("[INFO:sockeye.training] Validation-bleu improved to 0.021 (delta=0.003).", "chatter"),
        Sample("[INFO:sockeye.training] Checkpoint [7]\tUpdates=28000 Epoch=21 Samples=226", None),  # cut mid-write
    ),
)
