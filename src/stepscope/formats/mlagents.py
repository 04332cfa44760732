"""Unity ML-Agents: a summary per behaviour with a running clock."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

FORMAT = Format(
    title="Unity ML-Agents",
    url="https://github.com/Unity-Technologies/ml-agents",
    lines=(
        Line("step", r"(?:\[INFO\] )?[\w .?=-]{1,80}\. Step: (?P<step>\d+)\. Time Elapsed: (?P<elapsed_s>[\d.]+) s\."),
        Line("checkpoint", r"(?:\[INFO\] )?Exported (?P<path>\S+\.(?:onnx|nn))"),
        Line(
            "resume",
            r"(?:\[INFO\] )?Resuming (?:from (?P<path>\S+)\.|training from step (?P<resumed_step>\d+))",
        ),
        Line("start", r"(?:\[INFO\] )?Hyperparameters for behavior name "),
        Line("fact", r"max_steps:\s+(?P<total>\d+)"),
        Line(
            "chatter",
            r"(?!max_steps)[a-z_]{2,40}:(?:\s+\S+)?\s*$|\[INFO\] (?:Listening|Connected|Learning was|Copied|Removed)",
        ),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="Seconds since this process began, waiting for the environment included. A step is one decision of an "
        "agent, thousands of which lie between two lines. max_steps stands among the settings at the top; no ETA is "
        "printed.",
        restarts_with="process",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample(
            "[INFO] Walker. Step: 90000. Time Elapsed: 212.401 s. Mean Reward: 3.120. Std of Reward: 1.2. Training.",
            "step",
            {"step": 90000, "elapsed_s": 212.401},
        ),
        Sample("Walker. Step: 120000. Time Elapsed: 281.090 s. No episode was completed", "step", {"step": 120000}),
        Sample("[INFO] Exported results/a/Walker/Walker-499921.onnx", "checkpoint"),
        Sample("[INFO] Resuming from results/a/Walker.", "resume", {"path": "results/a/Walker"}),
        Sample("[INFO] Hyperparameters for behavior name Walker:", "start"),
        Sample("max_steps:\t2000000", "fact", {"total": 2000000}),
        Sample("learning_rate:\t0.0003", "chatter"),
        Sample("Walker. Step: 90000. Time Elapsed: 21", None),  # cut mid-write
    ),
)
