"""Lightning's progress bars, drawn by tqdm or by rich: one per epoch, with a clock that begins again with each."""

from stepscope.lines.format import Clock, Controls, Format, Habits, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"
_LOSS = rf"(?:[^\]]{{0,300}}?\b(?:train[_/])?loss(?:_step)?[=:] ?(?P<loss>{_NUMBER}))?"

# Called `Validating` before version 1.6; several loaders have a bar each.
_VALIDATION = r"Validat(?:ing|ion DataLoader \d+): +"

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
            r"Epoch (?P<epoch>\d+)/\d+ [━╸╺ -]{3,300} (?P<batch>[1-9]\d*)/(?P<batches>\d+) "
            r"(?P<elapsed_clock>\d+:\d\d:\d\d) [•·] [-\d:]+ +[\d.]+ ?it/s"
            rf"(?=(?:.{{0,600}}\bv_num: )|(?:(?! v_num).){{0,600}}$){_LOSS}",
        ),
        # Drawn by rich: it ends with the last line of its bar, which need not be a full one.
        Line("evaluation", r"Validation [━╸╺ -]{3,300} \d+/(?P<eval_iters>\d+) +\d+:\d\d:\d\d [•·]"),
        Line(
            "evaluation",
            rf"{_VALIDATION}100%\|[^|]{{0,400}}\| (?P<eval_done>\d+)/(?P<eval_iters>(?P=eval_done)) "
            r"\[(?P<took_clock>[\d:]+)<",
        ),
        Line(
            "fact",
            rf"{_VALIDATION}(?:\d+%\|[^|]{{0,400}}\| )?(?:(?P<eval_done>\d+)/(?!(?P=eval_done) )(?P<eval_iters>\d+)"
            r"|(?P<eval_none>0)it) \[",
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
            r"Validation (?!DataLoader|[━╸╺ -]{3,300} \d+/\d+ +\d+:\d\d:\d\d [•·])|Testing|Sanity Checking",
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
        note="The bar's elapsed time, whole seconds since its epoch began; a validation is inside, one at the end of "
        "an epoch where the bar is drawn again after it; saving and what lies between two epochs are not. The epochs "
        "are added up. Before version 2 the bar counts the batches of the validation, too: they are taken out. The "
        "time left on the bar is that of the epoch.",
        restarts_with="epoch",
    ),
    layout=Layout(first_step=1, bars_hold_evaluation=True),
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
        Sample("Validation ━━━━━━━╸━━━━━━━━━ 9/20  0:00:00 • 0:00:02 9.59it/s", "evaluation", {"eval_iters": 20}),
        Sample(
            "Epoch 1/2  ━━━╺━━━━━━━━━━━━━ 16/80 0:00:01 • 0:00:08 8.67it/s train_loss: 31.246", "step", {"batch": 16}
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
        Sample(
            "Validation DataLoader 0:  11%|█         | 1/9 [00:00<00:02,  3.1it/s]",
            "fact",
            {"eval_done": 1, "eval_iters": 9},
        ),
        Sample("Validating: 0it [00:00, ?it/s]", "fact"),
        Sample("Validating: 100%|██████████| 9/9 [00:12<00:00,  1.3s/it]", "evaluation", {"eval_iters": 9}),
        Sample("Validation sanity check: 100%|██████████| 2/2 [00:01<00:00,  1.9it/s]", "chatter"),
        Sample("Sanity Checking DataLoader 0: 100%|██████████| 2/2 [00:00<00:00,  3.1it/s]", "chatter"),
        Sample("Epoch 0:   0%|          | 0/26 [00:00<?, ?it/s]", "chatter"),
        Sample("LOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES: [0]", "chatter"),
        Sample("Epoch 2:  46%|████▌     | 12/26 [00:05<00:06,  2.31it/s, loss=0.61]", None),  # anybody's loop
    ),
)
