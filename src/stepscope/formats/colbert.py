"""ColBERT: each step is a number and a loss behind the moment, which has no year."""

from stepscope.lines.format import Clock, Controls, Format, Habits, Layout, Line, Sample

_MOMENT = r"\[(?P<stamp>[A-Z][a-z]{2} \d\d, \d\d:\d\d:\d\d)\] "
_NUMBER = r"(?:\d+\.\d+(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="ColBERT",
    url="https://github.com/stanford-futuredata/ColBERT",
    lines=(
        Line("step", rf"{_MOMENT}(?P<step>\d+) (?P<loss>{_NUMBER})\s*$"),
        Line("checkpoint", r"#> Saving a checkpoint to (?P<path>\S+) \.\."),
        Line("fact", r"#> LR will use \d+ warmup steps and linear decay over (?P<total>\d+) steps"),
        Line("fact", r'"maxsteps": (?P<total>\d+),?\s*$'),
        Line("start", rf"{_MOMENT}#> (?:Starting training|Loading BSIZE)"),
        Line("chatter", r"#>>>\s+-?[\d.nainf]+\s+-?[\d.nainf]+\s+\|\s+-?[\d.nainf]+\s*$"),  # scores of a batch
        Line("chatter", rf"{_MOMENT}#> (?!Starting training|Loading BSIZE)"),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The time between the moments of two lines, in whole seconds, with everything that happened between them. "
        "The loss is a running mean. Moments have no year. No ETA is printed.",
    ),
    layout=Layout(events_follow_step=True),
    habits=Habits(kept_checkpoints=0),
    controls=Controls(
        settable={"max_steps": "maxsteps", "batch_size": "bsize", "gradient_accumulation_steps": "accumsteps"},
        syntax="{name}={value}",
    ),
    samples=(
        Sample("[Feb 03, 04:05:06] 120 3.4071248769760132", "step", {"step": 120, "loss": 3.4071248769760132}),
        Sample("[Feb 03, 04:05:06] 120", None),
        Sample("[Feb 03, 04:05:06] 120 documents", None),
        Sample("#> Saving a checkpoint to runs/a/checkpoints/colbert ..", "checkpoint"),
        Sample("#> LR will use 2000 warmup steps and linear decay over 50000 steps.", "fact", {"total": 50000}),
        Sample('"maxsteps": 50000,', "fact", {"total": 50000}),
        Sample("[Feb 03, 04:05:00] #> Starting training..", "start"),
        Sample("#>>>    12.41 11.8 \t\t|\t\t 0.6099999999999994", "chatter"),
        Sample("[Feb 03, 04:05:00] #> Loading the queries from q.tsv ...", "chatter"),
    ),
)
