"""RVC, the voice conversion trainer: one line per epoch with a moment and the time it took. A step is an epoch."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NAME = r"(?:\w+:[\w.-]{1,60}:|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+\t[\w.-]{1,60}\tINFO\t)?"

FORMAT = Format(
    title="RVC",
    url="https://github.com/RVC-Project/Retrieval-based-Voice-Conversion-WebUI",
    lines=(
        Line(
            "step",
            rf"{_NAME}====> Epoch: (?P<step>\d+) \[(?P<stamp>\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d)\] \| "
            r"\((?P<dur_clock>\d+:\d\d:\d\d(?:\.\d+)?)\)",
        ),
        Line("checkpoint", rf"{_NAME}Saving model and optimizer state at epoch (?P<step>\d+) to (?P<path>\S+)"),
        Line(
            "resume",
            rf"{_NAME}Loaded checkpoint '(?P<path>[^']+)' \((?:epoch|iteration) \d+\)",
        ),
        Line("chatter", rf"{_NAME}Train Epoch: \d+ \[\d+%\]|{_NAME}loss_disc=|{_NAME}\[?\d+, [\d.e-]+\]?\s*$"),
        Line("chatter", rf"{_NAME}(?:saving ckpt |Training is done|gin_channels: |<All keys matched)"),
    ),
    clock=Clock(
        covers="step",
        includes=("checkpoint", "data", "logging"),
        note="The time of one epoch, its save included where there is one: a step is an epoch here. The moment is that "
        "of the line. Neither the number of epochs nor an ETA is printed.",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample(
            "INFO:voice-a:====> Epoch: 12 [2023-07-08 09:10:11] | (0:00:31.204511)",
            "step",
            {"step": 12, "dur_clock": None},
        ),
        Sample("====> Epoch: 12 [2023-07-08 09:10:11] | (0:01:02)", "step", {"step": 12}),
        Sample("INFO:voice-a:Saving model and optimizer state at epoch 10 to ./logs/a/G_310.pth", "checkpoint"),
        Sample("Loaded checkpoint './logs/a/G_310.pth' (epoch 10)", "resume"),
        Sample("INFO:voice-a:Train Epoch: 12 [40%]", "chatter"),
        Sample("INFO:voice-a:saving ckpt a_e10:Success.", "chatter"),
        Sample("====> Epoch: 12", None),  # the original VITS: no time
    ),
)
