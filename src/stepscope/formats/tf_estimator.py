"""TensorFlow's Estimator and what was built on it (tensor2tensor, BERT, TF 1 object detection)."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:e[-+]?\d++)?|nan|inf)"
_EXTRA = r"(?:, (?!step = )[\w/ .-]{1,80} = [^,()]{1,80}){0,8}"

FORMAT = Format(
    title="TensorFlow Estimator",
    url="https://github.com/tensorflow/estimator",
    lines=(
        # The first line of a process has no time: nothing came before it.
        Line(
            "step",
            rf"loss = (?P<loss>{_NUMBER}){_EXTRA}+, step = (?P<step>\d+){_EXTRA}(?: \((?P<dur_s>[\d.]+) sec\))?\s*$",
        ),
        Line(
            "evaluation",
            rf"Saving dict for global step (?P<step>\d+): (?:.{{0,2000}}?\bloss = (?P<val_loss>{_NUMBER}))?",
        ),
        Line("checkpoint", r"(?:\d+\.\.\.)?Saving checkpoints for (?P<step>\d+) into (?P<path>\S+?)\.{0,3}\s*$"),
        Line("fact", r"\s*Num steps = (?P<total>\d+)\s*$"),
        Line("resume", r"Restoring parameters from (?P<path>\S+)"),
        Line("start", r"Calling model_fn\.|Create CheckpointSaverHook\."),
        Line(
            "chatter", r"(?:global_step|examples)/sec: |Done (?:calling model_fn|running local_init_op)\.|Graph was fin"
        ),
        # TensorFlow 2 says how long as well.
        Line("fact", r"Starting evaluation at (?P<began>\d{4}-\d\d-\d\d[-T]\d\d:\d\d:\d\dZ?)"),
        Line("fact", r"Inference Time ?: (?P<dur_s>[\d.]+)s"),
        Line("fact", r"Finished evaluation at (?P<ended>\d{4}-\d\d-\d\d[-T]\d\d:\d\d:\d\dZ?)"),
        Line("chatter", r"Running local_init_op\.|Evaluation \["),
        Line(
            "chatter",
            r"Loss for final step: |Calling checkpoint listeners|Skip the current checkpoint|Skipping training",
        ),
        Line("chatter", r"Using config: \{|Using default config|(?:Enqueue|Dequeue) next|Saving '?checkpoint_path'?"),
    ),
    clock=Clock(
        covers="window",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The seconds since the line before, of all its steps together; where the same process saves and "
        "evaluates, that is inside. global_step/sec is the same clock as a rate. BERT states the total in its header; "
        "no ETA is printed.",
        is_sum=True,
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample("loss = 2.7712, step = 1", "step", {"step": 1, "dur_s": None}),
        Sample("loss = 0.41210, step = 301 (9.118 sec)", "step", {"step": 301, "loss": 0.4121, "dur_s": 9.118}),
        Sample("loss = 0.4, step = 301, precision = 0.71 (9.118 sec)", "step", {"step": 301, "dur_s": 9.118}),
        Sample(
            "Saving dict for global step 500: accuracy = 0.812, global_step = 500, loss = 0.5512",
            "evaluation",
            {"step": 500, "val_loss": 0.5512},
        ),
        Sample("Saving checkpoints for 500 into out/model.ckpt.", "checkpoint", {"step": 500}),
        Sample("  Num steps = 5468", "fact", {"total": 5468}),
        Sample("Restoring parameters from out/model.ckpt-500", "resume", {"path": "out/model.ckpt-500"}),
        Sample("Calling model_fn.", "start"),
        Sample("global_step/sec: 10.967", "chatter"),
        Sample("Starting evaluation at 2019-05-04-10:11:12", "fact"),
        Sample("Inference Time : 3.25112s", "fact", {"dur_s": 3.25112}),
        Sample("Finished evaluation at 2019-05-04-10:11:15", "fact"),
        Sample("Running local_init_op.", "chatter"),
        Sample("Loss for final step: 0.41.", "chatter"),
        Sample("Using config: {'_model_dir': 'out'}", "chatter"),
        Sample("loss = 0.41210, step = 301 (9.1", None),  # cut mid-write
        Sample("loss = 0.4, epoch = 3", None),
    ),
)
