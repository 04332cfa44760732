"""RecBole, and the recommenders that copied its trainer: a line per epoch and one per evaluation, both with seconds."""

from stepscope.lines.format import Clock, Controls, Format, Habits, Layout, Line, Sample

_NUMBER = r"[-+]?(?:\d[\d.]*+(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="RecBole",
    url="https://github.com/RUCAIBox/RecBole",
    lines=(
        Line(
            "step",
            r"epoch (?P<step>\d+) training \[time: (?P<dur_s>[\d.]+)s, "
            rf"(?:train[ _]loss\d*: (?P<loss>{_NUMBER})[^\]]{{0,400}})?\]\s*$",
        ),
        Line(
            "evaluation", rf"epoch (?P<step>\d+) evaluating \[time: (?P<took_s>[\d.]+)s, valid_score: {_NUMBER}\]\s*$"
        ),
        Line("checkpoint", r"Saving current(?: best)?: (?P<path>\S+)"),
        Line("resume", r"Checkpoint loaded\. Resume training from epoch (?P<resumed_step>\d+)"),
        Line("fact", r"epochs ?= ?(?P<total>\d+)\s*$"),
        Line("setting", r"(?P<key>eval_step|train_batch_size|stopping_step) ?= ?(?P<value>\d+)\s*$"),
        Line("chatter", r"(?:Train|Evaluate)\s+(?:\d+\s*)?: +\d{1,3}%\|"),
        Line("chatter", r"(?:valid|test) result: ?|(?:[\w-]+@\d+|auc|rmse|mae|logloss) ?: ?[\d.]+(?:\s|$)"),
        Line("chatter", r"Finished training, best eval result in epoch \d+|best valid ?: |(?:best )?test result: "),
    ),
    clock=Clock(
        covers="step",
        includes=("data", "logging"),
        note="The time of training one epoch, which is the step here; an evaluation has a line of its own with its own "
        "time, and saving comes after both. The number of epochs is in the settings printed at the start; training "
        "may stop before, when the valid score has not improved for stopping_step evaluations.",
    ),
    layout=Layout(events_follow_step=True),
    habits=Habits(kept_checkpoints=1),
    controls=Controls(
        names={"eval_step": "eval_interval", "train_batch_size": "batch_size"},
        settable={"eval_interval": "eval_step", "max_steps": "epochs", "batch_size": "train_batch_size"},
        syntax="--{name}={value}",
    ),
    samples=(
        Sample(
            "epoch 14 training [time: 21.80s, train loss: 118.2210]",
            "step",
            {"step": 14, "dur_s": 21.8, "loss": 118.221},
        ),
        Sample(
            "epoch 3 training [time: 9.05s, train_loss1: 11.2, train_loss2: 0.4]", "step", {"step": 3, "loss": 11.2}
        ),
        Sample("epoch 14 evaluating [time: 3.12s, valid_score: 0.141200]", "evaluation", {"step": 14, "took_s": 3.12}),
        Sample("Saving current best: saved/LightGCN.pth", "checkpoint", {"path": "saved/LightGCN.pth"}),
        Sample("Checkpoint loaded. Resume training from epoch 12", "resume", {"resumed_step": 12}),
        Sample("epochs = 400", "fact", {"total": 400}),
        Sample("eval_step = 2", "setting", {"key": "eval_step", "value": "2"}),
        Sample("Train    12:  40%|████      | 30/75 [00:04<00:06,  7.10it/s]", "chatter"),
        Sample("recall@20 : 0.1512    mrr@20 : 0.0611", "chatter"),
        Sample("Finished training, best eval result in epoch 41", "chatter"),
        Sample("epoch 14 training [time: 21.8", None),  # cut mid-write
        Sample("epoch 14 training loss 118.2", None),
    ),
)
