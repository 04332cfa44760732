"""Coqui TTS' trainer: a block of lines per step, its number on the first and its time on another."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

FORMAT = Format(
    title="Coqui TTS",
    url="https://github.com/coqui-ai/TTS",
    lines=(
        Line("fact", r"> EPOCH: (?P<epoch>\d+)/(?P<epochs>\d+)"),
        Line(
            "fact",
            r"(?:--)?> (?:TIME: (?P<stamp>[\d-]+ [\d:]+) -- )?STEP: (?P<batch>\d+)/(?P<batches>\d+) -- GLOBAL_STEP",
        ),
        Line("step", r"(?:\| )?> step_time: (?P<dur_s>[\d.]+) +\([\d.]+\)"),
        Line("data", r"(?:\| )?> loader_time: (?P<took_s>[\d.]+) +\([\d.]+\)"),
        Line("evaluation", r"(?:--)?> EVAL PERFORMANCE"),
        Line("checkpoint", r"> (?:BEST MODEL|CHECKPOINT) : (?P<path>\S+)"),
        Line("fact", r"> TRAINING \((?P<stamp>[\d-]+ [\d:]+)\)"),
        Line("fact", r"> Model has (?P<parameters>\d+) parameters"),
        Line("start", r"> Training Environment"),
        Line("chatter", r"(?:\| )?> (?!step_time|loader_time)[a-z]\w*: ?\S+(?: +\((?:[-+\d.e]+|nan)\))?\s*$"),
        Line("chatter", r"(?:\| )?> (?:Layer |Num\. of|Torch|Current device|Precision|Backend|\d+ / \d+ layers)"),
        Line(
            "chatter",
            r"[>!] (?:EVALUATION|Restoring|Partial model|Model restored|`|Run is|Start Tensor)|(?:--)?> /",
        ),
    ),
    clock=Clock(
        covers="step",
        includes=(),
        note="step_time is the step that is printed, one in print_step; the figure in brackets is the mean of the "
        "epoch. Waiting for data is loader_time, beside it and not inside; evaluation and saving are outside "
        "too. There is no ETA. Steps count through the epochs: GLOBAL_STEP adds those of a restored model.",
    ),
    layout=Layout(first_step=1, events_follow_step=True),
    samples=(
        Sample("> EPOCH: 3/450", "fact", {"epoch": 3, "epochs": 450}),
        Sample("--> STEP: 14/58 -- GLOBAL_STEP: 1024", "fact", {"batch": 14, "batches": 58}),
        Sample(
            "--> TIME: 2023-05-01 10:11:12 -- STEP: 14/58 -- GLOBAL_STEP: 1024", "fact", {"batch": 14, "batches": 58}
        ),
        Sample("| > step_time: 0.91210  (0.98400)", "step", {"dur_s": 0.9121}),
        Sample("| > loader_time: 0.01310  (0.12001)", "data", {"took_s": 0.0131}),
        Sample("--> EVAL PERFORMANCE", "evaluation"),
        Sample("> BEST MODEL : /out/best_model_1025.pth", "checkpoint", {"path": "/out/best_model_1025.pth"}),
        Sample("> TRAINING (2023-05-01 10:10:31)", "fact"),
        Sample("> Model has 86410000 parameters", "fact", {"parameters": 86410000}),
        Sample("> Training Environment:", "start"),
        Sample("| > loss_disc: 2.51002  (2.90110)", "chatter"),
        Sample("| > avg_loader_time: 0.02 (+0.001)", "chatter"),
        Sample("| > current_lr_0: 0.00015", "chatter"),
        Sample("| > Layer missing in the checkpoint: disc.nets.0.bias", "chatter"),
        Sample("> EVALUATION", "chatter"),
        Sample("| > step_time: 0.77", None),
        Sample("STEP: 14/58", None),
    ),
)
