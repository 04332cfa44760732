"""ms-swift: logging.jsonl and the same dicts on standard output, between the bars that carry the same clock."""

from stepscope.formats._shared.hf import NUMBER, SETTABLE
from stepscope.lines.format import Clock, Controls, Format, Habits, Layout, Line, Sample

_Q = r"['\"]"
_FIELDS = r"[^{}]{0,4000}?"
_STEP = rf"{_Q}(?:global_step/max_steps|iteration){_Q}: {_Q}(?P<step>\d+)/(?P<total>\d+){_Q}"
_CLOCK = rf"(?={_FIELDS}{_Q}elapsed_time{_Q}: {_Q}(?P<elapsed_clock>[\d dhms]{{2,30}}){_Q})"
_HEAD = r"(?:\[INFO:swift\] )?"

FORMAT = Format(
    title="ms-swift",
    url="https://github.com/modelscope/ms-swift",
    lines=(
        Line(
            "step",
            rf"{_HEAD}\{{(?={_FIELDS}{_STEP}){_CLOCK}(?:{_FIELDS}, )?{_Q}loss{_Q}: {_Q}?(?P<loss>{NUMBER}){_Q}?, ",
        ),
        Line(
            "step",
            r"^Train: +\d{1,3}%(?:\|[^|]{0,400}\|)? (?P<step>\d+)/(?P<total>\d+) "
            r"\[(?P<elapsed_clock>[\d:]+)<(?:[\d:]+|\?), +[\d.]+(?:it/s|s/it)[^\]]{0,200}\]\s*$",
            weak=True,
        ),
        Line(
            "evaluation",
            rf"{_HEAD}\{{(?={_FIELDS}{_STEP.replace('?P<total>', '?:')})(?:{_CLOCK}|)"
            rf"(?:(?=(?:{_FIELDS}, )?{_Q}eval_loss{_Q}: {_Q}?(?P<val_loss>{NUMBER}))|)"
            rf"{_FIELDS}{_Q}eval_runtime{_Q}: {_Q}?(?P<took_s>[\d.]+)",
        ),
        Line(
            "checkpoint", r"\[INFO:swift\] Saving model checkpoint to (?P<path>\S*?(?:checkpoint-(?P<step>\d+))?)\s*$"
        ),
        Line(
            # The last steps have a row of their own only where their number is one of those to be logged.
            "fact",
            rf"{_HEAD}\{{(?={_FIELDS}{_STEP.replace('?P<step>', '?P<reached>').replace('?P<total>', '?:')})"
            rf"(?:{_CLOCK}|){_Q}train_runtime{_Q}: {_Q}?(?P<train_runtime_s>[\d.]+)",
        ),
        Line("start", r"\[INFO:swift\] args: \w+Arguments\("),
        Line("start", r"\[INFO:swift\] The logging file will be saved in: (?P<path>\S+)"),
        Line("fact", r"\[INFO:swift\] rank: 0, local_rank: 0, world_size: (?P<world_size>\d+)"),
        Line("fact", r"\[INFO:swift\] model_parameter_info: \S+ (?P<parameters>[\d.]+M) Params"),
        Line("setting", r"(?P<key>[a-z][A-Za-z0-9_]*)=(?P<value>[^=\s]\S*?),?\s*$"),
        Line("chatter", r"[a-z][A-Za-z0-9_]*=[^=\s]\S*\s+\S"),  # a setting that is a list or a sentence
        Line("chatter", rf"{_HEAD}\{{{_Q}model_parameter_info{_Q}: "),
        Line("chatter", r"\[(?:INFO|WARNING):swift\] (?!args: |rank: 0|The logging file|Saving model|model_param|\{)"),
        Line("chatter", r"Train: +0%(?:\|[^|]{0,400}\|)? \d+/\d+ \[[\d:]+<\?, \?it/s\]\s*$"),
        Line("chatter", r"(?!Train:)[\w. ()-]{1,60}: +\d{1,3}%\|"),
        # The model's configuration as JSON.
        Line("chatter", r'"\w+": |"?[\w.-]+"?,\s*$|[\]\[{}]+,?\s*$'),
        # The model, as a tree of modules.
        Line("chatter", r"(?:\([\w-]+\): )?(?:\d+ x )?[A-Z]\w+\(.*$|\)\s*$"),
        Line(
            "chatter",
            r"`torch_dtype` is deprecated|\w+ is deprecated and will be removed|sync_module_states is obsolete|"
            r"The tokenizer has new PAD/BOS/EOS tokens|\[W\d+ |run sh: `|\*{20,}\s*$|"
            r"Setting OMP_NUM_THREADS environment",
        ),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="Wall time since this process began to train, in whole seconds, with evaluation and saving inside. "
        "train_speed(s/it) and the remaining time are that clock divided by all steps so far, not the last step.",
        restarts_with="process",
    ),
    layout=Layout(first_step=1),
    # Its own flow of the loop evaluates and saves after the last step, whatever its number.
    habits=Habits(kept_checkpoints=0, evaluates_at_last_step=True),
    controls=Controls(
        names={
            "logging_steps": "log_interval",
            "eval_steps": "eval_interval",
            "save_steps": "checkpoint_interval",
            "per_device_train_batch_size": "batch_size",
        },
        settable={
            **SETTABLE,
            "optimizer": "--optim adamw_torch_fused",
        },
        syntax="--{name} {value}",
    ),
    samples=(
        Sample(
            '{"loss": 1.52, "grad_norm": 2.75, "learning_rate": 4e-08, "token_acc": 0.64, "epoch": 0.01, '
            '"global_step/max_steps": "12/640", "elapsed_time": "1h 2m 36s", "remaining_time": "2d 6h 31m 12s", '
            '"memory(GiB)": 41.5, "train_speed(s/it)": 5.5}',
            "step",
            {"step": 12, "total": 640, "loss": 1.52},
        ),
        Sample(
            "{'loss': '0.951', 'grad_norm': '2.25', 'epoch': '0.147', 'global_step/max_steps': '92/640', "
            "'percentage': '14.38%', 'elapsed_time': '3m 4s', 'remaining_time': '18m 16s'}",
            "step",
            {"step": 92, "total": 640, "loss": 0.951},
        ),
        Sample(
            "{'loss': '1.52', 'grad_norm': '2.75', 'learning_rate': '4e-08', 'token_acc': '0.61', 'epoch': '0.01', "
            "'global_step/max_steps': '5/640', 'elapsed_time': '12s', 'remaining_time': '25m 24s'}",
            "step",
            {"step": 5, "total": 640, "loss": 1.52},
        ),
        Sample("Train:  29%|██▉       | 186/640 [06:12<15:08,  2.00s/it]", "step", {"step": 186, "total": 640}),
        Sample(
            '{"eval_loss": 0.91, "eval_token_acc": 0.7, "eval_runtime": 31.5, "eval_steps_per_second": 2.1, '
            '"epoch": 0.5, "global_step/max_steps": "320/640", "elapsed_time": "40m 1s", "remaining_time": "39m 2s"}',
            "evaluation",
            {"step": 320, "val_loss": 0.91, "took_s": 31.5},
        ),
        Sample("[INFO:swift] Saving model checkpoint to out/v0/checkpoint-320", "checkpoint", {"step": 320}),
        Sample(
            '{"train_runtime": 1280.5, "train_samples_per_second": 4.2, "train_loss": 1.2, "epoch": 0.5, '
            '"global_step/max_steps": "640/640", "elapsed_time": "21m 20s", "remaining_time": "0s"}',
            "fact",
            {"train_runtime_s": 1280.5, "reached": 640},
        ),
        Sample("[INFO:swift] args: SftArguments(", "start"),
        Sample("[INFO:swift] The logging file will be saved in: out/v0/logging.jsonl", "start"),
        Sample("[INFO:swift] rank: 0, local_rank: 0, world_size: 4, local_world_size: 4", "fact", {"world_size": 4}),
        Sample(
            "[INFO:swift] model_parameter_info: PeftModel: 7615.5M Params (40.3M Trainable [0.5%]), 0.1M Buffers.",
            "fact",
            {"parameters": 7615500000},
        ),
        Sample("gradient_accumulation_steps=4,", "setting", {"key": "gradient_accumulation_steps", "value": "4"}),
        Sample("freeze_parameters=['model.embed', 'model.norm'],", "chatter"),
        Sample('{"model_parameter_info": "PeftModel: 7615.5M Params", "global_step": 640}', "chatter"),
        Sample("[INFO:swift] use_reentrant: True", "chatter"),
        Sample("Train:   0%|          | 0/640 [00:00<?, ?it/s]", "chatter"),
        Sample("Loading weights:   5%|▍         | 20/400 [00:01<00:19, 20.00it/s]", "chatter"),
        Sample('"hidden_size": 512,', "chatter"),
        Sample("(q_proj): Linear(in_features=64, out_features=64, bias=False)", "chatter"),
        Sample("`torch_dtype` is deprecated, use `dtype`", "chatter"),
        Sample('{"loss": 1.52, "epoch": 0.01, "step": 12}', None),
        Sample('{"timestamp": 1700000000.5, "gpus": [{"gpu_id": 0, "util_pct": 0.0}]}', None),
        Sample("12%|█▏        | 345/2800 [01:23<10:00,  4.10it/s]", None),
    ),
)
