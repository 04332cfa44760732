"""verl. One line of metrics per reinforcement-learning step, often among thousands of sampled answers."""

from stepscope.lines.format import Clock, Controls, Format, Layout, Line, Sample

_RAY = r"(?:\((?:main_task|\w*TaskRunner\w*) pid=\d+(?:, ip=[\d.]+)?\)\s+)?"  # Ray's own prefix
_VALUE = r"(?:np\.float\d+\()?"

FORMAT = Format(
    title="verl",
    url="https://github.com/volcengine/verl",
    lines=(
        Line(
            "step",
            rf"{_RAY}step:(?P<step>\d+) - (?:.{{0,20000}}? - )?timing_s/step:"
            rf"{_VALUE}(?P<dur_s>\d+(?:\.\d+)?(?:e[-+]\d+)?)",
        ),
        # The first validation has a line to itself; later ones are among the metrics of their step.
        Line("evaluation", rf"{_RAY}step:(?P<step>\d+) - (?:val[-/]\S+:\S+(?: - |\s*$)){{1,200}}$"),
        Line("fact", rf"{_RAY}Total training steps: (?P<total>\d+)"),
        Line("fact", rf"{_RAY}Training Progress: +\d+%\|[^|]{{0,60}}\| \d+/(?P<total>\d+) \["),
        Line("checkpoint", rf"{_RAY}local_global_step_folder: (?P<path>\S+)"),
        Line("resume", rf"{_RAY}(?:Load from checkpoint folder|Resuming from) ?:? ?(?P<path>\S+)"),
        Line("start", rf"{_RAY}Size of train dataloader: \d+"),
        Line("chatter", rf"{_RAY}(?:epoch \d+, step \d+|validation generation end|test_gen_batch meta info:)"),
    ),
    clock=Clock(
        covers="step",
        # Since the middle of 2025 validation and checkpoint come after the step's timer; before, they were inside it.
        includes=(),
        note="The time of one step (generation, scoring, update), the printed one; loading the batch is outside, and "
        "so are validation and saving, which older versions count inside. The only ETA is that of the progress bar.",
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
