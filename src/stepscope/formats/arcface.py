"""insightface's ArcFace trainers: a rate of samples and the step; the timestamps are the clock."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:\d[\d.]*+(?:[eE][-+]?\d++)?|nan|inf)"
_HEAD = r"(?:Training: (?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:,\d+)?)-)?"

FORMAT = Format(
    title="insightface ArcFace",
    url="https://github.com/deepinsight/insightface",
    lines=(
        Line(
            "step",
            rf"{_HEAD}Speed [\d.]+ samples/sec\s+Loss (?P<loss>{_NUMBER})\s+(?:[A-Z]\w{{1,30}} \S+\s+){{0,4}}"
            r"Epoch: \d+\s+Global Step: (?P<step>\d+)\s",
        ),
        Line("evaluation", rf"{_HEAD}\[[\w-]{{1,40}}\]\[(?P<step>\d+)\]XNorm: "),
        Line("fact", rf"{_HEAD}(?:Total Step is: ?|: ?total_step\s+)(?P<total>\d+)\s*$"),
        Line("fact", rf"{_HEAD}: ?batch_size\s+(?P<batch_size>\d+)\s*$"),
        Line("chatter", rf"{_HEAD}\[[\w-]{{1,40}}\]\[\d+\]Accuracy-(?:Flip|Highest): "),
        Line("chatter", rf"{_HEAD}: ?(?!total_step|batch_size)\w{{1,40}}\s{{2,}}\S"),
        Line("chatter", rf"{_HEAD}(?:testing verification\.\.|infer time|Reducer buckets have been rebuilt)"),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The printed speed is samples a second of all ranks since the line before, without a batch size on the "
        "line, so the time between two lines' stamps is taken. Verification on the test sets comes after a line and is "
        "in the next one's time. The hours that are left are whole ones.",
    ),
    layout=Layout(first_step=1, events_follow_step=True),
    samples=(
        Sample(
            "Training: 2023-02-01 08:12:33,410-Speed 5120.42 samples/sec   Loss 18.2210   LearningRate 0.081000   "
            "Epoch: 2   Global Step: 8150   Fp16 Grad Scale: 32768   Required: 9 hours",
            "step",
            {"step": 8150, "loss": 18.221},
        ),
        Sample(
            "Speed 5120.42 samples/sec   Loss 18.2210   Epoch: 2   Global Step: 8150   Required: 9 hours",
            "step",
            {"step": 8150},
        ),
        Sample("Training: 2023-02-01 08:14:33,410-[lfw][8000]XNorm: 21.412", "evaluation", {"step": 8000}),
        Sample("Training: 2023-02-01 08:00:33,410-: total_step                 91020", "fact", {"total": 91020}),
        Sample("Total Step is: 91020", "fact", {"total": 91020}),
        Sample("Training: 2023-02-01 08:00:33,410-: batch_size                 96", "fact", {"batch_size": 96}),
        Sample("Training: 2023-02-01 08:14:33,410-[lfw][8000]Accuracy-Flip: 0.9971+-0.0031", "chatter"),
        Sample("Training: 2023-02-01 08:00:33,410-: num_epoch                  24", "chatter"),
        Sample("testing verification..", "chatter"),
        Sample("Speed 5120.42 samples/sec   Loss 18.2210   Epoch: 2   Glo", None),  # cut mid-write
        Sample("Epoch[2] Batch [40]\tSpeed: 911.20 samples/sec", None),
    ),
)
