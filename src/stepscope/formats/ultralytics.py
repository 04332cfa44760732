"""Ultralytics YOLO: one progress bar per epoch, counted from 1, one per validation, and nothing that spans the run."""

from stepscope.formats._shared import yolo
from stepscope.lines.format import Controls, Format, Layout, Line, Sample

# Epoch, memory, losses, instances, image size. YOLOv5 and YOLOv7 draw the same, but count from 0 to epochs - 1: a row
# of theirs, except the first, is identified by its last digit.
_ROW = (
    r"(?P<epoch>[1-9]\d*)/(?P<epochs>\d*[0-8])\s+[\d.]+[GM]?\s+(?P<loss>[\d.]+|nan)(?:\s+(?:[\d.]+|nan)){1,10}: +\d+%"
)
_CLASS = r"Class\s+Images\s+Instances\s+(?:Box|Mask|Pose)\(P\s"

FORMAT = Format(
    title="Ultralytics YOLO",
    url="https://github.com/ultralytics/ultralytics",
    lines=(
        Line("step", rf"{_ROW}{yolo.BAR}"),
        Line("step", rf"{_ROW}{yolo.OWN_BAR}"),
        Line("evaluation", rf"{_CLASS}.{{0,120}}?: +100%{yolo.FULL_BAR}"),
        Line("evaluation", rf"{_CLASS}.{{0,120}}?: +100%{yolo.FULL_OWN_BAR}"),
        # A classifier's validation
        Line("evaluation", rf"classes +top1_acc +top5_acc: +100%(?:{yolo.FULL_BAR})"),
        Line("chatter", r"Starting training for \d+ epochs\.\.\."),
        Line(
            "fact",
            r"\w{1,20} summary[^:]{0,20}: \d+ layers, (?P<parameters>\d[\d,]*) parameters",
        ),
        Line("chatter", rf"{_ROW}{yolo.EMPTY_BAR}"),
        Line("chatter", r"Epoch\s+GPU_mem\s|Class\s+Images\s.{0,120}?: +\d\d?%|all +\d+ +\d+ +[\d.]"),
        Line("chatter", r"\d+ +(?:-1|\[[-\d, ]+\]|\d+) +\d+ +\d+ +(?:ultralytics|torch)\."),
        Line(
            "chatter",
            r"(?:optimizer|engine/trainer|AMP|wandb|[Tt]ensor[Bb]oard): ",
        ),
        *yolo.LINES,
        Line(
            "chatter",
            r"Ultralytics |Transferred|Freezing|Image sizes|Using \d+ data|Logging results",
        ),
    ),
    clock=yolo.CLOCK,
    layout=Layout(first_step=1, first_epoch=1, events_follow_step=True),
    controls=Controls(settable={"num_workers": "workers", "batch_size": "batch"}, syntax="{name}={value}"),
    samples=(
        *yolo.SAMPLES,
        Sample(
            "7/100      5.24G      1.402      3.105      1.577         51        640:   3%|▎         | 4/126 "
            "[00:04<02:11,  1.07s/it]",
            "step",
            {"epoch": 7, "batch": 4, "batches": 126},
        ),
        Sample("classes   top1_acc   top5_acc: 100%|██████████| 9/9 [00:03<00:00,  2.71it/s]", "evaluation"),
        Sample(
            "1/100      6.15G      2.911      7.205    0.02117         64        736: 9% ━─────────── 608/6848 2.6it/s "
            "3:40<39:22",
            "step",
            {"epoch": 1, "batch": 608, "batches": 6848},
        ),
        Sample(
            "Class     Images  Instances      Box(P          R      mAP50): 100%|██| 4/4 [00:12<00:00,  2.20it/s]",
            "evaluation",
        ),
        Sample(
            "Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100% ━━━━━━ 10/10 5.1it/s 2.0s",
            "evaluation",
        ),
        Sample(
            "3/100      6.15G      2.911   7.205   0.02117        64       736: 100% ━━━━━━━━━━━━ 40/40 2.6it/s 15.4s",
            "step",
            {"epoch": 3, "batch": 40, "batches": 40},
        ),
        Sample("Starting training for 35 epochs...", "chatter"),
        Sample("YOLO11s summary: 181 layers, 9,428,179 parameters", "fact", {"parameters": 9428179}),
        Sample(
            "4/100      5.24G      1.402      3.105      1.577         51        640:   0%|          | 0/126 "
            "[00:01<?, ?it/s]",
            "chatter",
        ),
        Sample("Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size", "chatter"),
        Sample("Class      Images      Labels           P           R: 50%|███   | 2/4 [00:01<00:01]", "chatter"),
        Sample("3                -1  1     73920  ultralytics.nn.modules.conv.Conv        [64, 128, 3, 2]", "chatter"),
        Sample("optimizer: SGD(lr=0.01, momentum=0.9)", "chatter"),
        Sample("Transferred 410/422 items from base.pt", "chatter"),
        Sample(
            "5/299     5.53G   0.0731   0.0294         0    0.1094       161       640: 50%|███  | 60/120 "
            "[00:21<00:20,  2.87it/s]",
            None,
        ),
        Sample("12/120 [00:21<00:20,  2.87it/s]", None),
        Sample("Epoch 1: 50%|█████     | 60/120 [00:21<00:20,  2.87it/s]", None),
    ),
)
