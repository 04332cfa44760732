"""3D Gaussian splatting and what was built on it: a bar that moves every ten iterations, and lines at a few of them."""

from stepscope.lines.format import Clock, Controls, Format, Habits, Layout, Line, Sample

_NUMBER = r"[-+]?(?:\d[\d.]*+(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="3D Gaussian splatting",
    url="https://github.com/graphdeco-inria/gaussian-splatting",
    lines=(
        Line(
            "step",
            r"Training progress: +\d{1,3}%(?:\|[^|]{0,400}\|)? (?P<step>\d+)/(?P<total>\d+) "
            r"\[(?P<elapsed_clock>[\d:]+)<(?:[\d:]+|\?), +[\d.]+(?:it/s|s/it)"
            rf"(?:, (?:[^\]]{{0,200}}?\b[Ll]oss=(?P<loss>{_NUMBER}))?[^\]]{{0,200}})?\]",
        ),
        Line("evaluation", rf"\[ITER (?P<step>\d+)\] Evaluating (?:test|train): .{{0,40}}?PSNR {_NUMBER}"),
        Line("checkpoint", r"\[ITER (?P<step>\d+)\] Saving (?:Gaussians|Checkpoint)"),
        Line("start", r"Optimizing \S*\s*(?:\[\d\d/\d\d \d\d:\d\d:\d\d\]\s*)?$"),
        Line("chatter", r"Training progress: +\d{1,3}%(?:\|[^|]{0,400}\|)? \d+/\d+ \[[\d:]+<\?, +\?(?:it/s|s/it)"),
        Line(
            "chatter",
            r"Output folder: |Reading camera \d+/\d+|Loading (?:Training|Test) Cameras|Number of points at in",
        ),
        Line("chatter", r"Tensorboard not available: |Converting point3d\.bin|Found transforms_train"),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The bar's elapsed time, in whole seconds, since training began, with everything inside; its rate and its "
        "time left are smoothed over a few redraws. An iteration gets longer while Gaussians are added (to iteration "
        "15,000 unless set otherwise).",
        restarts_with="process",
    ),
    layout=Layout(first_step=1, events_follow_step=True),
    habits=Habits(kept_checkpoints=0, step_cost_follows_schedule=True),
    controls=Controls(settable={"max_steps": "iterations"}, syntax="--{name} {value}"),
    samples=(
        Sample(
            "Training progress:  12%|█▏        | 3610/30000 [01:21<11:07, 39.51it/s, Loss=0.0981221]",
            "step",
            {"step": 3610, "total": 30000, "loss": 0.0981221},
        ),
        Sample(
            "Training progress:  31%|###1| 9310/30000 [08:21<9:07:10,  1.58s/it, Loss=0.05, Depth Loss=0.001]",
            "step",
            {"step": 9310, "loss": 0.05},
        ),
        Sample("[ITER 7000] Evaluating test: L1 0.0312 PSNR 25.71 [12/02 10:11:12]", "evaluation", {"step": 7000}),
        Sample("[ITER 7000] Saving Gaussians [12/02 10:11:15]", "checkpoint", {"step": 7000}),
        Sample("Optimizing output/garden [12/02 10:01:15]", "start"),
        Sample("[ITER 7000] Evaluating train: L1 0.02 PSNR 28.1 [12/02 10:11:14]", "evaluation", {"step": 7000}),
        Sample("Training progress:   0%|          | 0/30000 [00:00<?, ?it/s]", "chatter"),
        Sample("Reading camera 31/185 [12/02 10:01:16]", "chatter"),
        Sample("Tensorboard not available: not logging progress", "chatter"),
        Sample("Training progress:  12%|█▏        | 3610/30000 [01:21<11", None),  # cut mid-write
        Sample("Evaluation progress:  12%|█▏        | 36/300 [01:21<11:07, 39.51it/s]", None),
    ),
)
