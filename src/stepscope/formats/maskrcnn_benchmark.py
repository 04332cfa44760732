"""maskrcnn-benchmark. Its `time: a (b)` is a median of 20 and a mean since the start: the timestamps are the clock."""

from stepscope.formats._shared import coco
from stepscope.lines.format import Clock, Controls, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf|NaN|Inf)"
_LOGGER = r"(?:maskrcnn_benchmark[\w.]* INFO: )"

FORMAT = Format(
    title="maskrcnn-benchmark",
    url="https://github.com/facebookresearch/maskrcnn-benchmark",
    lines=(
        Line(
            "step",
            rf"{_LOGGER}?eta: [\w ,:]{{1,30}}? +iter: (?P<step>\d+) +loss: (?P<loss>{_NUMBER}) \({_NUMBER}\) "
            r".{0,2000}?\btime: [\d.]+ \([\d.]+\) +data: (?P<data_s>[\d.]+)?",
        ),
        Line("evaluation", rf"{_LOGGER}Total inference time: (?P<took_clock>[\d:.]+) \("),
        Line("checkpoint", rf"{_LOGGER}Saving checkpoint to (?P<path>\S*?model_(?P<step>\d+)\.pth)"),
        Line("checkpoint", rf"{_LOGGER}Saving checkpoint to (?P<path>\S*?model_final\.pth)"),
        Line("start", rf"{_LOGGER}Start training\s*$"),
        Line("fact", rf"{_LOGGER}Using (?P<world_size>\d+) GPUs"),
        # Written twice: the config file's, then the one in force.
        Line("setting", r"(?P<key>MAX_ITER|CHECKPOINT_PERIOD|TEST_PERIOD): (?P<value>\d+)\s*$"),
        Line("chatter", rf"{_LOGGER}(?!eta: |Total inference time: |Saving checkpoint|Start training|Using \d+ GPUs)"),
        Line("chatter", r"(?:\d+: )?:{0,3}MLL(?:OG)? "),
        Line("chatter", r"\d{1,3}%\|"),
        Line("chatter", r"When using more than one image per GPU|resFile is |maskrcnn_benchmark INFO:\s*$"),
        Line("chatter", r"Gradient overflow\.\s+Skipping step"),
        Line("chatter", r"(?!MAX_ITER|CHECKPOINT_PERIOD|TEST_PERIOD)_?[A-Z][A-Z0-9_]*:(?:\s|$)|- [\w\"'.]"),
        *coco.LINES,
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The timestamps of the lines, which contain everything. In the printed time a (b), a is the median of "
        "the last 20 iterations and b the mean since the start; the printed eta is b x the iterations to MAX_ITER, "
        "so it is long after a slow start and leaves evaluation out.",
    ),
    layout=Layout(first_step=1),
    controls=Controls(
        names={"MAX_ITER": "max_steps", "CHECKPOINT_PERIOD": "checkpoint_interval", "TEST_PERIOD": "eval_interval"},
        settable={
            "eval_interval": "SOLVER.TEST_PERIOD",
            "checkpoint_interval": "SOLVER.CHECKPOINT_PERIOD",
            "max_steps": "SOLVER.MAX_ITER",
            "num_workers": "DATALOADER.NUM_WORKERS",
        },
        syntax="{name} {value}",
    ),
    samples=(
        Sample(
            "maskrcnn_benchmark.trainer INFO: eta: 2:14:06  iter: 340  loss: 1.0830 (1.9157)  loss_mask: 0.47 (0.50)  "
            "time: 0.3952 (0.4348)  data: 0.0029 (0.0414)  lr: 0.013648  max mem: 8986",
            "step",
            {"step": 340, "loss": 1.083},
        ),
        Sample(
            "maskrcnn_benchmark.trainer INFO: eta: 1 day, 2:14:06  iter: 20  loss: nan (nan)  time: 0.3952 (0.4348)  "
            "data: 0.0029 (0.0414)  lr: 0.013648  max mem: 8986",
            "step",
            {"step": 20},
        ),
        Sample("maskrcnn_benchmark.inference INFO: Total inference time: 0:00:41.2 (0.1 s / img)", "evaluation"),
        Sample(
            "maskrcnn_benchmark.utils.checkpoint INFO: Saving checkpoint to out/model_0002500.pth",
            "checkpoint",
            {"step": 2500, "path": "out/model_0002500.pth"},
        ),
        Sample("maskrcnn_benchmark.utils.checkpoint INFO: Saving checkpoint to out/model_final.pth", "checkpoint"),
        Sample("maskrcnn_benchmark.trainer INFO: Start training", "start"),
        Sample("maskrcnn_benchmark INFO: Using 8 GPUs", "fact", {"world_size": 8}),
        Sample("MAX_ITER: 45000", "setting", {"key": "MAX_ITER", "value": "45000"}),
        Sample("maskrcnn_benchmark.inference INFO: Preparing bbox results", "chatter"),
        Sample(':::MLL 1561822378.320 eval_stop: {"value": null}', "chatter"),
        Sample("5%|▌         | 17/320 [00:01<00:21, 14.1it/s]", "chatter"),
        Sample("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 8192.0", "chatter"),
        Sample("resFile is ./out/bbox.json", "chatter"),
        Sample("BASE_LR: 0.12", "chatter"),
        Sample("eta: 2:14:06  iter: 340  loss: 1.0830 (1.9157)  time: 0.3952", None),  # cut mid-write
        Sample("d2.utils.events INFO:  eta: 3:12:45  iter: 1239  total_loss: 0.8  time: 0.4  data_time: 0.01", None),
        *coco.SAMPLES,
    ),
)
