"""Hugging Face's example scripts without bars and without losses: what is left are the checkpoints, at their steps."""

from stepscope.formats._shared.hf import HEAD, NUMBER
from stepscope.formats.hf_trainer import FORMAT as _WITH_BARS
from stepscope.lines.format import Clock, Format, Layout, Line, Sample

FORMAT = Format(
    title="Hugging Face scripts by their checkpoints",
    url=_WITH_BARS.url,
    lines=(
        # Where anything else counts the steps, these lines are the checkpoints of that log.
        Line(
            "step",
            rf"{HEAD}(?:Saving model checkpoint to|Saved state to) \S*?checkpoint[-_](?P<step>\d+)/?\s*$",
            weak=True,
        ),
        Line("step", rf"{HEAD}global_step = (?P<step>\d+), average loss = ", weak=True),
        # Where losses are printed hardly more often, they belong to the step saved last.
        Line("step", rf"{HEAD}\{{(?:[^{{}}]{{0,4000}}?, )?'loss': '?(?P<loss>{NUMBER})", weak=True),
        *(line._replace(weak=True) for line in _WITH_BARS.lines if line.kind not in {"step", "checkpoint"}),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The timestamps of the checkpoints are the clock, so writing each of them is inside. Nothing else that is "
        "printed has a step.",
    ),
    layout=Layout(first_step=1),
    habits=_WITH_BARS.habits,
    controls=_WITH_BARS.controls,
    samples=(
        Sample("Saving model checkpoint to out/squad/checkpoint-150", "step", {"step": 150}),
        Sample("global_step = 2200, average loss = 0.5131", "step", {"step": 2200}),
        Sample("{'loss': 1.25, 'learning_rate': 2e-05, 'epoch': 1.5}", "step", {"loss": 1.25}),
        Sample("Saving model checkpoint to out/squad", None),
        *(sample for sample in _WITH_BARS.samples if sample.kind not in {"step", "checkpoint", None}),
    ),
)
