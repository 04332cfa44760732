"""YOLOv5 and YOLOv7: one progress bar per epoch, counted from 0, one per validation, and nothing that spans the run."""

from stepscope.formats._shared import yolo
from stepscope.lines.format import Format, Layout, Line, Sample

# Epoch, memory, at least three losses, instances, image size: no other trainer draws this before its bar.
_ROW = r"(?P<epoch>\d+)/(?P<last>\d+)\s+[\d.]+[GM]?\s+(?P<loss>[\d.]+|nan)(?:\s+(?:[\d.]+|nan)){3,8}: +\d+%"

FORMAT = Format(
    title="YOLOv5, YOLOv7",
    url="https://github.com/ultralytics/yolov5",
    lines=(
        Line("step", rf"{_ROW}{yolo.BAR}"),
        Line("evaluation", rf"Class\s+Images\s+(?:Labels|Instances|Targets)\s+P\s.{{0,80}}?: +100%{yolo.FULL_BAR}"),
        Line("fact", r"Starting training for (?P<epochs>\d+) epochs\.\.\."),
        Line(
            "fact",
            r"(?:Model Summary|\w{1,20} summary[^:]{0,20}): \d+ layers, (?P<parameters>\d[\d,.e+]*) parameters",
        ),
        Line("chatter", rf"{_ROW}{yolo.EMPTY_BAR}"),
        Line("chatter", r"Epoch\s+(?:gpu_mem|GPU_mem)\s|Class\s+Images\s.{0,120}?: +\d\d?%|all +\d+ +\d+ +[\d.]"),
        Line("chatter", r"\d+ +(?:-1|\[[-\d, ]+\]|\d+) +\d+ +\d+ +(?:models|torch|utils)\."),
        Line(
            "chatter",
            r"(?:hyperparameters|optimizer|autoanchor|AutoAnchor|AMP|wandb|[Tt]ensor[Bb]oard): ",
        ),
        *yolo.LINES,
        Line(
            "chatter",
            r"Namespace\(|YOLO(?:v\d|R) |Transferred|Freezing|Image sizes|Using \d+ data|Logging results",
        ),
    ),
    clock=yolo.CLOCK,
    layout=Layout(first_step=1, events_follow_step=True),
    samples=(
        *yolo.SAMPLES,
        Sample(
            "0/299     5.53G   0.0731   0.0294         0    0.1094       161       640: 50%|█████     | 60/120 "
            "[00:21<00:20,  2.87it/s]",
            "step",
            {"epoch": 0, "batch": 60, "batches": 120, "loss": 0.0731},
        ),
        Sample(
            "14/99     3.31G   0.0431   0.0194   0.0112        75       512: 100% 210/210 [01:52<00:00,  1.87it/s]",
            "step",
            {"epoch": 14, "batch": 210, "batches": 210},
        ),
        Sample(
            "Class    Images   Targets         P         R   mAP@0.5        F1: 100% 7/7 [01:03<00:00,  9.1s/it]",
            "evaluation",
        ),
        Sample(
            "Class      Images      Labels           P           R      mAP@.5: 100%|██| 4/4 [00:12<00:00,  2.2it/s]",
            "evaluation",
        ),
        Sample("Starting training for 35 epochs...", "fact", {"epochs": 35}),
        Sample("Model Summary: 407 layers, 36905341 parameters, 36905341 gradients", "fact", {"parameters": 36905341}),
        Sample(
            "0/299     5.53G   0.0731   0.0294         0    0.1094       161       640:   0%|          | 0/120 "
            "[00:01<?, ?it/s]",
            "chatter",
        ),
        Sample("Epoch   gpu_mem       box       obj       cls     total    labels  img_size", "chatter"),
        Sample("Class      Images      Labels           P           R: 50%|███   | 2/4 [00:01<00:01]", "chatter"),
        Sample("3                -1  1     73920  models.common.Conv                      [64, 128, 3, 2]", "chatter"),
        Sample("optimizer: SGD(lr=0.01, momentum=0.9)", "chatter"),
        Sample("Transferred 410/422 items from base.pt", "chatter"),
        Sample("12/120 [00:21<00:20,  2.87it/s]", None),
        Sample("Epoch 1: 50%|█████     | 60/120 [00:21<00:20,  2.87it/s]", None),
    ),
)
