"""Flair's trainer: a line every tenth of an epoch, behind a moment with milliseconds."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

FORMAT = Format(
    title="Flair",
    url="https://github.com/flairNLP/flair",
    lines=(
        Line(
            "step",
            r"epoch (?P<epoch>\d+) - iter (?P<batch>\d+)/(?P<batches>\d+) - loss (?P<loss>[\d.]+|nan|inf) - "
            r"(?:time \(sec\)|samples/sec|throughput \(samples/sec\)): ",
        ),
        Line("evaluation", r"DEV : loss (?P<val_loss>[\d.]+|nan) - "),
        Line("checkpoint", r"saving best model\s*$"),
        Line("fact", r'(?:- )?max_epochs: "(?P<epochs>\d+)"'),
        Line("start", r'Model: "'),
        Line("chatter", r"EPOCH \d+ done: loss |BAD EPOCHS|-{60,}\s*$|TEST : loss |Testing using |Training Params:"),
        Line("chatter", r'(?:- )?(?!max_epochs)[a-z_]{2,40}: "|(?:Corpus|Parameters|Plugins|Embeddings storage)'),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The moments before the lines: the difference of two holds everything between them, evaluation and saving "
        "at the end of an epoch included. The printed time (sec) counts from the start of the epoch. The number of "
        "epochs stands at the top and is rarely reached; no ETA is printed.",
    ),
    layout=Layout(first_epoch=1, first_step=1),
    samples=(
        Sample(
            "epoch 3 - iter 120/600 - loss 0.41230911 - time (sec): 18.20 - samples/sec: 210.91 - lr: 0.100000",
            "step",
            {"epoch": 3, "batch": 120, "batches": 600, "loss": 0.41230911},
        ),
        Sample("epoch 3 - iter 120/600 - loss 0.41230911 - samples/sec: 210.91", "step", {"batch": 120}),
        Sample("DEV : loss 0.2103 - f1-score (micro avg)  0.8712", "evaluation", {"val_loss": 0.2103}),
        Sample("saving best model", "checkpoint"),
        Sample('- max_epochs: "150"', "fact", {"epochs": 150}),
        Sample('Model: "SequenceTagger(', "start"),
        Sample("EPOCH 3 done: loss 0.3990 - lr: 0.1000000", "chatter"),
        Sample('- learning_rate: "0.1"', "chatter"),
        Sample("epoch 3 - iter 120/600 - lo", None),  # cut mid-write
    ),
)
