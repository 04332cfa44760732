"""Lightning's progress bars, drawn by tqdm or by rich: one per epoch, with a clock that begins again with each."""

from stepscope.lines.format import Clock, Controls, Format, Habits, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]+(?:[eE][-+]?\d+)?|nan|inf)"
_LOSS = rf"(?:[^\]]{{0,300}}?\b(?:train[_/])?loss(?:_step)?[=:] ?(?P<loss>{_NUMBER}))?"

FORMAT = Format(
    title="Lightning",
    url="https://github.com/Lightning-AI/pytorch-lightning",
    lines=(
        # The version number identifies Lightning's bar: any loop may have a bar that is called Epoch.
        Line(
            "step",
            r"Epoch (?P<epoch>\d+): +\d+%\|[^|]{0,400}\| (?P<batch>[1-9]\d*)/(?P<batches>\d+) "
            r"\[(?P<elapsed_clock>[\d:]+)<[\d:?]+, +[\d.?]+ ?(?:it/s|s/it)"
            rf"(?=[^\]]{{0,600}}\bv_num=){_LOSS}",
        ),
        Line(
            "step",
            r"Epoch (?P<epoch>\d+)/\d+ +[━╸╺ -]{3,200} +(?P<batch>[1-9]\d*)/(?P<batches>\d+) "
            r"(?P<elapsed_clock>\d+:\d\d:\d\d) [•·] [-\d:]+ +[\d.]+ ?it/s"
            rf"(?=.{{0,600}}\bv_num: ){_LOSS}",
        ),
        Line(
            "evaluation",
            r"Validation DataLoader \d+: +100%\|[^|]{0,400}\| (\d+)/\1 \[(?P<took_clock>[\d:]+)<",
        ),
        Line("fact", r"`?Trainer\.fit`? stopped: `max_epochs=(?P<epochs>\d+)` reached"),
        Line("start", r"GPU available: (?:True|False)"),
        Line("resume", r"Restoring states from the checkpoint (?:path )?at (?P<path>\S+)"),
        Line(
            "checkpoint",
            r"Epoch \d+, global step (?P<step>\d+): '?[\w./-]{1,80}'? (?:reached|was not in top)",
        ),
        Line("fact", r"(?P<parameters>[\d.]+ [KMB]) +(?:Total params|Trainable params)$"),
        Line(
            "chatter",
            r"Validation(?! DataLoader \d+: +100%)|Validating|Testing|Sanity Checking",
        ),
        Line("chatter", r"Epoch \d+: +\d+%\|[^|]{0,400}\| (?:0/\d+|\d+/\d+) \[[\d:]+<[\d:?]+(?:, +\?it/s|\])"),
        Line(
            "chatter",
            r"[TI]PU available: |HPU available: |LOCAL_RANK: |Initializing distributed: |Missing logger folder",
        ),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "data", "logging"),
        note="The bar's elapsed time, whole seconds since its epoch began; a validation in the middle of an epoch is "
        "inside, one at its end and saving are not, and nothing between two epochs is timed. The epochs are added up. "
        "Before version 2 the bar counts the batches of the validation too. The time left on it is that of the epoch.",
        restarts_with="epoch",
    ),
    layout=Layout(first_step=1),
    habits=Habits(kept_checkpoints=1),
    controls=Controls(
        names={"val_check_interval": "eval_interval", "log_every_n_steps": "log_interval"},
        settable={
            "eval_interval": "val_check_interval",
            "eval_iters": "limit_val_batches",
            "log_interval": "log_every_n_steps",
            "max_steps": "max_steps",
            "gradient_accumulation_steps": "accumulate_grad_batches",
            "num_workers": "DataLoader(…, num_workers=8, persistent_workers=True, pin_memory=True)",
            "save_on_improvement": 'ModelCheckpoint(monitor="val_loss", save_top_k=1)',
            "dtype": 'Trainer(precision="16-mixed")',
        },
        syntax="Trainer({name}={value})",
    ),
    samples=(
        Sample(
            "Epoch 2:  46%|████▌     | 12/26 [00:05<00:06,  2.31it/s, v_num=0, train_loss=0.532]",
            "step",
            {"epoch": 2, "batch": 12, "batches": 26, "loss": 0.532},
        ),
        Sample(
            "Epoch 2:  46%|████▌     | 12/26 [00:05<00:06,  2.31it/s, loss=0.61, v_num=31]",
            "step",
            {"epoch": 2, "loss": 0.61},
        ),
        Sample(
            "Epoch 2/9 ━━━━━━━╸━━━━━━━━ 12/26 0:00:05 • 0:00:06 2.31it/s v_num: 0.000 train_loss: 0.532",
            "step",
            {"epoch": 2, "batch": 12, "loss": 0.532},
        ),
        Sample("Validation DataLoader 0: 100%|██████████| 9/9 [00:03<00:00,  2.71it/s]", "evaluation"),
        Sample("`Trainer.fit` stopped: `max_epochs=10` reached.", "fact", {"epochs": 10}),
        Sample("GPU available: True (cuda), used: True", "start"),
        Sample("Restoring states from the checkpoint path at runs/last.ckpt", "resume", {"path": "runs/last.ckpt"}),
        Sample(
            "Epoch 2, global step 78: 'val_loss' reached 0.51 (best 0.51), saving model to 'a.ckpt' as top 1",
            "checkpoint",
            {"step": 78},
        ),
        Sample("7.8 M     Total params", "fact"),
        Sample("Validation DataLoader 0:  11%|█         | 1/9 [00:00<00:02,  3.1it/s]", "chatter"),
        Sample("Sanity Checking DataLoader 0: 100%|██████████| 2/2 [00:00<00:00,  3.1it/s]", "chatter"),
        Sample("Epoch 0:   0%|          | 0/26 [00:00<?, ?it/s]", "chatter"),
        Sample("LOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES: [0]", "chatter"),
        Sample("Epoch 2:  46%|████▌     | 12/26 [00:05<00:06,  2.31it/s, loss=0.61]", None),  # anybody's loop
    ),
)
