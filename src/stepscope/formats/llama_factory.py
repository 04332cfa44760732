"""LLaMA-Factory's trainer_log.jsonl. After a resume its clock restarts and its step does not; each rank may write."""

from stepscope.formats._shared.hf import NUMBER, SETTABLE
from stepscope.lines.format import Clock, Controls, Format, Habits, Layout, Line, Sample

_HEAD = r'\{"current_steps": (?P<step>\d+), "total_steps": (?P<total>\d+), '
_FIELDS = r"[^{}]{0,2000}?"
_CLOCK = rf'{_FIELDS}"elapsed_time": "(?P<elapsed_clock>[^"]{{4,30}})", "remaining_time": "'

FORMAT = Format(
    title="LLaMA-Factory",
    url="https://github.com/hiyouga/LLaMA-Factory",
    lines=(
        # Only training has an epoch: a prediction's batches are counted on lines without one.
        Line(
            "step",
            rf'{_HEAD}(?!{_FIELDS}"eval_loss": [-\d])(?={_FIELDS}"epoch": )'
            rf'(?:"loss": (?:(?P<loss>{NUMBER})|null), )?{_CLOCK}',
        ),
        Line("evaluation", rf'{_HEAD.replace("(?P<total>", "(?:")}{_FIELDS}"eval_loss": (?P<val_loss>{NUMBER})'),
        Line("chatter", rf'{_HEAD.replace("?P<step>", "?:").replace("?P<total>", "?:")}"percentage": '),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="Wall time since this process began to train, in whole seconds, with evaluation and saving inside. Its "
        "remaining time divides that clock by all steps so far, those of earlier processes too: after a resume it "
        "is far too short.",
        restarts_with="process",
    ),
    layout=Layout(first_step=1),
    habits=Habits(kept_checkpoints=0),
    controls=Controls(
        settable={
            **SETTABLE,
            "optimizer": "optim: adamw_torch_fused",
        },
        syntax="{name}: {value}",
    ),
    samples=(
        Sample(
            '{"current_steps": 40, "total_steps": 1200, "loss": 0.9731, "lr": 1e-05, "epoch": 0.1, "percentage": 3.33, '
            '"elapsed_time": "0:04:00", "remaining_time": "1:56:00"}',
            "step",
            {"step": 40, "total": 1200, "loss": 0.9731},
        ),
        Sample(
            '{"current_steps": 15, "total_steps": 900, "loss": 1.7, "eval_loss": null, "predict_loss": null, '
            '"reward": null, "learning_rate": 5e-05, "epoch": 0.0, "percentage": 1.67, '
            '"elapsed_time": "1 day, 2:05:00", "remaining_time": "64 days, 5:15:00"}',
            "step",
            {"step": 15, "total": 900, "loss": 1.7},
        ),
        Sample(
            '{"current_steps": 1200, "total_steps": 1200, "epoch": 3.0, "percentage": 100.0, '
            '"elapsed_time": "1:07:11", "remaining_time": "0:00:00", "throughput": 812.5, "total_tokens": 91000}',
            "step",
            {"step": 1200, "loss": None},
        ),
        Sample(
            '{"current_steps": 500, "total_steps": 1200, "eval_loss": 0.8412, "epoch": 1.25, "percentage": 41.67, '
            '"elapsed_time": "0:29:01", "remaining_time": "0:40:38"}',
            "evaluation",
            {"step": 500, "val_loss": 0.8412},
        ),
        Sample(
            '{"current_steps": 5, "total_steps": 50, "percentage": 10.0, "elapsed_time": "0:00:19", '
            '"remaining_time": "0:02:51"}',
            "chatter",
        ),
        Sample('{"current_steps": 40, "total_steps": 1200, "loss": 0.97, "lr": 1e-05, "epo', None),
        Sample('{"step": 40, "loss": 0.97, "epoch": 0.1, "elapsed_time": "0:02:12"}', None),
    ),
)
