"""YOLOX: means over the iterations since the last line; its closing line is printed after a crash as well."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_WHERE = r"(?:[\w.]+:\w+:\d+ - )?"

FORMAT = Format(
    title="YOLOX",
    url="https://github.com/Megvii-BaseDetection/YOLOX",
    lines=(
        Line(
            "step",
            rf"{_WHERE}epoch: (?P<epoch>\d+)/(?P<epochs>\d+), iter: (?P<batch>\d+)/(?P<batches>\d+), "
            r"(?:(?:gpu )?mem: [^,]{1,40}, ){0,2}iter_time: (?P<dur_s>[\d.]+)s, data_time: (?P<data_s>[\d.]+)s"
            r"(?:, total_loss: (?P<loss>[\d.]+|nan|inf))?",
        ),
        # The average precision follows two lines later; these times are printed once per evaluation.
        Line("evaluation", r"Average forward time: [\d.]+ ms, Average NMS time: "),
        Line("checkpoint", rf"{_WHERE}Save weights to (?P<path>\S+)"),
        # Before anything else of its own, every launch prints its arguments.
        Line("start", rf"{_WHERE}args: Namespace\("),
        Line("resume", rf"{_WHERE}loaded checkpoint '(?P<path>[^']+)' \(epoch \d+\)"),
        Line(
            "chatter", r"(?:yolox|pycocotools)\.[\w.]+:\w+:\d+ -(?! epoch: | Save weights| args: | loaded checkpoint)"
        ),
        Line("chatter", r"Average (?:Precision|Recall) {1,6}\(A[PR]\) @"),
        Line("chatter", r"[│├╒╞╘╔╠╚└┌┼─╪═| ]{2,}|│ "),
        Line("chatter", r"\(\w+\): \w+\(|\)\s*$"),
    ),
    clock=Clock(
        covers="window",
        includes=("data", "logging"),
        note="iter_time is the mean of the iterations since the last line, loading inside; evaluation and saving after "
        "an epoch are outside. The printed ETA is the mean since the start times the iterations left: too long after a "
        "slow start, and without evaluation.",
    ),
    layout=Layout(first_step=1, first_epoch=1, events_follow_step=True),
    samples=(
        Sample(
            "yolox.core.trainer:after_iter:253 - epoch: 2/30, iter: 10/112, mem: 3810Mb, iter_time: 0.318s, "
            "data_time: 0.001s, total_loss: 9.6, iou_loss: 3.1, lr: 1.2e-05, size: 640, ETA: 0:14:55",
            "step",
            {"epoch": 2, "epochs": 30, "batch": 10, "batches": 112, "dur_s": 0.318, "loss": 9.6},
        ),
        Sample(
            "epoch: 2/30, iter: 10/112, gpu mem: 4605Mb, mem: 11.2Gb, iter_time: 0.318s, data_time: 0.001s",
            "step",
            {"epoch": 2, "dur_s": 0.318, "loss": None},
        ),
        Sample("epoch: 2/30, iter: 10/112, loss: 1.2", None),
        Sample("Average forward time: 9.81 ms, Average NMS time: 0.75 ms, Average inference", "evaluation"),
        Sample("yolox.core.trainer:save_ckpt:356 - Save weights to ./out/yx", "checkpoint", {"path": "./out/yx"}),
        Sample("yolox.core.trainer:before_train:132 - args: Namespace(batch_size=16)", "start"),
        Sample("yolox.core.trainer:resume_train:308 - loaded checkpoint 'True' (epoch 5)", "resume", {"path": "True"}),
        Sample("yolox.core.trainer:before_epoch:207 - ---> start train epoch41", "chatter"),
        Sample("yolox.evaluators.coco_evaluator:evaluate_prediction:261 - Evaluate in main process...", "chatter"),
        Sample("Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.212", "chatter"),
        Sample("│ max_epoch         │ 30            │", "chatter"),
        Sample("(conv): Conv2d(3, 32, kernel_size=(3, 3))", "chatter"),
    ),
)
