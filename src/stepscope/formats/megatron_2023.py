"""Megatron-LM before 2024, Megatron-DeepSpeed, Megatron-LLM: rows without a moment, whose clock never stops."""

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
    title="Megatron-LM before 2024, Megatron-DeepSpeed",
    url="https://github.com/deepspeedai/Megatron-DeepSpeed",
    # A row may have a moment, put there by another logger: such a row is asked of Megatron-LM's own format first.
    lines=(Line("step", rf"{TAG}(?:{STAMP}\s+)?{ITERATION}"), *EVENTS, *HEADER, SETTING, *CHATTER),
    clock=Clock(
        covers="window",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The mean time of an iteration over the log interval. The timer runs on while the model is evaluated or "
        "saved, which comes after a line was printed: the next line's mean contains it. (For a few months around the "
        "end of 2023 Megatron-LM stopped the timer and printed no moment yet.) No ETA is printed.",
    ),
    layout=Layout(first_step=1, events_follow_step=True),
    habits=Habits(kept_checkpoints=0),
    controls=CONTROLS,
    samples=(
        Sample(
            "iteration       11/      60 | consumed samples:          352 | consumed tokens:       720896 | "
            "elapsed time per iteration (ms): 9321.7 | learning rate: 4.000E-06 | global batch size:    32 | "
            "lm loss: 1.012345E+01 | loss scale: 4096.0 | grad norm: 5.1 |",
            "step",
            {"step": 11, "total": 60, "dur_ms": 9321.7, "loss": 10.12345},
        ),
        Sample(  # a field that a fork adds without a blank before it
            "3: [default0]: iteration       20/     700 | consumed samples:        640 | "
            "elapsed time per iteration (ms): 510.2 | learning rate: 4.000E-06 | global batch size:    32 |"
            "reserve_length:   128 | lm loss: 9.5E+00 | loss scale: 4096.0 |",
            "step",
            {"step": 20, "total": 700, "dur_ms": 510.2, "loss": 9.5},
        ),
        *SAMPLES,
    ),
)
