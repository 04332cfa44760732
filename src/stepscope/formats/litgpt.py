"""LitGPT's pretraining and finetuning. Its clock is one micro-batch, an iter; several make an optimizer step."""

from stepscope.lines.format import Clock, Controls, Format, Habits, Layout, Line, Sample

_NUMBER = r"[-+]?(?:\d[\d.]*+(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="LitGPT",
    url="https://github.com/Lightning-AI/litgpt",
    lines=(
        # A step is an iter: the time is that of an iter, and validation lines count iters.
        Line(
            "step",
            rf"Epoch \d+ \| iter (?P<step>\d+)(?: \|)? step \d+(?: \||:) loss train: (?P<loss>{_NUMBER}),"
            rf" val: (?:n/a|{_NUMBER}) \| iter time: (?P<dur_ms>[\d.]+) ?ms\b",
        ),
        # Before the epoch was printed (2023)
        Line(
            "step",
            rf"iter (?P<step>\d+)(?: \|)? step \d+: loss (?P<loss>{_NUMBER}), (?:iter|train) time: "
            r"(?P<dur_ms>[\d.]+) ?ms\b",
        ),
        Line(
            "evaluation",
            rf"(?:iter|step) (?P<step>\d+): val loss (?P<val_loss>{_NUMBER}), val time: (?P<took_ms>[\d.]+) ?ms\b",
        ),
        Line("evaluation", rf"Final evaluation \| val loss: (?P<val_loss>{_NUMBER}) \| val ppl: "),
        Line("checkpoint", r"Saving (?:checkpoint|(?:LoRA|adapter(?: v2)?) weights) to '(?P<path>[^']+)'"),
        Line("resume", r"Resuming training from (?P<path>\S*lit_model\S*)"),
        Line("start", r"Time to instantiate model: [\d.]+ seconds"),
        Line("start", r"Number of trainable parameters: [\d,]+\s*$"),
        Line("fact", r"Total parameters: (?P<parameters>[\d,]+)\s*$"),
        Line(
            "chatter",
            r"(?:Validating|Verifying settings) \.\.\.|Measured TFLOPs: |Number of non[- ]trainable parameters",
        ),
        Line("chatter", r"The longest sequence length in the train data is \d+|Memory used: "),
        Line(
            "chatter",
            r"(?:\| )?(?:- )?(?:Performance|Token Counts|Total tokens|Tok/sec|Memory Us\w+)\s*(?::|$)",
        ),
        Line("chatter", r"'\w+': .+,$"),  # the settings, pretty-printed
    ),
    clock=Clock(
        covers="step",
        includes=(),
        note="The time of one iter, a micro-batch, the printed one: with `(step)` the optimizer's step is in it, and "
        "in pretraining only such iters are printed. Validation and saving are outside; fetching the batch is inside "
        "when finetuning only. `remaining time` is the mean since this process began, validation included; no total is "
        "printed.",
    ),
    layout=Layout(first_step=1, events_follow_step=True),
    habits=Habits(kept_checkpoints=0),
    controls=Controls(
        settable={
            "eval_interval": "eval.interval",
            "eval_iters": "eval.max_iters",
            "checkpoint_interval": "train.save_interval",
            "log_interval": "train.log_interval",
            "batch_size": "train.micro_batch_size",
            "max_steps": "train.max_steps",
        },
        syntax="--{name} {value}",
    ),
    samples=(
        Sample(
            "Epoch 2 | iter 640 step 160 | loss train: 1.873, val: 1.902 | iter time: 214.08 ms (step) remaining time:"
            " 1:02:09",
            "step",
            {"step": 640, "loss": 1.873, "dur_ms": 214.08},
        ),
        Sample(
            "Epoch 1 | iter 3 step 0 | loss train: 2.104, val: n/a | iter time: 180.55 ms",
            "step",
            {"step": 3, "loss": 2.104, "dur_ms": 180.55},
        ),
        Sample(
            "iter 48 step 12: loss 2.0311, iter time: 301.70ms (optimizer.step)",
            "step",
            {"step": 48, "loss": 2.0311, "dur_ms": 301.7},
        ),
        Sample("Epoch 2 | iter 640 step 160 | loss train: 1.873, val: 1.902 | iter time: 214.", None),  # cut mid-write
        Sample("iter 250: loss 3.3114, time 135.02ms, mfu 37.10%", None),  # nanoGPT's
        Sample(
            "iter 640: val loss 1.9022, val time: 8123.40 ms",
            "evaluation",
            {"step": 640, "val_loss": 1.9022, "took_ms": 8123.4},
        ),
        Sample("step 500: train loss 3.0192, val loss 3.0417", None),
        Sample("Final evaluation | val loss: 1.811 | val ppl: 6.117", "evaluation", {"val_loss": 1.811}),
        Sample(
            "Saving checkpoint to 'out/pretrain/step-00000160/lit_model.pth'",
            "checkpoint",
            {"path": "out/pretrain/step-00000160/lit_model.pth"},
        ),
        Sample("Saving LoRA weights to 'out/lora/step-000160/lit_model.pth.lora'", "checkpoint"),
        Sample(
            "Resuming training from out/pretrain/step-00000160/lit_model.pth",
            "resume",
            {"path": "out/pretrain/step-00000160/lit_model.pth"},
        ),
        Sample("Time to instantiate model: 0.31 seconds.", "start"),
        Sample("Number of trainable parameters: 1,126,400", "start"),
        Sample("Total parameters: 1,100,048,384", "fact", {"parameters": 1100048384}),
        Sample("Validating ...", "chatter"),
        Sample("The longest sequence length in the train data is 512, the model's", "chatter"),
        Sample("| - Total tokens  : 288,358,400", "chatter"),
        Sample("| - Training Time : 812.40 s", None),  # the whole run's, as other programs print it
        Sample("'logger_name': 'tensorboard',", "chatter"),
    ),
)
