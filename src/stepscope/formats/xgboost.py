"""XGBoost's rounds, from Python, R or its own program: what each watched set scores after the round, and no time."""

from stepscope.lines.format import Clock, Format, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"
_SCORE = rf"[\w.]{{1,60}}-[\w@.-]{{1,60}}:{_NUMBER}(?:\+{_NUMBER})?"  # cv() adds the deviation after a plus
_WATCHED = rf"(?=[^\n]{{0,400}}?\b(?:val|eval|test|dev|hold)[\w.]{{0,40}}-[\w@.-]{{1,60}}:(?P<val_loss>{_NUMBER}))?"

FORMAT = Format(
    title="XGBoost",
    url="https://github.com/dmlc/xgboost",
    lines=(
        Line(
            "step",
            rf"\[(?P<step>\d+)\]\s+{_WATCHED}[\w.]{{1,60}}-[\w@.-]{{1,60}}:(?P<loss>{_NUMBER})(?:\+{_NUMBER})?"
            rf"(?:\s+{_SCORE})*\s*$",
        ),
        # Its own program names the time of day, and without watched sets nothing else.
        Line(
            "step",
            r"\[(?P<stamp>\d\d:\d\d:\d\d)\] +\[(?P<step>\d+)\]"
            r"(?:\s{1,8}[^\s\-:]{1,40}-[^\s:]{1,60}:[-+.\w]{1,30})*\s*$",
        ),
        Line(
            "chatter",
            r"Will train until [\w.-]{1,60}-[\w@.-]{1,60} hasn't improved in \d+ rounds|Stopping\. Best iteration:",
        ),
        Line(
            "chatter",
            r"(?:(?:WARNING|INFO|DEBUG): )?(?:\S{0,200}/)?(?:src/|learner\.cc|amalgamation/)\S{0,200}:\d+: "
            r"|\d+x\d+ matrix with \d+ entries loaded from ",
        ),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="XGBoost prints no time: the timestamps that a logger puts before its lines are the clock, and scoring "
        "the watched sets is inside. A step is a boosting round; the number of rounds is not printed.",
    ),
    samples=(
        Sample(
            "[12]\ttrain-rmse:0.50311\tvalid-rmse:0.61207",
            "step",
            {"step": 12, "loss": 0.50311, "val_loss": 0.61207},
        ),
        Sample("[0]\ttrain-auc:0.70312+0.00211\ttest-auc:0.69871+0.01035", "step", {"step": 0, "val_loss": 0.69871}),
        Sample("[7]\ttrain-mlogloss:1.0412", "step", {"step": 7, "loss": 1.0412, "val_loss": None}),
        Sample("[300] validation_0-ndcg@10:0.41", "step", {"step": 300, "val_loss": 0.41}),
        Sample("[10:21:07] [12]", "step", {"step": 12}),
        Sample("[10:21:07] [12]\ttest-error:0.31", "step", {"step": 12}),
        Sample("Stopping. Best iteration:", "chatter"),
        Sample("src/tree/updater_prune.cc:74: tree pruning end, 1 roots, 12 extra nodes", "chatter"),
        Sample("[12]\ttrain-rmse:0.50311\tvalid-rm", None),  # cut mid-write
        Sample("[12] train loss: 0.5", None),
    ),
)
