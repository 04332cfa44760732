"""Caffe's solver, through glog: a moment without a year before every line, and since 2016 a time in it too."""

from stepscope.lines.format import Clock, Controls, Format, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:e[-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="Caffe",
    url="https://github.com/BVLC/caffe",
    lines=(
        # At iteration 0 the time is that of one pass, though the line says a hundred iterations.
        Line(
            "step",
            rf"Iteration (?P<step>0) \({_NUMBER} iter/s, (?P<dur_s>[\d.e-]+)s/\d+ iters?\), loss = (?P<loss>{_NUMBER})",
        ),
        Line(
            "step",
            rf"Iteration (?P<step>[1-9]\d*) \({_NUMBER} iter/s, (?P<dur_s>[\d.e+-]+)s/(?P<per_steps>\d+) iters?\), "
            rf"loss = (?P<loss>{_NUMBER})",
        ),
        Line("step", rf"Iteration (?P<step>\d+), loss = (?P<loss>{_NUMBER})"),  # before 2016: only timestamps
        Line("evaluation", r"Iteration (?P<step>\d+), Testing net \(#0\)"),
        # What a test found: with it the test is over.
        Line("evaluation", r"Test net output #0: ", weak=True),
        Line("checkpoint", r"Snapshotting to (?:binary proto|HDF5) file (?P<path>\S+\.caffemodel\S*)"),
        Line("resume", r"Restoring previous solver status from (?P<path>\S+)"),
        Line("start", r"Solving \S*\s*$"),
        Line("setting", r"(?P<key>max_iter|test_iter|test_interval|display|snapshot|iter_size): (?P<value>\d+)"),
        Line(
            "chatter",
            r"Train net output #\d+: |Test net output #[1-9]|Iteration \d+, lr = |Iteration \d+, Testing net \(#[1-9]",
        ),
        Line(
            "chatter", r"Snapshotting solver state to |Learning Rate Policy: |Optimization Done|Ignoring source layer"
        ),
        Line("chatter", r"(?:Creating|Setting up|Top shape|Memory required|Network initialization|Restarting data) ?"),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The moments before the lines: the difference of two holds everything between them, tests and snapshots "
        "included, as do the seconds of the display interval, printed since 2016 and taken where lines have no moment. "
        "max_iter stands in the solver's parameters at the top; no ETA is printed. The number of an iteration counts "
        "those done before it.",
    ),
    controls=Controls(
        names={
            "max_iter": "max_steps",
            "test_interval": "eval_interval",
            "test_iter": "eval_iters",
            "display": "log_interval",
            "snapshot": "checkpoint_interval",
            "iter_size": "gradient_accumulation_steps",
        },
        settable={
            "eval_interval": "test_interval",
            "eval_iters": "test_iter",
            "checkpoint_interval": "snapshot",
            "log_interval": "display",
            "max_steps": "max_iter",
            "gradient_accumulation_steps": "iter_size",
        },
        syntax="{name}: {value}",
    ),
    samples=(
        Sample("Iteration 0 (-nan iter/s, 0.3121s/50 iters), loss = 7.01", "step", {"step": 0, "dur_s": 0.3121}),
        Sample(
            "Iteration 450 (2.91 iter/s, 17.18s/50 iters), loss = 2.3011",
            "step",
            {"step": 450, "dur_s": 17.18, "per_steps": 50, "loss": 2.3011},
        ),
        Sample("Iteration 450, loss = 2.3011", "step", {"step": 450, "loss": 2.3011}),
        Sample("Iteration 500, Testing net (#0)", "evaluation", {"step": 500}),
        Sample("Test net output #0: accuracy = 0.431", "evaluation"),
        Sample("Test net output #1: loss = 2.31 (* 1 = 2.31 loss)", "chatter"),
        Sample(
            "Snapshotting to binary proto file snap/net_iter_500.caffemodel",
            "checkpoint",
            {"path": "snap/net_iter_500.caffemodel"},
        ),
        Sample("Restoring previous solver status from snap/net_iter_500.solverstate", "resume"),
        Sample("Solving CaffeNet", "start"),
        Sample("max_iter: 45000", "setting", {"key": "max_iter", "value": "45000"}),
        Sample("Train net output #0: loss = 2.3011 (* 1 = 2.3011 loss)", "chatter"),
        Sample("Iteration 450, lr = 0.01", "chatter"),
        Sample("Snapshotting solver state to binary proto file snap/net_iter_500.solverstate", "chatter"),
        Sample("Creating layer conv1", "chatter"),
        Sample("Iteration 450 (2.91 iter/s, 17.1", None),  # cut mid-write
        Sample("Iteration 450: loss 2.3", None),
    ),
)
