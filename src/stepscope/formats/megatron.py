"""Megatron-LM since 2024, whose rows say when they were written. The clock stops for evaluations and checkpoints."""

from stepscope.formats._shared.megatron import (
    CHATTER,
    CONTROLS,
    EVENTS,
    HEADER,
    ITERATION,
    SAMPLES,
    SETTING,
    STAMP,
    TAG,
)
from stepscope.lines.format import Clock, Format, Habits, Layout, Line, Sample

FORMAT = Format(
    title="Megatron-LM",
    url="https://github.com/NVIDIA/Megatron-LM",
    lines=(Line("step", rf"{TAG}{STAMP}\s+{ITERATION}"), *EVENTS, *HEADER, SETTING, *CHATTER),
    clock=Clock(
        covers="window",
        # A loader's wait is inside; evaluate() and save_checkpoint() stop the interval timer and restart it.
        includes=("data", "logging"),
        note="The mean time of an iteration over the log interval; since November 2023 the timer stands still while "
        "the model is evaluated or saved. A first line that newer versions print after iteration 1 counts again in the "
        "line after it, which therefore looks slow. No ETA is printed.",
    ),
    layout=Layout(first_step=1, events_follow_step=True),
    habits=Habits(kept_checkpoints=0, prints_checkpoints=True),
    controls=CONTROLS,
    samples=(
        Sample(
            "[2026-02-03 04:05:06.789012] iteration       40/   12000 | consumed samples:        10240 | "
            "elapsed time per iteration (ms): 812.4 | throughput per GPU (TFLOP/s/GPU): 301.2 | "
            "learning rate: 1.000000E-05 | global batch size:   256 | lm loss: 8.912345E+00 | loss scale: 1.0 | ",
            "step",
            {"step": 40, "total": 12000, "dur_ms": 812.4, "loss": 8.912345},
        ),
        Sample(
            "31:  [2026-02-03 04:05:06] iteration        3/     900 | consumed samples:           96 | "
            "elapsed time per iteration (ms): 2001.0 | learning rate: 1.0E-05 | lm loss: nan | loss scale: 1.0 |",
            "step",
            {"step": 3, "total": 900, "dur_ms": 2001.0},
        ),
        Sample(
            "7: [default1]: [2026-02-03 04:05:06.789012] iteration        3/     900 | "
            "consumed samples:           96 | elapsed time per iteration (ms): 2001.0 | learning rate: 1.0E-05 |",
            "step",
            {"step": 3, "dur_ms": 2001.0, "loss": None},
        ),
        Sample(  # its clock runs during evaluations: another format's
            "iteration       40/   12000 | consumed samples:        10240 | elapsed time per iteration (ms): 812.4 | "
            "learning rate: 1.000E-05 | global batch size:   256 | lm loss: 8.912345E+00 | loss scale: 1.0 |",
            None,
        ),
        *SAMPLES,
    ),
)
