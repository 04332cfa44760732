"""Joey NMT: timestamps on every line; validation decodes whole sentences and says how long that took."""

from stepscope.lines.format import Clock, Controls, EvaluationHabits, Format, Habits, Layout, Line, Sample

_SETTINGS = r"cfg\.training\.(?P<key>validation_freq|logging_freq|updates|batch_multiplier) +: (?P<value>\d+)"
_OWN = (
    r"Epoch +\d+,? Step: |Validation result|Evaluation result|Checkpoint saved in |Loading model from |Total params: "
    r"|Number of parameters: |cfg\.training\.(?:validation_freq|logging_freq|updates|batch_multiplier) "
)
_LOG = r"(?:joeynmt\.\w+ - +)?"
_NUMBER = r"(?:[-+]?[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="Joey NMT",
    url="https://github.com/joeynmt/joeynmt",
    lines=(
        Line(
            "step",
            rf"{_LOG}Epoch +\d+,? Step: +(?P<step>\d+),? Batch Loss: +(?P<loss>{_NUMBER}),? "
            r"(?:Batch Acc: +[\d.]+, )?Tokens per Sec: +(?P<tokens_per_s>\d+),? Lr: ",
        ),
        # Version 1 names the step, version 2 does not.
        Line(
            "evaluation",
            rf"{_LOG}Validation result(?: \([^)]*\))? at epoch +\d+, step +(?P<step>\d+): "
            r".{0,200}?duration: (?P<took_s>[\d.]+)s",
        ),
        Line("evaluation", rf"{_LOG}Evaluation result \([^)]*\):? .{{0,200}}?generation: (?P<took_s>[\d.]+)\[sec\]"),
        Line("checkpoint", rf"{_LOG}Checkpoint saved in (?P<path>\S+?)\.?\s*$"),
        Line("resume", rf"{_LOG}Loading model from (?P<path>\S+\.ckpt)"),
        Line("start", r"(?:root - )?Hello! This is Joey-NMT"),
        Line("fact", rf"{_LOG}(?:Total params|Number of parameters): (?P<parameters>\d+)"),
        Line("setting", _LOG + _SETTINGS),
        Line("chatter", rf"joeynmt\.\w+ - +(?! |{_OWN})|Hooray! New best validation result \[|Example #\d+\s*$"),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The timestamps of the lines, which contain everything. The rate of tokens is that of the updates alone: "
        "validation is not in it. A validation decodes the development set and prints how long that took; it is "
        "longest in the beginning, before the model has learned to end its sentences. No total and no ETA is printed.",
    ),
    layout=Layout(events_follow_step=True, first_step=1),
    habits=Habits(evaluation=EvaluationHabits(generates_text=True)),
    controls=Controls(
        names={
            "validation_freq": "eval_interval",
            "logging_freq": "log_interval",
            "updates": "max_steps",
            "batch_multiplier": "gradient_accumulation_steps",
        },
        settable={
            "eval_interval": "training.validation_freq",
            "log_interval": "training.logging_freq",
            "max_steps": "training.updates",
            "gradient_accumulation_steps": "training.batch_multiplier",
            "keep_saves": "training.keep_best_ckpts",
        },
        syntax="{name}: {value}",
    ),
    samples=(
        Sample(
            "Epoch   3, Step:     2400, Batch Loss:     2.310447, Batch Acc: 0.341207, Tokens per Sec:    11872, "
            "Lr: 0.000300",
            "step",
            {"step": 2400, "loss": 2.310447, "tokens_per_s": 11872},
        ),
        Sample(
            "Epoch   3 Step:     2400 Batch Loss:     2.310447 Tokens per Sec:    11872, Lr: 0.000300",
            "step",
            {"step": 2400},
        ),
        Sample(
            "Validation result (greedy) at epoch   3, step     2500: bleu:   9.41, loss: 61204.2, ppl:  17.2, "
            "duration: 48.2210s",
            "evaluation",
            {"step": 2500},
        ),
        Sample(
            "Evaluation result (greedy) loss:   2.91, ppl:  18.31, acc:   0.31, generation: 38.2210[sec], "
            "evaluation: 0.0000[sec]",
            "evaluation",
        ),
        Sample("Checkpoint saved in models/toy/2500.ckpt.", "checkpoint", {"path": "models/toy/2500.ckpt"}),
        Sample("Loading model from models/toy/2500.ckpt", "resume"),
        Sample("Hello! This is Joey-NMT (version 2.3.0).", "start"),
        Sample("Total params: 4981248", "fact", {"parameters": 4981248}),
        Sample("cfg.training.validation_freq : 500", "setting", {"key": "validation_freq", "value": "500"}),
        Sample("joeynmt.helpers -        cfg.training.updates : 9000", "setting", {"key": "updates", "value": "9000"}),
        Sample("joeynmt.training - EPOCH 4", "chatter"),
        Sample("Hooray! New best validation result [ppl]!", "chatter"),
        Sample("Example #2", "chatter"),
        Sample("Epoch   3, Step:     2400, Batch Loss:     2.310447, Batch Acc: 0.34", None),  # cut mid-write
    ),
)
