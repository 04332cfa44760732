"""Darknet's YOLO trainers: one line per batch, with the loading of its images on a line of its own before it."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"-?(?:[\d.]++(?:e[-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="Darknet",
    url="https://github.com/AlexeyAB/darknet",
    lines=(
        Line(
            "step",
            rf"(?P<step>\d+)(?:, [\d.]+)?: {_NUMBER}, (?P<loss>{_NUMBER}) avg(?: loss)?, {_NUMBER} rate, "
            r"(?P<dur_s>[\d.]+) seconds, \d+ images",
        ),
        Line("data", r"Loaded: (?P<took_s>[\d.]+) seconds"),
        Line("evaluation", r"(?:mean_average_precision|mean average precision) \(mAP@[\d.]+\) = "),
        Line("checkpoint", r"Saving weights to (?P<path>\S+)"),
        Line("fact", r"\d+/(?P<total>\d+): loss=[-\w.]+ (?:map=[\d.]+ best=[\d.]+ )?hours left="),
        Line("start", r"Learning Rate: [\d.e+-]+, Momentum: [\d.]+, Decay: "),
        Line("start", r"layer +filters +size/strd"),
        Line("fact", r"\[yolo\] params: "),
        Line("start", r"seen \d+, trained: \d+ K-images"),
        Line("chatter", r"(?:Region|Region \d+|v3 \(\w+ loss, Normalizer: .{0,60}\) Region \d+|\[yolo\]) Avg(?: IOU)?"),
        Line("chatter", r"v3 \(|total_bbox = \d+, rewritten_bbox|\(next mAP calculation at \d+ iterations\)"),
        Line("fact", r"\d+ +(?:conv|max|route|yolo|upsample|Shortcut|shortcut|avg|detection|dropout|connected|cost)\b"),
        Line("chatter", r"Resizing|try to allocate|CUDA |Create \d+ permanent|Done! Loaded \d+ layers"),
        Line("chatter", r"Total BFLOPS|avg_outputs = |net\.optimized_memory|mini_batch = |yolov\d"),
        Line("chatter", r"\d+ x \d+\s*$|Loading weights from |calculation mAP|Last accuracy mAP"),
    ),
    clock=Clock(
        covers="step",
        includes=(),
        note="The time of one batch, forward and backward; waiting for its images is the line 'Loaded' before it, and "
        "computing mAP and saving weights are outside. Where a classifier is trained, older versions print processor "
        "time, not wall time. The hours left are its smoothed time per batch times the batches to max_batches, mAP "
        "left out.",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample(
            "1204: 0.731240, 0.812455 avg loss, 0.001000 rate, 2.918332 seconds, 77056 images, 4.120551 hours left",
            "step",
            {"step": 1204, "loss": 0.812455, "dur_s": 2.918332},
        ),
        Sample(
            "88: 210.331, 412.870 avg, 0.000100 rate, 3.301200 seconds, 5632 images",
            "step",
            {"step": 88, "dur_s": 3.3012},
        ),
        Sample("Loaded: 0.000041 seconds", "data", {"took_s": 0.000041}),
        Sample("mean_average_precision (mAP@0.50) = 0.712200", "evaluation"),
        Sample("mean average precision (mAP@0.50) = 0.712200, or 71.22 %", "evaluation"),
        Sample("Saving weights to backup//yolo_1000.weights", "checkpoint", {"path": "backup//yolo_1000.weights"}),
        Sample("1204/6000: loss=0.8 map=0.71 best=0.71 hours left=4.1", "fact", {"total": 6000}),
        Sample("Learning Rate: 0.001, Momentum: 0.949, Decay: 0.0005", "start"),
        Sample("layer   filters  size/strd(dil)      input                output", "start"),
        Sample("avg_outputs = 517420", "chatter"),
        Sample("seen 64, trained: 32013 K-images (500 Kilo-batches_64)", "start"),
        Sample("Region 94 Avg IOU: 0.712, Class: 0.99, Obj: 0.61, No Obj: 0.002", "chatter"),
        Sample("v3 (iou loss, Normalizer: (iou: 0.07, cls: 1.00) Region 139 Avg (IOU: 0.812), count: 9", "chatter"),
        Sample("total_bbox = 512001, rewritten_bbox = 0.012 %", "chatter"),
        Sample("0 conv     32       3 x 3/ 1    416 x 416 x   3 ->  416 x 416 x  32 0.299 BF", "fact"),
        Sample("Resizing, random_coef = 1.40", "chatter"),
        Sample("[yolo] params: iou loss: ciou (4), iou_norm: 0.07", "fact"),
        Sample("608 x 608", "chatter"),
        Sample("1204: 0.731240, 0.812455 avg loss, 0.001000 rate, 2.9183", None),  # cut mid-write
        Sample("1204: loss 0.73 (2.9 seconds)", None),
    ),
)
