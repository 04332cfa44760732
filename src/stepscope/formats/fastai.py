"""fastai's table: one line per epoch, the last column its time. A step is an epoch."""

from stepscope.lines.format import Clock, Format, Line, Sample

FORMAT = Format(
    title="fastai",
    url="https://github.com/fastai/fastai",
    lines=(
        # Numbers to six places between an epoch and a clock: few tables look like that.
        Line(
            "step",
            r"(?P<step>\d{1,4})\s+(?P<loss>\d+\.\d{6}|nan)(?:\s+(?:-?\d+\.\d{6}|nan|None)){1,12}\s+"
            r"(?P<dur_clock>(?:\d+:)?\d\d:\d\d)\s*$",
        ),
        Line("chatter", r"epoch +train_loss +valid_loss +(?:[\w.]+ +){0,20}?time\s*$"),
        Line("chatter", r"Better model found at epoch \d+ with |No improvement since epoch |Epoch \d+: reducing lr"),
    ),
    clock=Clock(
        covers="step",
        includes=("evaluation", "data", "logging"),
        note="The time of one epoch in whole seconds, its validation included: a step is an epoch here. What callbacks "
        "do after the epoch, saving among them, may be outside. The table tells neither the number of epochs nor an "
        "ETA.",
    ),
    samples=(
        Sample(
            "3         0.412301    0.391120    0.871200  01:12     ",
            "step",
            {"step": 3, "loss": 0.412301, "dur_clock": None},
        ),
        Sample("12        0.212301    nan    1:01:12", "step", {"step": 12}),
        Sample("epoch     train_loss  valid_loss  accuracy  time    ", "chatter"),
        Sample("Better model found at epoch 3 with accuracy value: 0.871.", "chatter"),
        Sample("3         0.412301    0.391120    0.871200", None),
        Sample("3 0.41 0.39 01:12", None),
    ),
)
