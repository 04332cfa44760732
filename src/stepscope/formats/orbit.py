"""Orbit, the controller of TensorFlow's model garden: a rate rounded to a tenth, so the timestamps are the clock."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:e[-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="TensorFlow model garden (Orbit)",
    url="https://github.com/tensorflow/models/tree/master/orbit",
    lines=(
        Line("step", r"train \| step: +(?P<step>\d+) \| steps/sec: +(?P<it_per_s>[\d.]+) \| output:"),
        # The outputs, a line each.
        Line("step", rf"(?:\{{'|')(?:training|total)_loss': (?P<loss>{_NUMBER})[,}}]\s*$", weak=True),
        Line(
            "evaluation",
            r"eval \| step: +(?P<step>\d+) \| (?:steps/sec: +[\d.]+ \| )?eval time: +(?P<took_s>[\d.]+) sec \| output:",
        ),
        Line("checkpoint", r"saved checkpoint to (?P<path>\S+?)\.?\s*$"),
        Line("resume", r"restored (?:model )?from (?:checkpoint: )?(?P<path>\S+?)\.?\s*$"),
        Line("chatter", r"train \| step: +\d+ \| training until step \d+|eval \| step: +\d+ \| running "),
        Line("chatter", r"restoring or initializing model|initialized model|restoring model from "),
        Line("chatter", rf"\{{?'(?!(?:training|total)_loss')[^']{{1,80}}': (?:{_NUMBER}[,}}]\s*$|\{{|array\()"),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The timestamps of the lines, which contain everything. steps/sec is the mean since the line before, an "
        "evaluation or a save in between included, rounded to a tenth: below one step a second it says little, and it "
        "is the clock only where no line has a timestamp. `training until step` names the next evaluation, not the "
        "end of the run. Each line goes to the log, with a timestamp, and to the terminal, without.",
    ),
    layout=Layout(first_step=1, events_follow_step=True),
    samples=(
        Sample("train | step:   2400 | steps/sec:   14.2 | output:", "step", {"step": 2400, "it_per_s": 14.2}),
        Sample("train | step:     40 | steps/sec:    0.3 | output: {'loss': 1.5}", "step", {"step": 40}),
        Sample("'training_loss': 0.8125}", "step", {"loss": 0.8125}),
        Sample("eval | step:   2400 | eval time:   31.2 sec | output:", "evaluation", {"step": 2400, "took_s": 31.2}),
        Sample(
            "eval | step:   2400 | steps/sec:    4.1 | eval time:   24.4 sec | output:", "evaluation", {"took_s": 24.4}
        ),
        Sample("saved checkpoint to /tmp/out/ckpt-2400.", "checkpoint", {"path": "/tmp/out/ckpt-2400"}),
        Sample("restored from checkpoint: /tmp/out/ckpt-2400", "resume", {"path": "/tmp/out/ckpt-2400"}),
        Sample("train | step:   2400 | training until step 4800...", "chatter"),
        Sample("restoring or initializing model...", "chatter"),
        Sample("{'learning_rate': 0.00031,", "chatter"),
        Sample("train | step:   2400 | steps/sec:   14.", None),  # cut mid-write
        Sample("{'loss': 2.1, 'learning_rate': 0.001, 'epoch': 0.2}", None),
        Sample("train | epoch 002 | loss 6.648 | wps 319534 | num_updates 3611", None),  # fairseq
    ),
)
