"""NeMo 2: one line per iteration. Iterations count from 0, and what follows the slash is the last one's number."""

from stepscope.lines.format import Clock, Controls, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf|NaN|Inf)"
_LOGGER = r"(?:\[NeMo [IWE] (?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) \w+:\d+\] )?"

FORMAT = Format(
    title="NeMo",
    url="https://github.com/NVIDIA/NeMo",
    lines=(
        Line(
            "step",
            r"Training epoch \d+, iteration \d+/(?P<total>\d+) \|(?: (?!global_step)[^|]{1,80}\|){0,12}+ "
            r"global_step: (?P<step>\d+) \|(?: (?!reduced|train_step)[^|]{1,80}\|){0,12}+"
            rf"(?: reduced_train_loss: (?P<loss>{_NUMBER}) \|)?(?: (?!train_step)[^|]{{1,80}}\|){{0,12}}+ "
            r"train_step_timing in s: (?P<dur_s>[\d.]+(?:e[-+]?\d+)?)",
        ),
        Line(
            "checkpoint",
            rf"{_LOGGER}Global Checkpoint Save ?: Rank: 0 : Iteration: (?P<step>\d+) : Start time: [\d.]+s : "
            r"Save duration: (?P<took_s>[\d.]+)s",
        ),
        Line("start", rf"{_LOGGER}Experiments will be logged at (?P<path>\S+)"),
        Line("resume", rf"{_LOGGER}Resuming training from checkpoint ?:? ?(?P<path>\S+)"),
        # The first batch is taken for the whole validation, which has no line of its own.
        Line("evaluation", r"Validation: iteration 1/\d+$"),
        Line("chatter", r"Validation: iteration (?!1/)\d+/\d+"),
        Line(
            "chatter",
            rf"{_LOGGER}(?:Scheduled async checkpoint|Async (?:finalization|checkpoint)|Successfully saved checkpoint)",
        ),
        Line(
            "chatter", rf"{_LOGGER}(?:All |Ranks? \d+ )?(?:has |\w+ )?[\w ]{{0,60}}parallel [\w ]{{0,60}}(?:group|rank)"
        ),
    ),
    clock=Clock(
        covers="step",
        includes=("data",),
        note="The time of one iteration, the printed one, from the start to the end of its batch; validation and "
        "saving are outside. A validation's loss stands on the lines after it until the next. No ETA is printed.",
    ),
    layout=Layout(
        # The first iteration is number 0, but counted from 1 the last one has the number after the slash.
        first_step=1,
        events_follow_step=True,
    ),
    controls=Controls(
        settable={
            "eval_interval": "trainer.val_check_interval",
            "log_interval": "trainer.log_every_n_steps",
            "max_steps": "trainer.max_steps",
        },
        syntax="{name}={value}",
    ),
    samples=(
        Sample(
            "Training epoch 0, iteration 12/499 | lr: 3.9e-06 | global_batch_size: 64 | global_step: 12 | "
            "max_memory_reserved: 71000000000 | reduced_train_loss: 9.870 | train_step_timing in s: 4.021 | "
            "TFLOPS_per_GPU: 500.1 | consumed_samples: 832 | val_loss: 10.2",
            "step",
            {"step": 12, "total": 499, "loss": 9.87, "dur_s": 4.021},
        ),
        Sample(
            "Training epoch 1, iteration 3/499 | lr: 3.9e-06 | global_step: 103 | train_step_timing in s: 4.1",
            "step",
            {"step": 103, "loss": None, "dur_s": 4.1},
        ),
        Sample("Training epoch 0, iteration 12/499 | lr: 3.9e-06 | global_step: 12 | reduced_train", None),
        Sample("Training epoch 3 of 10", None),
        Sample(
            "[NeMo I 2026-02-03 04:05:06 nemo_logging:393] Global Checkpoint Save : Rank: 0 : Iteration: 99 : "
            "Start time: 1770000000.120s : Save duration: 6.250s",
            "checkpoint",
            {"step": 99, "took_s": 6.25},
        ),
        Sample("[NeMo I 2026-02-03 04:05:06 nemo_logging:393] Experiments will be logged at /runs/a", "start"),
        Sample("Resuming training from checkpoint /runs/a/ckpt-last", "resume", {"path": "/runs/a/ckpt-last"}),
        Sample("Validation: iteration 1/32", "evaluation"),
        Sample("Validation: iteration 2/32", "chatter"),
        Sample("[NeMo I 2026-02-03 04:05:06 nemo_logging:393] Async finalization time took 0.018 s", "chatter"),
        Sample("[NeMo I 2026-02-03 04:05:06 nemo_logging:393] Rank 0 has data parallel group : [0, 1]", "chatter"),
    ),
)
