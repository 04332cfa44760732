"""MiniMind, from pretraining to DPO: the only time on its lines is how many minutes of the epoch are left."""

from stepscope.lines.format import Clock, Controls, Format, Habits, Layout, Line, Sample

_NUMBER = r"[-+]?(?:\d[\d.]*+(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="MiniMind",
    url="https://github.com/jingyaogong/minimind",
    lines=(
        Line(
            "step",
            r"Epoch:\[(?P<epoch>\d+)/(?P<epochs>\d+)\]\((?P<batch>\d+)/(?P<batches>\d+)\),? "
            rf"(?:(?!loss)[\w ]{{1,30}}: ?{_NUMBER},? ){{0,4}}loss: ?(?P<loss>{_NUMBER})"
            rf"(?:,? [\w ]{{1,30}}: ?{_NUMBER}){{0,8}}?,? epoch_[Tt]ime: ?(?P<left_min>-?[\d.]+) ?min",
        ),
        Line("chatter", r"Epoch:\[\d+/\d+\]\(\d+/\d+\),? (?!.{0,400}epoch_[Tt]ime)"),  # without any time
        Line("chatter", r"(?:LLM|Model|MiniMind)\S{0,40}(?:总参数量|Params?|Trainable Params)\s?[:\uff1a]"),
    ),
    clock=Clock(
        covers="step",
        includes=("checkpoint", "data", "logging"),
        note="The mean time of a step since the epoch began, by the whole minutes that are left of the epoch and the "
        "steps they are for. Programs whose first row is batch 0 cut the time of all and what has passed apart, "
        "and are good to a few percent while many minutes are left; those that count from 1 cut the time left as a "
        "whole, and each line on which it falls tells the mean. Saving is inside; nothing is evaluated.",
    ),
    layout=Layout(first_step=1, first_epoch=1),
    habits=Habits(kept_checkpoints=1),
    controls=Controls(
        settable={
            "checkpoint_interval": "save_interval",
            "log_interval": "log_interval",
            "batch_size": "batch_size",
            "gradient_accumulation_steps": "accumulation_steps",
            "num_workers": "num_workers",
        },
        syntax="--{name} {value}",
    ),
    samples=(
        Sample(
            "Epoch:[1/2](300/9000) loss:6.512 lr:0.000550000000 epoch_Time:41.0min:",
            "step",
            {"epoch": 1, "epochs": 2, "batch": 300, "batches": 9000, "loss": 6.512, "left_min": 41},
        ),
        Sample(
            "Epoch:[2/2](900/9000), loss: 2.1040, logits_loss: 2.1000, aux_loss: 0.0040, lr: 0.00031000, "
            "epoch_time: 12.0min",
            "step",
            {"epoch": 2, "batch": 900, "loss": 2.104, "left_min": 12},
        ),
        Sample("Epoch:[1/1](5/400), Reward:0.1000, KL:0.0100, Loss:0.2000", "chatter"),
        Sample("LLM总参数量：25.830 百万", "chatter"),
        Sample("Epoch:[1/2](300/9000", None),
        Sample("Epoch: [1][300/9000] loss: 6.512", None),
    ),
)
