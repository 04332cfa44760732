"""icefall's recipes for k2: losses per batch behind a moment, and no time of their own."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"(?:[-+]?[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"
# The place in the code, then the rank among how many; every rank writes a file, or all of them into one.
_HEAD = r"(?:\[[\w.]{1,60}:\d+\] )?(?:\(0/\d+\) )?"

FORMAT = Format(
    title="icefall",
    url="https://github.com/k2-fsa/icefall",
    lines=(
        Line(
            "step",
            rf"{_HEAD}Epoch (?P<epoch>\d+), batch (?P<batch>\d+),"
            rf"(?: loss\[loss=|.{{0,200}}?tot_loss\[loss=|.{{0,40}}?loss )(?P<loss>{_NUMBER})",
        ),
        Line("evaluation", rf"{_HEAD}Epoch \d+, validation:? ?.{{0,40}}?loss=(?P<val_loss>{_NUMBER})"),
        Line("checkpoint", rf"{_HEAD}Saving checkpoint to (?P<path>\S+)"),
        Line("start", rf"{_HEAD}Training started"),
        Line("fact", rf"{_HEAD}Number of model parameters: (?P<parameters>\d+)"),
        Line("chatter", r"(?:\[[\w.]{1,60}:\d+\] )?\([1-9]\d*/\d+\) "),
        Line("chatter", rf"{_HEAD}(?:Computing validation loss|Maximum memory allocated so far|Whitening: name=)"),
        Line("chatter", r"\[[\w.]{1,60}:\d+\] (?:\(0/\d+\) )?(?:name=|Clipping_scale=|Device: |About to |About  ?to )"),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The moments before the lines: the difference of two holds everything between them, validation and saving "
        "included. Batches have about equal seconds of speech, not equal numbers of recordings. How many batches an "
        "epoch has is known once one is over; neither a total nor an ETA is printed.",
    ),
    layout=Layout(first_epoch=1),
    samples=(
        Sample(
            "[train.py:898] (0/4) Epoch 2, batch 150, loss[loss=0.712, simple_loss=0.61, over 6120.00 frames. ], "
            "tot_loss[loss=0.803, over 1201001.10 frames. ], batch size: 31, lr: 4.21e-02",
            "step",
            {"epoch": 2, "batch": 150, "loss": 0.712},
        ),
        Sample(
            "[train.py:901] Epoch 2, batch 150, loss[loss=0.712, over 6120.00 frames.], batch size: 31",
            "step",
            {"epoch": 2, "batch": 150},
        ),
        Sample(
            "(0/4) Epoch 2, validation: loss=0.6412, simple_loss=0.51, over 944034.00 frames.",
            "evaluation",
            {"val_loss": 0.6412},
        ),
        Sample(
            "[checkpoint.py:75] (0/4) Saving checkpoint to exp/epoch-2.pt", "checkpoint", {"path": "exp/epoch-2.pt"}
        ),
        Sample("[train.py:950] (0/4) Training started", "start"),
        Sample("[train.py:970] (0/4) Number of model parameters: 65549011", "fact", {"parameters": 65549011}),
        Sample("[train.py:898] (3/4) Epoch 2, batch 150, loss[loss=0.698, over 6090.00 frames. ]", "chatter"),
        Sample("[train.py:919] (0/4) Computing validation loss", "chatter"),
        Sample("[optim.py:369] (0/4) Clipping_scale=2.0, grad-norm quartiles 1.1e+02", "chatter"),
        Sample("Epoch 2, batch 150", None),
        Sample("Epoch 2, batch 150, lr 0.1", None),
    ),
)
