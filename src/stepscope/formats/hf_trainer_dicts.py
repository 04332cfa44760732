"""Hugging Face's Trainer without its bars: standard output alone, or a job with `disable_tqdm`.

Its dicts have no step: they are counted, and how many steps lie between two of them follows from the header, or from
the summary at the end.
"""

from stepscope.formats._shared.hf import HEAD, NUMBER
from stepscope.formats.hf_trainer import FORMAT as _WITH_BARS
from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_FIELDS = r"[^{}]{0,4000}?"
_QUOTED = r"['\"]?"

FORMAT = Format(
    title="Hugging Face Trainer without bars",
    url=_WITH_BARS.url,
    lines=(
        # The rows of a log with bars are the bars, so this line alone does not tell.
        Line(
            "step",
            rf"{HEAD}\{{(?={_FIELDS}'epoch': {_QUOTED}(?P<epochs_done>[\d.]+))"
            rf"(?:(?={_FIELDS}'learning_rate': )(?:{_FIELDS}, )?|(?={_FIELDS}'grad_norm': )(?:{_FIELDS}, )?)"
            rf"'loss': {_QUOTED}(?P<loss>{NUMBER})",
            weak=True,
        ),
        *(line._replace(weak=True) for line in _WITH_BARS.lines if line.kind != "step"),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The dicts have no time. Timestamps before them, where a logger or a shell put some there, are the clock; "
        "else the mean of all steps follows from train_runtime, in the last dict, with evaluations left out. The "
        "number of steps between two dicts is logging_steps.",
    ),
    layout=Layout(first_step=1, counts_lines=True),
    habits=_WITH_BARS.habits,
    controls=_WITH_BARS.controls,
    samples=(
        Sample(
            "{'loss': 1.4071, 'grad_norm': 0.7213, 'learning_rate': 1.25e-05, 'epoch': 0.42}",
            "step",
            {"loss": 1.4071, "epochs_done": 0.42},
        ),
        Sample(
            "{'loss': '0.9142', 'grad_norm': '1.5', 'learning_rate': '2e-05', 'epoch': '0.1'}",
            "step",
            {"loss": 0.9142, "epochs_done": 0.1},
        ),
        Sample("{'loss': 0.2, 'epoch': 0.1}", None),
        *(sample for sample in _WITH_BARS.samples if sample.kind not in {"step", None}),
        Sample("12%|█▏        | 345/2800 [01:23<10:00,  4.10it/s]", None),
    ),
)
