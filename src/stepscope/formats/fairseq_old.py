"""fairseq 0.1 to 0.5, before there were updates and a running clock: words a batch and words a second."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"(?:[-+]?\d[\d.]*+(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="fairseq before 0.6",
    url="https://github.com/facebookresearch/fairseq/tree/v0.5.0",
    lines=(
        Line(
            "step",
            rf"(?:\| )?epoch (?P<epoch>\d+):? +(?P<batch>\d+) / (?P<batches>\d+) loss=(?P<loss>{_NUMBER})"
            rf"(?: \({_NUMBER}\))?, (?:(?!wps|wall|num_updates)\w+={_NUMBER}(?: \({_NUMBER}\))?, ){{0,4}}"
            rf"wps=(?P<tokens_per_s>\d+)(?: \({_NUMBER}\))?, wpb=(?P<tokens>\d+)(?: \({_NUMBER}\))?, "
            r"(?!.{0,400}(?:num_updates|wall)=)bsz=",
        ),
        Line(
            "chatter", r"(?:\| )?epoch \d+ \| train loss .{0,200}?\| s/checkpoint +\d+ \| words/s +\d+ \| words/batch "
        ),
        Line(
            "evaluation", rf"(?:\| )?epoch \d+ \| valid on '[^']{{1,80}}' subset \| valid loss (?P<val_loss>{_NUMBER})"
        ),
        Line("chatter", rf"(?:\| )?epoch \d+ \| valid on '[^']{{1,80}}' subset +\d+ / \d+ loss={_NUMBER}"),
    ),
    clock=Clock(
        covers="window",
        includes=("checkpoint", "data", "logging"),
        note="A batch takes wpb / wps seconds: words a batch by words a second, both the mean since the epoch began, "
        "so a change shows late. Validation comes between the epochs and is outside; a save within an epoch is inside. "
        "s/checkpoint is the seconds of the whole epoch, its first batch left out. Neither the number of epochs nor "
        "an ETA is printed.",
    ),
    layout=Layout(first_step=1, first_epoch=1, events_follow_step=True),
    samples=(
        Sample(
            "| epoch 004   1000 / 5210 loss=4.12 (4.90), wps=8100, wpb=3240, bsz=120, lr=0.25, clip=9%, gnorm=0.4120",
            "step",
            {"epoch": 4, "batch": 1000, "batches": 5210, "loss": 4.12, "tokens": 3240, "tokens_per_s": 8100},
        ),
        Sample(
            "| epoch 004 | train loss 4.51 | train ppl 22.78 | s/checkpoint    2084 | words/s   8100 | "
            "words/batch   3240 | bsz   120 | lr 0.250000 | clip   9% | gnorm 0.4120",
            "chatter",
        ),
        Sample(
            "| epoch 004 | valid on 'valid' subset | valid loss 4.21 | valid ppl 18.51",
            "evaluation",
            {"val_loss": 4.21},
        ),
        Sample("| epoch 004 | valid on 'valid' subset     40 / 90 loss=4.20", "chatter"),
        Sample("| epoch 004   1000 / 5210 loss=4.12 (4.90), wps=8100", None),  # cut mid-write
        Sample(
            "| epoch 002:   1000 / 1811 loss=6.924, nll_loss=0.000, ppl=1.00, wps=309403, ups=4.1, wpb=74811, bsz=9, "
            "num_updates=2806, lr=0.0018, wall=652",
            None,  # fairseq 0.6
        ),
    ),
)
