"""mlx-lm's fine-tuning: a rate over the report interval, with validation timed on its own line."""

from stepscope.lines.format import Clock, Controls, Format, Layout, Line, Sample

_NUMBER = r"(?:[-+]?[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="mlx-lm",
    url="https://github.com/ml-explore/mlx-lm",
    lines=(
        Line(
            "step",
            rf"Iter (?P<step>\d+): Train loss (?P<loss>{_NUMBER}),(?: Learning Rate {_NUMBER},)? "
            r"It/sec (?P<it_per_s>[\d.]+)",
        ),
        Line(
            "evaluation",
            rf"Iter (?P<step>\d+): Val loss (?P<val_loss>{_NUMBER}), Val took (?P<took_s>[\d.]+)s",
        ),
        Line("checkpoint", r"Iter (?P<step>\d+): Saved adapter weights to (?P<path>\S+?)(?: and |\.?\s*$)"),
        Line("start", r"Starting training\.\.\., iters: (?P<total>\d+)"),
        Line(
            "chatter", r"Trainable parameters: |Loading (?:pretrained model|datasets)|Saved final (?:adapter )?weights"
        ),
    ),
    clock=Clock(
        covers="window",
        includes=("data",),
        note="Steps per second since the last report; validation is outside and timed on its own line, saving is "
        "inside in older versions only. After a last interval that is shorter than the others the rate is too high. "
        "The total is printed at the top; no ETA is.",
    ),
    layout=Layout(first_step=1),
    controls=Controls(
        settable={
            "eval_interval": "steps-per-eval",
            "eval_iters": "val-batches",
            "checkpoint_interval": "save-every",
            "log_interval": "steps-per-report",
            "max_steps": "iters",
            "batch_size": "batch-size",
        },
        syntax="--{name} {value}",
    ),
    samples=(
        Sample(
            "Iter 40: Train loss 1.912, Learning Rate 1.000e-05, It/sec 1.471, Tokens/sec 612.010, "
            "Trained Tokens 16640, Peak mem 9.110 GB",
            "step",
            {"step": 40, "loss": 1.912, "it_per_s": 1.471},
        ),
        Sample("Iter 200: Val loss 1.702, Val took 11.204s", "evaluation", {"step": 200, "took_s": 11.204}),
        Sample(
            "Iter 100: Saved adapter weights to adapters/adapters.safetensors and adapters/0000100_adapters.",
            "checkpoint",
            {"step": 100, "path": "adapters/adapters.safetensors"},
        ),
        Sample("Starting training..., iters: 600", "start", {"total": 600}),
        Sample("Trainable parameters: 0.071% (5.243M/7391.728M)", "chatter"),
        Sample("Iter 40: Train loss 1.912, Learning Rate 1.000e-05, It/s", None),  # cut mid-write
    ),
)
