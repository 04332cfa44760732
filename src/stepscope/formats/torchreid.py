"""Torchreid, and Dassl and its prompt learners (CoOp), which print the same meters; an evaluation prints no time."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:\d[\d.]*+(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="Torchreid and Dassl",
    url="https://github.com/KaiyangZhou/deep-person-reid",
    lines=(
        Line(
            "step",
            r"epoch:? \[(?P<epoch>\d+)/(?P<epochs>\d+)\](?:\[| batch \[)(?P<batch>\d+)/(?P<batches>\d+)\]\s+"
            r"time (?P<dur_s>[\d.]+) \([\d.]+\)\s+data (?P<data_s>[\d.]+) \([\d.]+\)\s+"
            rf"(?:eta [\w ,:]{{1,30}}?\s+)?"
            rf"(?:(?!loss )[A-Za-z_]\w*+(?: [A-Za-z_]\w*+){{0,3}} [-\d.]\S*+ (?:\([\d.]+\))?\s*+){{0,4}}+"
            rf"(?:loss (?P<loss>{_NUMBER}) \()?",
        ),
        Line("evaluation", r"##### Evaluating [\w-]+ \(\w+\) #####"),
        Line("evaluation", r"Evaluate on the \*(?:val|test)\* set"),
        Line("checkpoint", r"Checkpoint saved to \"?(?P<path>[^\"\s]+)\"?"),
        Line("start", r"=> Start training\s*$"),
        Line("fact", r"MAX_EPOCH: (?P<epochs>\d+)\s*$"),
        Line(
            "chatter",
            r"Extracting features from (?:query|gallery) set|Done, obtained \d+-by-\d+ matrix|Speed: [\d.]+ s",
        ),
        Line("chatter", r"Computing (?:distance matrix|CMC and mAP)|\*\* Results \*\*|mAP: [\d.]+%|CMC curve|Rank-\d+"),
        Line("chatter", r"=> (?:result|Final test|Loading)|\* (?:total|correct|accuracy|error|macro_f1): "),
    ),
    clock=Clock(
        covers="step",
        includes=("data",),
        note="The time of the printed iteration, waiting for its data included; the figure in brackets is the mean of "
        "the epoch so far. Evaluation and saving are outside. The printed eta is the mean times the iterations left, "
        "without evaluations.",
    ),
    layout=Layout(first_step=1, first_epoch=1, events_follow_step=True),
    samples=(
        Sample(
            "epoch: [4/60][120/404]\ttime 0.212 (0.231)\tdata 0.001 (0.014)\teta 1:20:11\tloss_x 2.101 (2.412)\t"
            "acc 62.5 (51.2)\tlr 0.000300",
            "step",
            {"epoch": 4, "epochs": 60, "batch": 120, "batches": 404, "dur_s": 0.212, "data_s": 0.001},
        ),
        Sample(
            "epoch [2/50] batch [5/25] time 0.091 (0.212) data 0.000 (0.111) loss 1.2110 (1.4110) acc 65.6 (61.2) "
            "lr 2.0000e-03 eta 0:04:18",
            "step",
            {"epoch": 2, "batch": 5, "dur_s": 0.091, "loss": 1.211},
        ),
        Sample("##### Evaluating market1501 (source) #####", "evaluation"),
        Sample("Evaluate on the *test* set", "evaluation"),
        Sample('Checkpoint saved to "log/osnet/model.pth.tar-60"', "checkpoint"),
        Sample("=> Start training", "start"),
        Sample("MAX_EPOCH: 50", "fact", {"epochs": 50}),
        Sample("Extracting features from query set ...", "chatter"),
        Sample("mAP: 81.2%", "chatter"),
        Sample("=> Final test", "chatter"),
        Sample("epoch: [4/60][120/404]\ttime 0.212", None),  # cut mid-write
        Sample("Epoch: [3][40/391]\tTime 0.119 (0.140)\tData 0.002 (0.010)\tLoss 1.2040 (1.3110)", None),
    ),
)
