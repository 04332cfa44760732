"""NVIDIA's SSD for MLPerf: samples per second, a time only because an MLPerf line states the batch size."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

FORMAT = Format(
    title="NVIDIA SSD (MLPerf)",
    url="https://github.com/mlcommons/training",
    lines=(
        Line(
            "step",
            r"Iteration:\s+(?P<step>\d+), Loss function: (?P<loss>[\d.]+|nan|inf), Average Loss: (?:[\d.]+|nan|inf), "
            r"avg\. samples / sec: (?P<samples_per_s>[\d.]+)",
        ),
        Line("evaluation", r"Current AP: [\d.]+ AP goal: "),
        Line("fact", r":{0,3}MLL\w* .{0,200}?\bglobal_batch_size\b.{0,20}?\"value\": (?P<samples_per_step>\d+)"),
        Line("chatter", r":{0,3}(?:MLLOG|MLL|MLP\S*) (?!.{0,200}?\bglobal_batch_size\b)"),
        Line(
            "chatter",
            r"Average (?:Precision|Recall) {1,6}\(A[PR]\) @|Parsing batch: |(?:DONE|Done) \(t=",
        ),
        Line("chatter", r"(?:[Ll]oading |[Cc]reating |Running |Evaluate |Accumulating )|Binding: \[|BN group:"),
    ),
    clock=Clock(
        covers="window",
        includes=("data", "logging"),
        note="Samples per second over the iterations since the last line, made a time with the global batch size of "
        "the MLPerf header; without that line no time is known. Evaluation is outside. There is no ETA.",
    ),
    layout=Layout(events_follow_step=True),
    samples=(
        Sample(
            "Iteration:    160, Loss function: 8.724, Average Loss: 1.901, avg. samples / sec: 4236.85",
            "step",
            {"step": 160, "loss": 8.724, "samples_per_s": 4236.85},
        ),
        Sample("Iteration:    160, Loss function: 8.724", None),
        Sample("Current AP: 0.21210 AP goal: 0.23000", "evaluation"),
        Sample(
            ':::MLL 1571882734.718 global_batch_size: {"value": 960, "metadata": {}}', "fact", {"samples_per_step": 960}
        ),
        Sample(":::MLL 1571882734.718 seed: {}", "chatter"),
        Sample("Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.212", "chatter"),
        Sample("Loading and preparing results...", "chatter"),
    ),
)
