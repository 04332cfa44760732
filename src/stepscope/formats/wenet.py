"""WeNet: a line of every rank each hundred batches, behind a moment; epochs are numbered before the slash."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"(?:[-+]?[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"
_LOSSES = rf"loss (?P<loss>{_NUMBER}) (?:[a-z_]+ {_NUMBER} )*"

FORMAT = Format(
    title="WeNet",
    url="https://github.com/wenet-e2e/wenet",
    lines=(
        Line(
            "step",
            rf"(?:DEBUG |INFO )?TRAIN Batch (?P<epoch>\d+)/(?P<batch>\d+) {_LOSSES}lr {_NUMBER} "
            rf"(?:grad_norm {_NUMBER} )?(?:step \d+ )?rank 0\b",
        ),
        Line("evaluation", rf"(?:INFO )?Epoch \d+ (?:Step \d+ )?CV info (?:lr \S+ )?cv_loss:? (?P<val_loss>{_NUMBER})"),
        Line("checkpoint", r"(?:INFO )?(?:\[Rank \d+\] )?Checkpoint: save to checkpoint (?P<path>\S+)"),
        Line("resume", r"(?:INFO )?(?:\[Rank \d+\] )?Checkpoint: loading from checkpoint (?P<path>\S+)"),
        Line("start", r"(?:INFO )?training on multiple gpus, this gpu 0\b"),
        Line("chatter", r"(?:DEBUG |INFO )?TRAIN Batch \d+/\d+ loss .{0,200}? rank [1-9]"),
        Line("chatter", r"(?:DEBUG |INFO )?CV Batch \d+/\d+ loss |(?:INFO )?Epoch \d+ TRAIN info lr "),
        Line("chatter", r"(?:INFO )?(?:training on multiple gpus, this gpu [1-9]|using accumulate grad, )"),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The moments before the lines: the difference of two holds cross validation and saving at the end of an "
        "epoch. A step is a batch; with accum_grad, several make an update. How many batches an epoch has is not "
        "printed, nor are the number of epochs and an ETA. Of several ranks the first is read.",
    ),
    layout=Layout(),
    samples=(
        Sample(
            "DEBUG TRAIN Batch 3/200 loss 12.410000 loss_att 10.120000 loss_ctc 17.800000 lr 0.00120000 rank 0",
            "step",
            {"epoch": 3, "batch": 200, "loss": 12.41},
        ),
        Sample(
            "TRAIN Batch 3/200 loss 12.410000 loss_att 10.12 lr 0.00120000 grad_norm 4.1 rank 0",
            "step",
            {"batch": 200},
        ),
        Sample("DEBUG TRAIN Batch 3/200 loss 12.4 loss_att 10.1 lr 0.0012 rank 1", "chatter"),
        Sample("DEBUG CV Batch 3/0 loss 9.1 loss_att 8.0 history loss 9.0 rank 0", "chatter"),
        Sample("INFO Epoch 3 CV info cv_loss 9.1203", "evaluation", {"val_loss": 9.1203}),
        Sample("INFO Checkpoint: save to checkpoint exp/a/3.pt", "checkpoint", {"path": "exp/a/3.pt"}),
        Sample("INFO Checkpoint: loading from checkpoint exp/a/3.pt for GPU", "resume"),
        Sample("INFO training on multiple gpus, this gpu 0", "start"),
        Sample("INFO training on multiple gpus, this gpu 1", "chatter"),
        Sample("DEBUG TRAIN Batch 3/200 loss 12.4", None),  # cut mid-write
    ),
)
