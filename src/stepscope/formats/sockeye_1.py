"""Sockeye 1: a line every fifty batches with the rates since the line before, between two checkpoints."""

from stepscope.lines.format import Clock, Controls, Format, Layout, Line, Sample

_NUMBER = r"(?:[-+]?[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"
_HEAD = r"(?:sockeye[\w.]{0,60}+:\w{1,60}+\] )?+"  # behind `[2019-02-03:04:05:06:INFO:`

FORMAT = Format(
    title="Sockeye 1",
    url="https://github.com/awslabs/sockeye",
    lines=(
        Line(
            "step",
            rf"{_HEAD}Epoch\[\d+\] Batch \[(?P<step>\d+)\]\s+Speed: [\d.]+ samples/sec [\d.]+ tokens/sec "
            rf"(?P<it_per_s>[\d.]+) updates/sec(?:\s+[\w-]+=(?P<loss>{_NUMBER}))?",
        ),
        Line(
            "evaluation",
            rf"{_HEAD}Checkpoint \[\d++\]\s++(?>.{{0,200}}?\bValidation-)[\w-]{{1,40}}=(?P<val_loss>{_NUMBER})",
        ),
        Line("checkpoint", rf'{_HEAD}Saved params\S{{0,40}} to "(?P<path>[^"]+)"'),
        Line("start", rf"{_HEAD}(?:Training started\.|Sockeye version )"),
        Line(
            "chatter", rf"{_HEAD}Checkpoint \[\d++\]\s++(?!.{{0,200}}?\bValidation-)(?:Train-|Time-cost|Speed|Updates=)"
        ),
        Line("chatter", r"sockeye[\w.]{0,60}:\w{1,60}\] (?!Epoch|Checkpoint|Saved params|Training st|Sockeye)"),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The moments before the lines: the difference of two holds the checkpoint and its validation between "
        "them. Without moments, updates/sec is the mean since the line before, from the same timer. The number in "
        "brackets goes on over all epochs; --max-updates is the total, where it is given, and no ETA is printed.",
    ),
    layout=Layout(first_step=1),
    controls=Controls(
        settable={"max_steps": "max-updates", "eval_interval": "checkpoint-interval"}, syntax="--{name} {value}"
    ),
    samples=(
        Sample(
            "sockeye.callback:__call__] Epoch[2] Batch [4150]\tSpeed: 512.20 samples/sec "
            "11930.11 tokens/sec 5.11 updates/sec\tperplexity=21.702000",
            "step",
            {"step": 4150, "it_per_s": 5.11, "loss": 21.702},
        ),
        Sample(
            "sockeye.training:_log] Checkpoint [3]\tValidation-perplexity=18.2",
            "evaluation",
            {"val_loss": 18.2},
        ),
        Sample("Checkpoint [3]\tTrain-perplexity=21.0\tValidation-perplexity=18.2", "evaluation", {"val_loss": 18.2}),
        Sample('sockeye.training:s] Saved params to "m/params.00003"', "checkpoint"),
        Sample("sockeye.training:fit] Training started.", "start"),
        Sample("Checkpoint [3]\tTrain-perplexity=21.0", "chatter"),
        Sample("sockeye.utils:log_mxnet_version] MXNet version 1.5", "chatter"),
        Sample("Epoch[0] Batch [50]\tSpeed: 512.20 samples/sec\taccuracy=0.4", None),  # MXNet's own
    ),
)
