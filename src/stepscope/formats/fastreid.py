"""FastReID, which is detectron2's printer with `epoch/iter`; its printed time is the mean since the start."""

from stepscope.lines.format import Clock, Format, Habits, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"
_LOGGER = r"(?:[\w.]+(?: INFO|\]): +)"

FORMAT = Format(
    title="FastReID",
    url="https://github.com/JDAI-CV/fast-reid",
    lines=(
        Line(
            "step",
            rf"{_LOGGER}?(?:eta: [\w ,:/]{{1,30}}? +)?epoch/iter: \d+/(?P<step>\d+)  "
            rf"(?:total_loss|loss\w*): (?P<loss>{_NUMBER}) {{1,2}}(?=[a-z])"
            r".{0,2000}?\b(?:data_time: (?P<data_s>[\d.]+)|(?:data_time|lr|max_mem): )",
        ),
        Line(
            "evaluation",
            r"fastreid\.evaluation\.evaluator(?: INFO|\]): +Total inference time: (?P<took_clock>[\d:.]+) \(",
        ),
        Line("checkpoint", r"fastreid\.utils\.checkpoint(?: INFO|\]): +Saving checkpoint to (?P<path>\S+)"),
        Line("start", rf"{_LOGGER}Starting training from epoch 0\s*$"),
        Line("resume", rf"{_LOGGER}Starting training from epoch [1-9]\d*\s*$"),
        Line(
            "chatter",
            r"fastreid[\w.]*(?: (?:INFO|WARNING)|\]): *"
            r"(?! |eta: |epoch/iter: |Total inference time: |Saving checkpoint|Starting training)",
        ),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The timestamps of the lines, which contain everything. The printed time is the mean since the start of "
        "training; the printed eta is the median of the last thousand iterations times those left, and leaves "
        "evaluation and saving out.",
    ),
    habits=Habits(kept_checkpoints=0),
    samples=(
        Sample(
            "fastreid.utils.events INFO:  eta: 2:11:07  epoch/iter: 3/2399  total_loss: 4.11  loss_cls: 2.91  "
            "loss_triplet: 1.2  time: 0.2811  data_time: 0.0021  lr: 2.10e-04  max_mem: 7012M",
            "step",
            {"step": 2399, "loss": 4.11, "data_s": 0.0021},
        ),
        Sample(
            "fastreid.utils.events]:  epoch/iter: 0/199  loss_cls: 6.51  lr: 2.10e-04  max_mem: 7012M",
            "step",
            {"step": 199, "loss": 6.51},
        ),
        Sample(
            "fastreid.evaluation.evaluator INFO: Total inference time: 0:00:21.110210 (0.1411 s / batch per device)",
            "evaluation",
        ),
        Sample(
            "fastreid.utils.checkpoint INFO: Saving checkpoint to logs/a/model_0009.pth",
            "checkpoint",
            {"path": "logs/a/model_0009.pth"},
        ),
        Sample("fastreid.engine.train_loop INFO: Starting training from epoch 0", "start"),
        Sample("fastreid.engine.train_loop INFO: Starting training from epoch 12", "resume"),
        Sample("fastreid.data.datasets.bases INFO: => Loaded Market1501 in csv format:", "chatter"),
        Sample("eta: 2:11:07  epoch/iter: 3/2399  total_loss: 4.1", None),  # cut mid-write
        Sample("eta: 3:12:45  iter: 1239  total_loss: 0.8112  time: 0.4120  data_time: 0.0131  lr: 0.02", None),
    ),
)
