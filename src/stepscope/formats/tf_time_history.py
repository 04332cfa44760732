"""The TimeHistory callback of TensorFlow's model garden: seconds between two steps, named in the line."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

FORMAT = Format(
    title="TensorFlow model garden",
    url="https://github.com/tensorflow/models",
    lines=(
        Line(
            "step",
            r"TimeHistory: (?P<dur_s>[\d.]+) seconds, [\d.]+ examples/second between steps \d+ and (?P<step>\d+)",
        ),
        Line("chatter", r"(?:Train|Validation) Step: \d+/\d+ "),
    ),
    clock=Clock(
        covers="window",
        includes=("data", "logging"),
        note="The seconds of all steps between the two that are named, from the start of the first of them; evaluation "
        "and saving between epochs are inside only where they fall between the two. No total and no ETA is printed.",
        is_sum=True,
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample(
            "TimeHistory: 31.20 seconds, 820.51 examples/second between steps 300 and 400",
            "step",
            {"step": 400, "dur_s": 31.2},
        ),
        Sample("Train Step: 400/9000  / loss = 1.2", "chatter"),
        Sample("TimeHistory: 31.20 seconds, 820.51 examples/sec", None),  # cut mid-write
    ),
)
