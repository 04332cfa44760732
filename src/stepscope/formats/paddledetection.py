"""PaddleDetection. No total of epochs in the log, dates without a year, evaluation outside the printed cost."""

from stepscope.formats._shared import coco
from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf|NaN|Inf)"
# After the timestamp: `ppdet.engine INFO: `, and in versions before 2.2 `ppdet.engine]: `.
_LOGGER = r"(?:ppdet[\w.]*(?: INFO|\]): )"

FORMAT = Format(
    title="PaddleDetection",
    url="https://github.com/PaddlePaddle/PaddleDetection",
    lines=(
        Line(
            "step",
            rf"{_LOGGER}?Epoch: \[(?P<epoch>\d+)\] \[ *(?P<batch>\d+)/(?P<batches>\d+)\] learning_rate: [\d.e-]+ "
            rf"(?:.{{0,2000}}?\bloss: (?P<loss>{_NUMBER}) )?"
            r".{0,2000}?\beta: (?:\d+ days?, )?[\d:]+ batch_cost: (?P<dur_s>[\d.]+) data_cost: (?P<data_s>[\d.]+)?",
        ),
        Line(
            "evaluation", rf"{_LOGGER}Total sample number: (?P<took_samples>\d+), avera?ge FPS: (?P<took_per_s>[\d.]+)"
        ),
        Line("checkpoint", rf"{_LOGGER}Save checkpoint: (?P<path>\S+)"),
        Line("resume", rf"{_LOGGER}Resume (?:training )?from (?P<path>\S+)"),
        Line("chatter", rf"{_LOGGER}(?!Epoch: |Total sample number|Save checkpoint|Resume )|ppdet[\w.]* WARNING: "),
        Line("chatter", r"[IWE]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \w+\.cc:\d+\]"),
        Line("chatter", r"(?:WARNING: )?OMP_NUM_THREADS set to|PLEASE USE OMP_NUM_THREADS WISELY"),
        Line("chatter", r"\S+\.py:\d+: \w*Warning: "),
        *coco.LINES,
    ),
    clock=Clock(
        covers="window",
        includes=("data",),
        note="batch_cost is the mean of the last log_iter iterations, data_cost inside it; evaluation and saving are "
        "outside. The printed eta is the mean x the iterations left in the run and leaves both out.",
    ),
    layout=Layout(events_follow_step=True),
    samples=(
        Sample(
            "ppdet.engine INFO: Epoch: [4] [ 20/464] learning_rate: 0.000100 loss_class: 0.1 loss: 9.4455 "
            "eta: 3:13:14 batch_cost: 0.4965 data_cost: 0.0003 ips: 8.0565 images/s",
            "step",
            {"epoch": 4, "batch": 20, "batches": 464, "loss": 9.4455, "dur_s": 0.4965},
        ),
        Sample(
            "Epoch: [0] [  0/464] learning_rate: 0.000000 eta: 1 day, 3:13:14 batch_cost: 2.5 data_cost: 0.5 ips: 1.6 "
            "images/s",
            "step",
            {"epoch": 0, "batch": 0, "dur_s": 2.5, "loss": None},
        ),
        Sample(
            "ppdet.engine INFO: Total sample number: 500, average FPS: 21.339",
            "evaluation",
            {"took_samples": 500, "took_per_s": 21.339},
        ),
        Sample("ppdet.engine INFO: Total sample number: 500, averge FPS: 21.339", "evaluation"),  # before 2.4
        Sample("ppdet.utils.checkpoint INFO: Save checkpoint: output/yolo_s", "checkpoint", {"path": "output/yolo_s"}),
        Sample("ppdet.engine INFO: Resume from output/yolo_s/11", "resume", {"path": "output/yolo_s/11"}),
        Sample("ppdet.engine INFO: Eval iter: 100", "chatter"),
        Sample("W0802 02:44:19.123456  4242 gpu_resources.cc:91] device: 0, cuDNN Version: 8.4.", "chatter"),
        Sample("PLEASE USE OMP_NUM_THREADS WISELY.", "chatter"),
        Sample("/env/lib/pkg_resources/__init__.py:2804: DeprecationWarning: Deprecated call", "chatter"),
        Sample("Epoch: [4] [ 20/464] learning_rate: 0.000100 loss: 9.4455 eta: 3:13:14 batch_cost: 0.49", None),
        Sample("Epoch: [4]  [ 20/464]  eta: 0:14:25  lr: 0.0001  time: 0.4216  data: 0.0214", None),  # torchvision
        *coco.SAMPLES,
    ),
)
