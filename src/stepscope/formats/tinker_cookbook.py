"""Tinker's cookbook: a table in a frame per batch, whose rows `time/...` say what its parts took."""

from stepscope.lines.format import Clock, Controls, Format, Layout, Line, Sample

FORMAT = Format(
    title="Tinker cookbook",
    url="https://github.com/thinking-machines-lab/tinker-cookbook",
    lines=(
        # The title of the frame; its last rows, in the order of the alphabet, are the times.
        Line("fact", r"^Step (?P<step>\d+)$", weak=True),
        Line("evaluation", r"│ time/run_evals +│ (?P<took_s>[\d.]+) +│"),
        Line("checkpoint", r"│ time/save_checkpoint +│ (?P<took_s>[\d.]+) +│"),
        Line("step", r"│ time/total +│ (?P<dur_s>[\d.]+) +│"),
        Line("fact", r".{0,200}Will train on (?P<total>\d+) batches"),
        Line("chatter", r"│ (?!time/(?:run_evals|save_checkpoint|total) )[\w/.…@-]{1,60} +│ \S{1,40} +│"),
        Line("chatter", r"[┏┡└┃╇┳┴━─┩┓┘╈]{3,400}|┃ Metric +┃ Value +┃"),
    ),
    clock=Clock(
        covers="step",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="time/total is one batch as a whole: sampling, training, evaluation and saving.",
    ),
    layout=Layout(first_step=0),
    controls=Controls(
        settable={"eval_interval": "eval_every", "checkpoint_interval": "save_every"}, syntax="{name}={value}"
    ),
    samples=(
        Sample("Step 12", "fact", {"step": 12}),
        Sample("│ time/run_evals                 │ 301.250000  │", "evaluation", {"took_s": 301.25}),
        Sample("│ time/save_checkpoint           │ 2.750000    │", "checkpoint", {"took_s": 2.75}),
        Sample("│ time/total                     │ 418.500000  │", "step", {"dur_s": 418.5}),
        Sample("tinker_cookbook.rl.train:1104 [INFO] Will train on 60 batches", "fact", {"total": 60}),
        Sample("│ optim/lr                       │ 0.000040    │", "chatter"),
        Sample("┃ Metric                         ┃ Value       ┃", "chatter"),
        Sample("┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━┓", "chatter"),
        Sample("## Step 1: Count the apples", None),
        Sample("time/total 418.5", None),
    ),
)
