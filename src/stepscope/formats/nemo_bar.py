"""NeMo 1: Lightning's progress bar with NeMo's own step timer. Each new state first shows the old figures."""

from stepscope.lines.format import Clock, Format, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf|NaN|Inf)"
_FIELD = r"[\w /.-]{1,40}=[^,\]]{0,24}, "
_BAR = r"Epoch \d+: : +\d+%\|[^|]{0,80}\| \d+/"
_MANAGER = r"\[NeMo I \d{4}-\d\d-\d\d \d\d:\d\d:\d\d exp_manager:\d+\] "

FORMAT = Format(
    title="NeMo 1",
    url="https://github.com/NVIDIA/NeMo",
    lines=(
        # The count before the slash runs ahead of the figures, so the step is the one that belongs to them.
        Line(
            "step",
            rf"{_BAR}(?P<total>\d+) \[[\d:]+<[\d:?]+, (?:(?!reduced|global_step){_FIELD}){{0,6}}"
            rf"(?:reduced_train_loss=(?P<loss>{_NUMBER}), )?(?:(?!global_step){_FIELD}){{0,6}}"
            rf"global_step=(?P<step>\d+)(?:\.0*)?, (?:(?!train_step){_FIELD}){{0,8}}"
            r"train_step_timing in s=(?P<dur_s>[\d.]+(?:e[-+]?\d+)?)",
        ),
        Line(
            "start",
            rf"{_MANAGER}Experiments will be logged at (?P<path>\S+)",
        ),
        Line(
            "resume",
            rf"{_MANAGER}Resuming training from checkpoint:? (?P<path>\S+)",
        ),
        Line("checkpoint", r"Epoch \d+, global step (?P<step>\d+): '?val\w*'? reached "),
        # Steps such as 2e+3 are rounded, and the bar without a timer has only just begun.
        Line("chatter", rf"{_BAR}\d+ \[[\d:]+<[\d:?]+, (?!.{{0,300}}global_step=\d+[.,]\d*)"),
        Line("chatter", r"(?:Sanity Checking|Validation|Validation DataLoader \d+)(?: DataLoader \d+)?: : "),
        Line("chatter", r"\[NeMo [IWE] \d{4}-\d\d-\d\d \d\d:\d\d:\d\d (?!exp_manager)\w+:\d+\]"),
    ),
    clock=Clock(
        covers="step",
        includes=("data",),
        note="The time of one step, the latest, from the start to the end of its batch; validation and saving are "
        "outside. The bar's own ETA is elapsed / steps x steps left, with validation and saving in it.",
    ),
    samples=(
        Sample(
            "Epoch 0: :   2%|▏         | 20/1000 [00:41<33:40, v_num=3, reduced_train_loss=8.120, global_step=19.00, "
            "consumed_samples=2560.0, train_step_timing in s=1.980]",
            "step",
            {"step": 19, "total": 1000, "loss": 8.12, "dur_s": 1.98},
        ),
        Sample(
            "Epoch 0: :  60%|██████    | 6024/10000 [4:26:54<2:56:09, reduced_train_loss=0.0252, global_step=6023.0, "
            "consumed_samples=96384.0, train_step_timing in s=2.590, val_loss=0.0917]",
            "step",
            {"step": 6023, "dur_s": 2.59},
        ),
        Sample("Epoch 0:  60%|██████    | 6024/10000 [4:26:54<2:56:09, 2.59s/it, loss=0.02]", None),  # plain Lightning
        Sample("[NeMo I 2026-02-03 04:05:06 exp_manager:396] Experiments will be logged at /runs/a", "start"),
        Sample(
            "[NeMo I 2026-02-03 04:05:06 exp_manager:660] Resuming training from checkpoint: /runs/a/last.ckpt",
            "resume",
        ),
        Sample(
            "Epoch 0, global step 1000: 'val_loss' reached 2.80000 (best 2.80000), saving model to 'a.ckpt'",
            "checkpoint",
        ),
        Sample(
            "Epoch 0: :   2%|▏         | 2001/9000 [1:03:17<3:17:00, reduced_train_loss=2.600, global_step=2e+3, "
            "consumed_samples=1.28e+6, train_step_timing in s=1.900]",
            "chatter",
        ),
        Sample("Validation DataLoader 0: : 51it [00:20,  2.53it/s]", "chatter"),
        Sample("[NeMo I 2026-02-03 04:05:06 lr_scheduler:948] Scheduler", "chatter"),
    ),
)
