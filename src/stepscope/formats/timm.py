"""timm's train.py. The first time on the line is one step's, the one in brackets the epoch's mean; no timestamps."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf|NaN|Inf)"

FORMAT = Format(
    title="timm",
    url="https://github.com/huggingface/pytorch-image-models",
    lines=(
        Line(
            "step",
            r"Train: (?P<epoch>\d+) \[ *(?P<batch>\d+)/(?P<batches>\d+) +\( *\d+%\)\] +"
            rf"Loss: +(?P<loss>{_NUMBER}) \( *{_NUMBER}\) +Time: +(?P<dur_s>[\d.]+)s, +[\d.]+/s"
            r"(?: +\((?P<mean_s>[\d.]+)s,)?(?:.{0,200}?\bData: (?P<data_s>[\d.]+) (?:\( *(?P<data_mean_s>[\d.]+)\))?)?",
        ),
        # Its last line; the numbers count from zero, so both are the same there.
        Line(
            "evaluation",
            r"Test(?: \(EMA\))?: \[ *(?P<took_batch>\d+)/(?P<took_batches>(?P=took_batch))\] +"
            rf"Time: [\d.]+s? \( *(?P<took_mean_s>[\d.]+)s?\).{{0,60}}?Loss: +{_NUMBER} \( *(?P<val_loss>{_NUMBER})\)",
        ),
        Line("checkpoint", r"Current checkpoints:\s*$"),
        Line("fact", r"Scheduled epochs: (?P<epochs>\d+)[. ]"),
        Line("fact", r"Model \S+ created, param count: ?(?P<parameters>\d+)"),
        Line("start", r"Training with a single process on \d+ (?:GPUs|device)"),
        Line("start", r"Training in distributed mode with multiple processes.*\btotal (?P<world_size>\d+)"),
        Line("resume", r"Loaded checkpoint '(?P<path>[^']+)' \(epoch \d+\)"),
        Line("chatter", r"Test(?: \(EMA\))?: \[ *(\d+)/(?!\1\])\d+\] "),
        Line("chatter", r"\('[^']+\.pth(?:\.tar)?', "),
        Line("chatter", r"\*\*\* Best metric: |Distributing BatchNorm|Using (?:NVIDIA APEX|native Torch) "),
    ),
    clock=Clock(
        covers="step",
        includes=("data",),
        note="The time of one iteration, the printed one, waiting for data included; the figure in brackets is the "
        "mean of the epoch. Evaluation and saving are outside. One iteration in log_interval and the last of an "
        "epoch are printed; no eta is.",
    ),
    layout=Layout(events_follow_step=True),
    samples=(
        Sample(
            "Train: 2 [ 150/1251 ( 12%)]  Loss: 5.91 (6.12)  Time: 0.412s, 621.1/s  (0.455s, 562.6/s)  LR: 4.000e-04  "
            "Data: 0.010 (0.041)",
            "step",
            {
                "epoch": 2,
                "batch": 150,
                "batches": 1251,
                "loss": 5.91,
                "dur_s": 0.412,
                "mean_s": 0.455,
                "data_mean_s": 0.041,
            },
        ),
        Sample(
            "Train: 0 [   0/312 (  0%)]  Loss:  6.959082 (6.9591)  Time: 8.157s,   31.38/s  (8.157s,   31.38/s)  "
            "LR: 1.000e-04  Data: 4.012 (4.012)",
            "step",
            {"epoch": 0, "batch": 0, "loss": 6.959082, "dur_s": 8.157},
        ),
        Sample(
            "Test: [  97/97]  Time: 0.112 (0.301)  Loss:  1.1021 (1.3310)  Acc@1: 75.0000 (70.2240)",
            "evaluation",
            {"val_loss": 1.331, "took_batch": 97, "took_mean_s": 0.301},
        ),
        Sample("Test (EMA): [  97/97]  Time: 0.1 (0.3)  Loss: 1.10 (1.25)  Acc@1: 75.0 (71.2)", "evaluation"),
        Sample("Current checkpoints:", "checkpoint"),
        Sample("Scheduled epochs: 310. LR stepped per epoch.", "fact", {"epochs": 310}),
        Sample("Model resnet50 created, param count:25557032", "fact", {"parameters": 25557032}),
        Sample("Training with a single process on 1 GPUs.", "start"),
        Sample(
            "Training in distributed mode with multiple processes, 1 GPU per process. Process 0, total 8.",
            "start",
            {"world_size": 8},
        ),
        Sample("Loaded checkpoint 'out/last.pth.tar' (epoch 12)", "resume", {"path": "out/last.pth.tar"}),
        Sample("Test: [   0/97]  Time: 2.1 (2.1)  Loss: 1.10 (1.10)  Acc@1: 75.0 (75.0)", "chatter"),
        Sample("('out/checkpoint-3.pth.tar', 61.2)", "chatter"),
        Sample("*** Best metric: 70.224 (epoch 289)", "chatter"),
        Sample("Train: 2 [ 150/1251 ( 12%)]  Loss: 5.91 (6.12)  Time: 0.41", None),  # cut mid-write
        Sample("Train: [2/300][150/1251]\teta 0:08:10 lr 0.000400\ttime 0.4120 (0.4550)", None),  # Swin
    ),
)
