"""nnU-Net, both versions: a block of lines per epoch, its number first and its time last. A step is an epoch."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:e[-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="nnU-Net",
    url="https://github.com/MIC-DKFZ/nnUNet",
    lines=(
        Line("fact", r"(?:Epoch |epoch: +)(?P<step>\d+)\s*$"),
        Line("fact", rf"train(?:_loss| loss :) (?:np\.float\d+\()?(?P<loss>{_NUMBER})\)?\s*$"),
        Line("step", r"(?:Epoch time:|This epoch took) (?P<dur_s>[\d.]+) s\s*$"),
        Line("evaluation", rf"(?:val_loss|validation loss:) (?:np\.float\d+\()?(?P<val_loss>{_NUMBER})\)?\s*$"),
        Line("chatter", r"Current learning rate: |lr: |Pseudo dice |Average global foreg"),
        Line(
            "chatter", r"(?:\(interpret this as|saving (?:best|scheduled)|Yayy! New best|current best|This is the conf)"
        ),
        Line("chatter", r"(?:done, saving took|lr was set to|Using |unpacking|loading dataset|Training done\.)"),
    ),
    clock=Clock(
        covers="step",
        includes=("evaluation", "data"),
        note="The time of one epoch, 250 training batches unless set otherwise, with the validation at its end; saving "
        "comes after it. Neither the number of epochs (a thousand unless set otherwise) nor an ETA is printed.",
    ),
    layout=Layout(lines_end_epochs=True),
    samples=(
        Sample("Epoch 17", "fact", {"step": 17}),
        Sample("epoch:  17", "fact", {"step": 17}),
        Sample("train_loss -0.6123", "fact", {"loss": -0.6123}),
        Sample("train loss : -0.6123", "fact", {"loss": -0.6123}),
        Sample("Epoch time: 81.27 s", "step", {"dur_s": 81.27}),
        Sample("This epoch took 214.910 s", "step", {"dur_s": 214.91}),
        Sample("val_loss -0.5901", "evaluation", {"val_loss": -0.5901}),
        Sample("validation loss: -0.5901", "evaluation", {"val_loss": -0.5901}),
        Sample("Pseudo dice [0.91, 0.87]", "chatter"),
        Sample("(interpret this as an estimate for the Dice of the different classes. This is not exact.)", "chatter"),
        Sample("done, saving took 0.91 seconds", "chatter"),
        Sample("Epoch time: 81.2", None),  # cut mid-write
        Sample("Epoch 17/100", None),
    ),
)
