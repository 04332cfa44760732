"""detectron2. Its printed `time` is the mean since the start of training, so the timestamps are the clock."""

from stepscope.formats._shared import coco
from stepscope.lines.format import Clock, Controls, Format, Habits, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf|NaN|Inf)"
# After the timestamp: `d2.utils.events INFO: ` in log.txt, `d2.utils.events]: ` on the terminal.
_LOGGER = r"(?:[\w.]+(?: INFO|\]): +)"
_EVALUATOR = r"(?:d2|detectron2)\.evaluation\.evaluator(?: INFO|\]): +"

FORMAT = Format(
    title="detectron2",
    url="https://github.com/facebookresearch/detectron2",
    lines=(
        Line(
            "step",
            # The time, eta and even total_loss may be missing; the two spaces and the field that follows may not.
            rf"{_LOGGER}?(?:eta: [\w ,:/]{{1,30}}? +)?iter: (?P<step>\d+)  "
            # Scalars of the user's own may come before the loss.
            rf"(?:(?!total_loss|loss|time|data_time|lr)[\w/.-]{{1,60}}: {_NUMBER} {{1,2}}){{0,40}}+"
            rf"(?:total_loss|loss\w*): (?P<loss>{_NUMBER}) {{1,2}}(?=[a-z])"
            r".{0,4000}?\b(?:data_time: (?P<data_s>[\d.]+)|(?:data_time|lr|max_mem): )",
        ),
        Line("evaluation", rf"{_EVALUATOR}Total inference time: (?P<took_clock>[\d:.]+) \("),
        Line("checkpoint", rf"{_LOGGER}?Saving checkpoint to (?P<path>\S*?model_(?P<step>\d+)\.pth)"),
        Line("checkpoint", rf"{_LOGGER}?Saving checkpoint to (?P<path>\S*?model_final\.pth)"),
        Line("start", rf"{_LOGGER}Starting training from iteration 0\s*$"),
        Line("resume", rf"{_LOGGER}Starting training from iteration [1-9]\d*\s*$"),
        Line("fact", rf"{_LOGGER}Rank of current process: \d+\. World size: (?P<world_size>\d+)"),
        Line("fact", r"MAX_ITER: (?P<total>\d+)\s*$"),
        Line("setting", r"(?P<key>EVAL_PERIOD|CHECKPOINT_PERIOD): (?P<value>\d+)\s*$"),
        Line(
            "chatter",
            r"(?:d2|detectron2|fvcore|iopath)[\w.]*(?: (?:INFO|WARNING)|\]): *"
            r"(?! |eta: |iter: |Total inference time: |Saving checkpoint|Starting training|Rank of current process)",
        ),
        Line("chatter", r"(?:\| *)?[\w:-].*\|\s*$"),
        # The config as YAML, and the environment table.
        Line("chatter", r"(?!MAX_ITER|EVAL_PERIOD|CHECKPOINT_PERIOD)_?[A-Z][A-Z0-9_]*:(?:\s|$)|#|- -? ?[\w\"'./\[&*-]"),
        Line("chatter", r"(?:-{10,}  )?-{10,}\s*$|PyTorch built with:"),
        Line(
            "chatter",
            r"(?:sys\.platform|Python|numpy|detectron2|Compiler|CUDA|DETECTRON2_ENV_MODULE|PyTorch|GPU|Driver|Pillow|torchvision"
            r"|fvcore|iopath|cv2|TORCH_CUDA)[\w ,]{0,24}  +\S",
        ),
        # The model's layers.
        Line("chatter", r"\(\w+\): \w+|\){1,4}\s*$|[A-Z]\w+\(\s*$|\d+, \d+, kernel_size="),
        Line("chatter", r"Category ids in annotations are not in \["),
        *coco.LINES,
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The timestamps of the lines, which contain everything. The printed time is the mean since the start of "
        "training; the printed eta is the median of the last 1000 step times x the iterations to MAX_ITER. "
        "Both leave evaluation and saving out.",
    ),
    habits=Habits(kept_checkpoints=0, prints_checkpoints=True),
    controls=Controls(
        names={"EVAL_PERIOD": "eval_interval", "CHECKPOINT_PERIOD": "checkpoint_interval"},
        settable={
            "eval_interval": "TEST.EVAL_PERIOD",
            "checkpoint_interval": "SOLVER.CHECKPOINT_PERIOD",
            "max_steps": "SOLVER.MAX_ITER",
            "num_workers": "DATALOADER.NUM_WORKERS",
        },
        syntax="{name} {value}",
    ),
    samples=(
        Sample(
            "d2.utils.events INFO:  eta: 0:02:41  iter: 59  fg_cls_acc: 0.81  aux/ratio: 0.02  total_loss: 4.12  "
            "bbox_loss: 0.21  time: 0.8120  data_time: 0.1010  lr: 0.0004  max_mem: 4011M",
            "step",
            {"step": 59, "loss": 4.12},
        ),
        Sample(
            "d2.utils.events INFO:  eta: 3:12:45  iter: 1239  total_loss: 0.8112  loss_cls: 0.3102  loss_rpn_loc: 0.1  "
            "time: 0.4120  data_time: 0.0131  lr: 0.02  max_mem: 9120M",
            "step",
            {"step": 1239, "loss": 0.8112},
        ),
        Sample(
            "d2.utils.events]:  eta: 1 day, 2:10:09  iter: 39  total_loss: nan  loss_mask: nan  time: 0.9120  "
            "last_time: 0.8710  data_time: 0.0131  last_data_time: 0.0120   lr: 0.0002  max_mem: 9120M",
            "step",
            {"step": 39},
        ),
        Sample("iter: 19  loss: 1.25  time: 0.33  data_time: 0.02  lr: 1e-05", "step", {"step": 19, "loss": 1.25}),
        Sample("eta: 3:12:45  iter: 1239  total_loss: 0.81", None),  # cut by a crash mid-write
        Sample(
            "eta: 1:02:03  iter: 40  loss: 1.9 (2.2)  loss_mask: 0.6 (0.7)  time: 0.28 (0.51)  data: 0.002 (0.03)  "
            "lr: 0.007488  max mem: 9000",
            None,  # maskrcnn-benchmark, its ancestor
        ),
        Sample(
            "d2.evaluation.evaluator INFO: Total inference time: 0:01:52.204110 (0.035120 s / iter per device, on 8 "
            "devices)",
            "evaluation",
        ),
        Sample(
            "fvcore.common.checkpoint INFO: Saving checkpoint to ./runs/a/model_0004999.pth",
            "checkpoint",
            {"step": 4999, "path": "./runs/a/model_0004999.pth"},
        ),
        Sample(
            "fvcore.common.checkpoint]: Saving checkpoint to ./runs/a/model_final.pth",
            "checkpoint",
            {"path": "./runs/a/model_final.pth"},
        ),
        Sample("d2.engine.train_loop INFO: Starting training from iteration 0", "start"),
        Sample("d2.engine.train_loop]: Starting training from iteration 25000", "resume"),
        Sample("detectron2 INFO: Rank of current process: 0. World size: 4", "fact", {"world_size": 4}),
        Sample("MAX_ITER: 90000", "fact", {"total": 90000}),
        Sample("EVAL_PERIOD: 5000", "setting", {"key": "EVAL_PERIOD", "value": "5000"}),
        Sample("d2.evaluation.evaluator INFO: Inference done 11/625. Dataloading: 0.0009 s/iter.", "chatter"),
        Sample("|   AP   |  AP50  |", "chatter"),
        Sample("STEPS: (60000, 80000)", "chatter"),
        Sample("PyTorch built with:", "chatter"),
        Sample("Python                  3.10.4", "chatter"),
        Sample("(conv1): Conv2d(", "chatter"),
        Sample("Category ids in annotations are not in [1, #categories]! We'll apply a mapping for you.", "chatter"),
        *coco.SAMPLES,
    ),
)
