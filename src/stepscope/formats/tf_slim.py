"""TF-Slim's training loop, which the first object detection API used: every line has the time of its own step."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

FORMAT = Format(
    title="TF-Slim",
    url="https://github.com/google-research/tf-slim",
    lines=(
        Line(
            "step",
            r"global step (?P<step>\d+): loss = (?P<loss>[-+\d.e]+|nan|inf) \((?P<dur_s>[\d.]+) sec(?:/step|\))",
        ),
        Line("checkpoint", r"Saving checkpoint to path (?P<path>\S+)"),
        Line("start", r"Starting Queues\."),
        Line("resume", r"Restoring parameters from (?P<path>\S+)"),
        Line("chatter", r"Recording summary at step |global_step/sec: |Starting Session\.|Running local_init_op"),
    ),
    clock=Clock(
        covers="step",
        includes=("data",),
        note="The time of one step, the printed one; saving and summaries are done by threads of their own beside it, "
        "and evaluation by another program. Neither a total nor an ETA is printed.",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample(
            "global step 412: loss = 3.1207 (0.481 sec/step)", "step", {"step": 412, "loss": 3.1207, "dur_s": 0.481}
        ),
        Sample("global step 412: loss = 3.1207 (0.48 sec)", "step", {"dur_s": 0.48}),
        Sample("Saving checkpoint to path training/model.ckpt", "checkpoint", {"path": "training/model.ckpt"}),
        Sample("Starting Queues.", "start"),
        Sample("Restoring parameters from training/model.ckpt-412", "resume"),
        Sample("Recording summary at step 400.", "chatter"),
        Sample("global step 412: loss = 3.1207 (0.4", None),  # cut mid-write
    ),
)
