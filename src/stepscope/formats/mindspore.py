"""MindSpore's LossMonitor and TimeMonitor: losses by epoch and step, the time of a whole epoch on a line of its own."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:\d[\d.]*+(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="MindSpore",
    url="https://github.com/mindspore-ai/mindspore",
    lines=(
        Line("fact", rf"epoch: (?P<epoch>\d+) step: (?P<batch>\d+), loss is \[?(?P<loss>{_NUMBER})\]?\s*$"),
        Line(
            "step",
            r"(?:Train )?epoch time: (?:(?P<dur_ms>[\d.]+) ms|(?P<dur_s>[\d.]+) s), per step time: [\d.]+ ms"
            r"(?: \(data time: [\d.]+ ms\))?\s*$",
        ),
        Line("evaluation", r"Eval epoch time: (?P<took_ms>[\d.]+) ms, per step time: [\d.]+ ms"),
    ),
    clock=Clock(
        covers="window",
        includes=("data", "logging"),
        is_sum=True,
        note="The time of a whole epoch, printed at its end; no other line has a time, so the rows are the epochs. "
        "The steps are those that the last loss was printed for. Evaluation has a line of its own where the same "
        "monitor watches it.",
    ),
    layout=Layout(first_step=1, first_epoch=1, events_follow_step=True),
    samples=(
        Sample("epoch: 3 step: 390, loss is 1.2114", "fact", {"epoch": 3, "batch": 390, "loss": 1.2114}),
        Sample("epoch time: 41210.512 ms, per step time: 105.668 ms", "step", {"dur_ms": 41210.512}),
        Sample("Train epoch time: 41.2 s, per step time: 105.668 ms (data time: 1.2 ms)", "step", {"dur_s": 41.2}),
        Sample("Eval epoch time: 8120.110 ms, per step time: 103.1 ms", "evaluation", {"took_ms": 8120.11}),
        Sample("epoch time: 41210.512 ms, per step", None),  # cut mid-write
        Sample("epoch: 3 step: 390 loss 1.2", None),
    ),
)
