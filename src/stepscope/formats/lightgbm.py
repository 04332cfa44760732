"""LightGBM from Python and R: what each evaluation set scores after a round, and no time."""

from stepscope.lines.format import Clock, Format, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"
_SCORE = rf"[\w.]{{1,60}}'s [\w@.-]{{1,60}}: ?{_NUMBER}(?: \+ {_NUMBER})?"  # cv() adds the deviation after a plus
_VALID = rf"(?=[^\n]{{0,400}}?\b(?!train)[\w.]{{1,60}}'s [\w@.-]{{1,60}}: ?(?P<val_loss>{_NUMBER}))?"

FORMAT = Format(
    title="LightGBM",
    url="https://github.com/microsoft/LightGBM",
    lines=(
        Line(
            "step",
            rf"\[(?P<step>\d+)\]:?\s+{_VALID}[\w.]{{1,60}}'s [\w@.-]{{1,60}}: ?(?P<loss>{_NUMBER})(?: \+ {_NUMBER})?"
            rf"(?:\s+{_SCORE})*\s*$",
        ),
        Line("chatter", r"Training until validation scores don't improve for \d+ rounds"),
        Line("chatter", r"(?:Early stopping, b|Did not meet early stopping\. B)est iteration is:"),
        Line("chatter", r"\[LightGBM\] \[(?:Info|Warning|Debug|Fatal)\] (?!\d[\d.]* seconds elapsed|Iteration:)"),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="From Python, LightGBM prints no time: the timestamps that a logger puts before its lines are the clock, "
        "and scoring the evaluation sets is inside. A step is a boosting round, one in `period` is printed; the number "
        "of rounds is not.",
    ),
    samples=(
        Sample(
            "[20]\ttraining's l2: 0.41177\tvalid_1's l2: 0.43212",
            "step",
            {"step": 20, "loss": 0.41177, "val_loss": 0.43212},
        ),
        Sample("[1]:\tvalid's rmse:0.512", "step", {"step": 1, "val_loss": 0.512}),
        Sample("[50]\tcv_agg's auc: 0.7121 + 0.0035", "step", {"step": 50, "loss": 0.7121}),
        Sample("Training until validation scores don't improve for 50 rounds", "chatter"),
        Sample("Did not meet early stopping. Best iteration is:", "chatter"),
        Sample("[LightGBM] [Info] Total Bins 4510", "chatter"),
        Sample("[LightGBM] [Info] 0.312 seconds elapsed, finished iteration 10", None),  # its own program
        Sample("[20]\ttraining's l2: 0.41177\tvalid_1's", None),  # cut mid-write
    ),
)
