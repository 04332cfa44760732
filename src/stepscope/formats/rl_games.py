"""rl_games, the trainer of Isaac Gym: a line per epoch with three rates and the frames so far."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

FORMAT = Format(
    title="rl_games",
    url="https://github.com/Denys88/rl_games",
    lines=(
        Line(
            "step",
            r"fps step: [\d.]+ +fps step and policy inference: [\d.]+ +fps total: (?P<samples_per_s>[\d.]+) "
            r"+epoch: (?P<step>\d+)(?:/(?P<total>\d+))? +frames: (?P<samples_done>\d+)(?:/(?P<samples_total>\d+))?\s*$",
        ),
        Line("checkpoint", r"=> saving checkpoint '(?P<path>[^']+)'"),
        Line("resume", r"=> loading checkpoint '(?P<path>[^']+)'"),
        Line("start", r"Started to train\s*$"),
        Line("chatter", r"saving next best rewards: |MAX (?:EPOCHS|FRAMES) NUM!|build mlp: |RunningMeanStd: "),
    ),
    clock=Clock(
        covers="step",
        includes=("data",),
        note="The frames of one epoch (collecting experience in all environments, then learning from it) divided by "
        "fps total. How many frames an epoch has is the difference between two lines, so the first line of a process "
        "has no time. Saving is outside. max_epochs stands behind the slash; no ETA is printed.",
    ),
    layout=Layout(first_step=1, events_follow_step=True),
    samples=(
        Sample(
            "fps step: 61210 fps step and policy inference: 52100 fps total: 40960 epoch: 12/300 frames: 720896",
            "step",
            {"step": 12, "total": 300, "samples_per_s": 40960, "samples_done": 720896},
        ),
        Sample(
            "fps step: 61210 fps step and policy inference: 52100 fps total: 40960 epoch: 12 frames: 720896/9000000",
            "step",
            {"step": 12, "samples_done": 720896, "samples_total": 9000000},
        ),
        Sample("=> saving checkpoint 'runs/Cartpole/nn/Cartpole.pth'", "checkpoint"),
        Sample("=> loading checkpoint 'runs/Cartpole/nn/Cartpole.pth'", "resume"),
        Sample("Started to train", "start"),
        Sample("saving next best rewards:  [412.1]", "chatter"),
        Sample("fps step: 61210 fps step and policy inference: 52100 fps tot", None),  # cut mid-write
    ),
)
