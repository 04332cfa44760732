"""LeRobot: from a thousand on its steps are printed as 1K, so several steps share a number."""

from stepscope.lines.format import Clock, Controls, Format, Layout, Line, Sample

_HEAD = r"(?:INFO )?(?:(?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) )?(?:[\w./\\-]{1,60}\.py:\d+ )?"

FORMAT = Format(
    title="LeRobot",
    url="https://github.com/huggingface/lerobot",
    lines=(
        Line(
            "step",
            rf"{_HEAD}step:(?P<step>[\d.]+[KM]?) smpl:\S+ ep:\S+ epch:[\d.]+ (?:loss:(?P<loss>-?[\d.]+|nan) )?\S+:"
            r"(?:.{0,400}?\bupdt_s:(?P<work_s>[\d.]+))?(?: data_s:(?P<data_s>[\d.]+))?",
        ),
        Line("checkpoint", rf"{_HEAD}Checkpoint policy after step (?P<step>\d+)"),
        Line("evaluation", rf"{_HEAD}Eval policy at step (?P<step>\d+)"),
        Line("evaluation", rf"{_HEAD}step (?P<step>\d+): eval_loss=(?P<val_loss>[\d.]+)"),
        Line("fact", rf"{_HEAD}cfg\.steps=(?P<total>\d+)"),
        Line("start", rf"{_HEAD}Start offline training on a fixed dataset"),
        Line("fact", rf"{_HEAD}num_total_params=(?P<parameters>\d+)"),
        Line(
            "chatter",
            rf"{_HEAD}(?:Creating |num_learnable_params=|dataset\.num_|Output dir:|End of training)",
        ),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The moments of the lines, in whole seconds: the difference of two holds everything between them, "
        "evaluation and saving included. updt_s and data_s are means since the last line, of the update and of waiting "
        "for its batch: the clock where the moments are missing or too coarse. Steps from a thousand on are rounded in "
        "print and counted on from the lines before. The total "
        "is printed at the top; no ETA is.",
    ),
    layout=Layout(first_step=1),
    controls=Controls(
        settable={
            "eval_interval": "eval_freq",
            "checkpoint_interval": "save_freq",
            "log_interval": "log_freq",
            "max_steps": "steps",
            "batch_size": "batch_size",
            "num_workers": "num_workers",
        },
        syntax="--{name}={value}",
    ),
    samples=(
        Sample(
            "INFO 2025-03-04 05:06:07 ts/train.py:232 step:600 smpl:5K ep:12 epch:0.21 loss:1.204 grdn:14.110 "
            "lr:1.0e-05 updt_s:0.311 data_s:0.004",
            "step",
            {"step": 600, "loss": 1.204, "work_s": 0.311, "data_s": 0.004},
        ),
        Sample("step:14K smpl:112K ep:280 epch:5.02 loss:0.091 grdn:3.1", "step", {"step": 14000, "loss": 0.091}),
        Sample("INFO 2025-03-04 05:06:07 ts/train.py:241 Checkpoint policy after step 20000", "checkpoint"),
        Sample("Eval policy at step 20000", "evaluation", {"step": 20000}),
        Sample("step 20000: eval_loss=0.1210", "evaluation", {"step": 20000, "val_loss": 0.121}),
        Sample("INFO 2025-03-04 05:06:07 ts/train.py:171 cfg.steps=80000 (80K)", "fact", {"total": 80000}),
        Sample("Start offline training on a fixed dataset", "start"),
        Sample("num_total_params=51597190 (52M)", "fact", {"parameters": 51597190}),
        Sample("INFO 2025-03-04 05:06:07 ts/train.py:127 Creating dataset", "chatter"),
        Sample("step:600 smpl:5K", None),  # cut mid-write
        Sample("step:12 - actor/kl_loss:0.001", None),
    ),
)
