"""nanoGPT's train.py, and forks that kept its lines. They carry durations, never a wall clock."""

from stepscope.lines.format import Clock, Controls, EvaluationHabits, Format, Habits, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf|NaN|Inf)"
_ELIDED = r"(?:\.{2,}|…)"  # a person who pastes a log leaves the uninteresting numbers out

FORMAT = Format(
    title="nanoGPT",
    url="https://github.com/karpathy/nanoGPT",
    lines=(
        Line(
            "step",
            rf"iter (?P<step>\d[\d,]*): (?:loss ?(?:(?P<loss>{_NUMBER})|{_ELIDED})(?: [A-Za-z/]{{1,12}})?, )?"
            r"(?:[a-z][a-z_ ]{0,23} [-+]?[\d.][-+\d.e%]{0,23}, ){0,6}"
            rf"time (?P<dur_ms>[\d.]+) ?ms\b(?:, mfu (?P<mfu_pct>{_NUMBER})%)?",
        ),
        Line(
            "evaluation",
            rf"step (?P<step>\d[\d,]*): train loss ?(?:(?P<train_loss>{_NUMBER})|{_ELIDED})(?: [A-Za-z/]{{1,12}})?, "
            rf"val loss ?(?:(?P<val_loss>{_NUMBER})|{_ELIDED})",
        ),
        Line("checkpoint", r"saving checkpoint(?: to (?P<path>.*\S))?\s*$"),
        Line("setting", r"Overriding: (?P<key>\w+) = (?P<value>.+)"),
        Line("setting", r"(?P<key>[a-z_][A-Za-z0-9_]*) ?= ?(?P<value>[^=].*)"),
        Line("start", r"Overriding config with .+:\s*$"),
        Line("start", r"tokens per iteration will be: (?P<tokens_per_step>[\d,]+)"),
        Line("start", r"Initializing a new model from scratch"),
        Line("resume", r"Resuming training from (?P<path>.+)"),
        Line("start", r"Initializing from OpenAI GPT-2 weights: (?P<path>.+)"),
        Line("fact", r"number of parameters: (?P<parameters>[\d.]+M)"),
        Line("fact", r"num decayed parameter tensors: \d+, with (?P<decayed_parameters>[\d,]+) parameters"),
        Line("fact", r"num non-decayed parameter tensors: \d+, with (?P<other_parameters>[\d,]+) parameters"),
        Line("fact", r"found vocab_size = (?P<vocab_size>\d+)"),
        Line("fact", r"defaulting to vocab_size of GPT-2 to (?P<vocab_size>\d+)"),
        Line("fact", r"compiling the model\.\.\.", sets={"compile": True}),
        Line("fact", r"(?:WARNING: )?using slow attention", sets={"slow_attention": True}),
        Line("fact", r"using fused AdamW: True", sets={"fused_optimizer": True}),
        Line("fact", r"using fused AdamW: False", sets={"fused_optimizer": False}),
        Line("chatter", r"#.*"),
        Line("chatter", r"(?:\.{3,}|…)\s*$"),
        Line("chatter", r"loading weights from pretrained gpt|forcing vocab_size=|overriding dropout rate to"),
    ),
    clock=Clock(
        covers="step",
        # Its timer runs from the end of one step to the end of the next, so the
        # first step after an evaluation also contains the evaluation and the checkpoint.
        includes=("evaluation", "checkpoint", "logging"),
        note="The time of one iteration, the printed one, from the end of the iteration before it; evaluation and "
        "checkpoint are inside. One iteration in log_interval is printed.",
    ),
    habits=Habits(
        evaluates_at_first_step=True,
        saves_at_first_step=False,
        saves_only_after_evaluation=True,
        prints_checkpoints=True,
        # fp32 weights and Adam's two moments
        checkpoint_bytes_per_parameter=12.0,
        kept_checkpoints=1,
        mfu_peak_tflops=312.0,  # of an A100
        evaluation=EvaluationHabits(num_splits=2, is_on_one_rank=True, shares_generator=True),
    ),
    controls=Controls(
        names={"max_iters": "max_steps", "ckpt_interval": "checkpoint_interval"},
        defaults={
            "eval_interval": 2000,
            "eval_iters": 200,
            "log_interval": 1,
            "always_save_checkpoint": True,
            "gradient_accumulation_steps": 40,
            "batch_size": 12,
            "block_size": 1024,
            "max_steps": 600000,
            "compile": True,
            "device": "cuda",
        },
        shipped_configs=(
            {  # config/train_shakespeare_char.py
                **{"log_interval": 10, "max_steps": 5000},
                **{"eval_interval": 250, "eval_iters": 200, "gradient_accumulation_steps": 1},
            },
            {  # the same on a CPU, by the README
                **{"log_interval": 1, "max_steps": 2000},
                **{"eval_interval": 250, "eval_iters": 20, "gradient_accumulation_steps": 1},
            },
            {  # config/train_gpt2.py
                **{"log_interval": 10, "max_steps": 600_000},
                **{"eval_interval": 1000, "eval_iters": 200, "gradient_accumulation_steps": 40},
            },
        ),
        settable={
            "eval_interval": "eval_interval",
            "eval_iters": "eval_iters",
            "log_interval": "log_interval",
            "always_save_checkpoint": "always_save_checkpoint",
            "batch_size": "batch_size",
            "gradient_accumulation_steps": "gradient_accumulation_steps",
            "block_size": "block_size",
            "dtype": "dtype",
            "compile": "compile",
            "max_steps": "max_iters",
        },
        syntax="--{name}={value}",
        accumulation_is_total=True,
    ),
    samples=(
        Sample(
            "iter 250: loss 3.3114, time 135.02ms, mfu 37.10%",
            "step",
            {"step": 250, "loss": 3.3114, "dur_ms": 135.02, "mfu_pct": 37.1},
        ),
        Sample("iter 0: loss 10.9, time 25118.40ms, mfu -100.00%", "step", {"step": 0, "mfu_pct": -100.0}),
        Sample("iter 60: loss 2.7301, time 41.75ms", "step", {"step": 60, "dur_ms": 41.75}),  # before March 2023
        Sample("iter 80: loss 3.4100 BPC, time 61.20ms, mfu 8.15%", "step", {"loss": 3.41, "dur_ms": 61.2}),
        Sample("iter 7: loss 2.1, lr 6.0e-04, time 91.50ms, mfu 12.00%", "step", {"step": 7, "dur_ms": 91.5}),
        Sample("iter 900: time 168ms", "step", {"step": 900, "dur_ms": 168.0, "loss": None}),  # as people paste it
        Sample("iter 500: loss..., time 5985ms", "step", {"step": 500, "dur_ms": 5985.0, "loss": None}),
        Sample("iter 250: loss 3.31", None),  # cut by a crash mid-write: must not be claimed
        Sample("iter 250: loss 3.3114, time 135.0", None),
        Sample("step 500: train loss 3.0192, val loss 3.0417", "evaluation", {"step": 500, "val_loss": 3.0417}),
        Sample(
            "step 0: train loss 5.9123 BPC, val loss 5.9087 BPC",
            "evaluation",
            {"train_loss": 5.9123, "val_loss": 5.9087},
        ),
        Sample("step 1000: train loss..., val loss...", "evaluation", {"step": 1000, "val_loss": None}),
        Sample("saving checkpoint to out-gpt2", "checkpoint", {"path": "out-gpt2"}),
        Sample("saving checkpoint", "checkpoint", {"path": None}),
        Sample("saving checkpoint shards failed, see below", None),
        Sample("Overriding: eval_iters = 20", "setting", {"key": "eval_iters", "value": "20"}),
        Sample(
            "gradient_accumulation_steps = 5 * 8", "setting", {"key": "gradient_accumulation_steps", "value": "5 * 8"}
        ),
        Sample("Overriding config with config/train_gpt2.py:", "start"),
        Sample("tokens per iteration will be: 491,520", "start", {"tokens_per_step": 491520}),
        Sample("Initializing a new model from scratch", "start"),
        Sample("Resuming training from out", "resume", {"path": "out"}),
        Sample("Initializing from OpenAI GPT-2 weights: gpt2-xl", "start", {"path": "gpt2-xl"}),
        Sample("number of parameters: 123.59M", "fact", {"parameters": 123590000}),
        Sample(
            "num decayed parameter tensors: 50, with 124,354,560 parameters", "fact", {"decayed_parameters": 124354560}
        ),
        Sample("num non-decayed parameter tensors: 25, with 19,200 parameters", "fact", {"other_parameters": 19200}),
        Sample("found vocab_size = 65 (inside data/shakespeare_char/meta.pkl)", "fact", {"vocab_size": 65}),
        Sample(
            "defaulting to vocab_size of GPT-2 to 50304 (50257 rounded up for efficiency)",
            "fact",
            {"vocab_size": 50304},
        ),
        Sample("compiling the model... (takes a ~minute)", "fact"),
        Sample("WARNING: using slow attention. Flash Attention requires PyTorch >= 2.0", "fact"),
        Sample("using fused AdamW: True", "fact"),
        Sample("using fused AdamW: False", "fact"),
        Sample("# these make the total batch size be ~0.5M", "chatter"),
        Sample("...", "chatter"),
        Sample("forcing vocab_size=50257, block_size=1024, bias=True", "chatter"),
        Sample("{'loss': 2.3, 'step': 10}", None),
    ),
)
