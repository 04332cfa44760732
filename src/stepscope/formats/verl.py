"""verl. One line of metrics per reinforcement-learning step, often among thousands of sampled answers."""

from stepscope.lines.format import Clock, Controls, Format, Layout, Line, Sample

_RAY = r"(?:\((?:main_task|\w{0,40}TaskRunner\w{0,40}) pid=\d+(?:, ip=[\d.]+)?\)\s+)?"  # Ray's own prefix
_NUMBER = r"\d+(?:\.\d++)?(?:e[-+]\d++)?"
_VALUE = r"(?:np\.float\d+\()?"
_ANY = r".{0,20000}?"
_TIMED = r"timing(?:_s)?/"  # without _s in 2024


def _own(timer: str, group: str) -> str:
    """A timer of the line. They are printed in the order in which they ended: one before the step's is inside it."""
    value = rf" - {_TIMED}{timer}:{_VALUE}"
    inside = rf"(?:(?=(?>{_ANY}{value}(?P<{group}_s>{_NUMBER})){_ANY} - {_TIMED}step:)|)"
    after = rf"(?:(?=(?>{_ANY} - {_TIMED}step:){_ANY}{value}(?P<{group}_after_s>{_NUMBER}))|)"
    return inside + after


FORMAT = Format(
    title="verl",
    url="https://github.com/volcengine/verl",
    lines=(
        Line(
            "step",
            rf"{_RAY}step:(?P<step>\d++){_own('testing', 'evaluation')}{_own('save_checkpoint', 'checkpoint')} - "
            rf"(?:{_ANY} - )?{_TIMED}step:{_VALUE}(?P<dur_s>{_NUMBER})",
        ),
        # Fine-tuning prints the step's time among its few metrics.
        Line(
            "step",
            rf"{_RAY}step:(?P<step>\d+) - train/loss:{_VALUE}(?P<loss>[-+\d.naif]+(?:e[-+]\d+)?)\)? - "
            rf"(?:.{{0,400}}? - )?train/time\(s\):{_VALUE}(?P<dur_s>{_NUMBER})",
        ),
        # The first validation has a line to itself. Later ones are among the metrics of their step, or, where a logger
        # cuts long lines, what is left of them.
        Line(
            "evaluation",
            rf"{_RAY}step:(?P<step>\d+) - (?!.{{0,20000}}{_TIMED}step:|train/loss:)(?:.{{0,20000}}? - )?val[-/]\S+:\S",
        ),
        Line("fact", rf"{_RAY}Total training steps: (?P<total>\d+)"),
        Line("fact", rf"{_RAY}Training Progress: +\d+%\|[^|]{{0,60}}\| \d+/(?P<total>\d+) \["),
        Line(
            "fact",
            rf"{_RAY}Number of steps/epoch \d+, number of epochs \d+, total number of steps (?P<total>\d+)",
        ),
        Line("checkpoint", rf"{_RAY}local_global_step_folder: (?P<path>\S+)"),
        Line("checkpoint", rf"{_RAY}Saving checkpoint to: (?P<path>\S+global_step_(?P<step>\d+))"),
        Line("resume", rf"{_RAY}(?:Load from checkpoint folder|Resuming from) ?:? ?(?P<path>\S+)"),
        Line("start", rf"{_RAY}Size of train dataloader: \d+"),
        Line("chatter", rf"{_RAY}(?:epoch \d+, step \d+|validation generation end|test_gen_batch meta info:)"),
    ),
    clock=Clock(
        covers="step",
        includes=("evaluation", "checkpoint"),
        note="The time of one step (generation, scoring, update), the printed one, with the validation and the "
        "checkpoint that follow it. Since the middle of 2025 these two come after the step's own timer and are printed "
        "next to it, so they are added; before, they are inside it. Loading the batch is outside. The only ETA is that "
        "of the progress bar.",
    ),
    layout=Layout(first_step=1),
    controls=Controls(
        settable={
            "eval_interval": "trainer.test_freq",
            "checkpoint_interval": "trainer.save_freq",
            "keep_saves": "trainer.max_actor_ckpt_to_keep",
        },
        syntax="{name}={value}",
    ),
    samples=(
        Sample(
            "step:12 - actor/kl_loss:0.001 - actor/pg_loss:-0.201 - timing_s/gen:20.104 - "
            "timing_s/update_actor:6.300 - timing_s/step:30.770 - timing_per_token_ms/gen:0.800",
            "step",
            {"step": 12, "dur_s": 30.77},
        ),
        Sample(
            "(TaskRunner pid=4711) step:3 - training/global_step:3 - timing_s/step:np.float64(91.5) - perf/mfu:0.3",
            "step",
            {"step": 3, "dur_s": 91.5},
        ),
        Sample(
            "step:20 - actor/kl_loss:0.001 - timing_s/gen:20.1 - timing_s/testing:60.5 - "
            "timing_s/save_checkpoint:7.5 - timing_s/step:98.770 - timing_per_token_ms/gen:0.800",
            "step",
            {"step": 20, "dur_s": 98.77, "evaluation_s": 60.5, "checkpoint_s": 7.5, "evaluation_after_s": None},
        ),
        Sample(
            "step:20 - actor/kl_loss:0.001 - timing_s/gen:20.1 - timing_s/step:30.77 - timing_s/testing:60.5 - "
            "timing_s/save_checkpoint:np.float64(7.5) - timing_s/stop_profile:0.0 - perf/throughput:100.0",
            "step",
            {"dur_s": 30.77, "evaluation_after_s": 60.5, "checkpoint_after_s": 7.5, "checkpoint_s": None},
        ),
        Sample(
            "step:7 - train/loss:0.412 - train/lr(1e-3):0.01 - train/time(s):1.25",
            "step",
            {"step": 7, "loss": 0.412, "dur_s": 1.25},
        ),
        Sample("step:7 - val/loss:0.431", "evaluation", {"step": 7}),
        Sample(
            "step:10 - actor/kl_loss:0.001 - val-core/gsm8k/reward/mean@1:0.31 - val-aux/num_tu",
            "evaluation",
            {"step": 10},
        ),  # cut at 4,096 characters
        Sample("Number of steps/epoch 29, number of epochs 15, total number of steps 435", "fact", {"total": 435}),
        Sample(
            "Saving checkpoint to: ckpt/sft/global_step_20",
            "checkpoint",
            {"path": "ckpt/sft/global_step_20", "step": 20},
        ),
        Sample("step:3 - loss:0.2 - acc:0.9", None),
        Sample("step:3 - actor/kl_loss:0.001 - timing_s/gen:20.104 - timing_s/st", None),  # cut by a crash mid-write
        Sample("step:0 - val/test_score/math:0.310", "evaluation", {"step": 0}),
        Sample("step:0 - val-core/gsm8k/reward/mean@1:0.310 - val-aux/num_turns/min:2", "evaluation", {"step": 0}),
        Sample("Total training steps: 435", "fact", {"total": 435}),
        Sample(
            "(TaskRunner pid=4711) Training Progress:   1%|          | 3/435 [04:33<10:55:44, 91.1s/it]",
            "fact",
            {"total": 435},
        ),
        Sample(
            "local_global_step_folder: ckpt/demo/global_step_20", "checkpoint", {"path": "ckpt/demo/global_step_20"}
        ),
        Sample("Resuming from ckpt/demo/global_step_20", "resume", {"path": "ckpt/demo/global_step_20"}),
        Sample("Size of train dataloader: 29, Size of val dataloader: 1", "start"),
        Sample("(main_task pid=4711) epoch 0, step 3", "chatter"),
    ),
)
