"""llm.c, its CUDA, C and Python trainers. The time is that of the training step alone: evaluations are outside it."""

from stepscope.lines.format import Clock, Controls, Format, Habits, Layout, Line, Sample

_NUMBER = r"[-+]?(?:\d[\d.]*+(?:[eE][-+]?\d++)?|nan|inf)"
_CELL = r" +\| (?P<value>\S(?:[^|]*[^\s|])?) +\|"

FORMAT = Format(
    title="llm.c",
    url="https://github.com/karpathy/llm.c",
    lines=(
        Line(
            "step",
            rf"step +(?P<step>\d+)/(?P<total>\d+) \| (?:train )?loss +(?P<loss>{_NUMBER})(?: \((?:z )?[-+\w.]+\))? ?\|"
            rf" norm +{_NUMBER}(?: \([-+\w.]+\))? ?\| lr {_NUMBER} \| \(?(?P<dur_ms>[\d.]+) ms \|"
            rf"(?: (?P<mfu_pct>{_NUMBER})% (?:[\w-]+ ){{0,3}}MFU \|)?",
        ),
        # The versions of April 2024, and the trainer in plain C to this day.
        Line(
            "step",
            rf"step +(?P<step>\d+)(?:/(?P<total>\d+))?: train loss (?P<loss>{_NUMBER})"
            rf"(?: norm {_NUMBER})?(?: lr {_NUMBER})?(?: \(acc {_NUMBER}\))? \((?:took )?(?P<dur_ms>[\d.]+) ms\b",
        ),
        # Anchored and with all its decimals, because many trainers print "val loss".
        Line("evaluation", r"^val loss +(?P<val_loss>\d+\.\d{6,}|-?nan|-?inf)\s*$"),
        Line("evaluation", r"^HellaSwag: \d+/\d+ = [\d.]+"),
        Line("checkpoint", r"Writing checkpoint at step (?P<step>\d+)"),
        Line("chatter", r"Writing (?:model|state) to |Deleting checkpoint at step \d+"),
        Line("chatter", r"evaluating HellaSwag: \d+/\d+\s*$"),
        Line("start", r"(?:\| )?Parameter +\| Value +\|"),
        Line("resume", r"(?:\| )?weight init method +\| intermediate checkpoint +\|"),
        Line("fact", r"(?:\| )?total batch size +\| (?P<tokens_per_step>\d+) +\|"),
        Line("fact", r"(?:\| )?num_parameters +\| (?P<parameters>\d+) +\|"),
        Line("fact", r"(?:\| )?train_num_batches +\| (?P<total>\d+) +\|"),
        Line("fact", r"=> setting grad_accum_steps=(?P<gradient_accumulation_steps>\d+)"),
        Line(
            "setting",
            r"(?:\| )?(?P<key>checkpoint_every|micro batch size B|sequence length T|val_loss_every|val_max_steps"
            rf"|sample_every|num_processes|zero_stage|recompute){_CELL}",
        ),
        Line(
            "chatter",
            r"(?:\| )?(?:(?:train|val) data pattern|output log dir|resume|LR scheduler|learning rate \(LR\)|device"
            r"|genT|warmup iterations|final LR fraction|weight decay|skip update \w+|max_steps|precision"
            r"|gelu_fusion|overfit_single_batch|use_master_weights|peak TFlops|max_sequence_length T"
            r"|(?:padded_)?vocab_size Vp?|num_layers L|num_heads NH|channels C|val_num_batches|run hellaswag"
            r"|weight init method(?! +\| intermediate)) +\| ",
        ),
        Line("chatter", r"\+-{10,}\+-{10,}\+\s*$"),
        Line("chatter", r"allocat(?:ed|ing) \d+ MiB for |device memory usage: |memory per sequence: |-> estimated max"),
        Line("chatter", r"num_parameters: \d+ => bytes: |batch_size B=\d+ \* seq_len |total average iteration time: "),
        Line("chatter", r"Multi-GPU support is disabled|compute \d[\d.]*% \| memory: |generating:\s*$|---\s*$"),
        Line("chatter", r"WARNING: Failed to open the tokenizer|The Tokenizer is a new feature|Re-run `python train"),
    ),
    clock=Clock(
        covers="step",
        includes=("data",),
        note="The time of one training step, the printed one, between two CUDA events; validation, HellaSwag, sampling "
        "and saving are outside it. tok/s is a running mean, the average at the end leaves out the first step, and no "
        "ETA is printed.",
    ),
    layout=Layout(first_step=1, events_follow_step=True),
    habits=Habits(
        # bf16 weights, Adam's two moments and the fp32 copy of the weights
        checkpoint_bytes_per_parameter=14.0,
        kept_checkpoints=0,
        prints_checkpoints=True,
    ),
    controls=Controls(
        names={
            "val_loss_every": "eval_interval",
            "val_max_steps": "eval_iters",
            "checkpoint_every": "checkpoint_interval",
            "micro batch size B": "batch_size",
            "sequence length T": "block_size",
            "num_processes": "world_size",
        },
        settable={
            "eval_interval": "-v",
            "eval_iters": "-m",
            "checkpoint_interval": "-n",
            "batch_size": "-b",
            "block_size": "-t",
            "max_steps": "-x",
            "keep_saves": "-nk",
        },
        syntax="{name} {value}",
    ),
    samples=(
        Sample(
            "step  412/18865 | loss 4.902217 (-0.31z)| norm 0.6120 (+1.07z)| lr 3.53e-04 | 2710.44 ms | 49.8% bf16 MFU"
            " | 193431 tok/s",
            "step",
            {"step": 412, "total": 18865, "loss": 4.902217, "dur_ms": 2710.44, "mfu_pct": 49.8},
        ),
        Sample(
            "step   12/18865 | loss     nan (+nanz)| norm    nan (+nanz)| lr 1.03e-05 | 2698.01 ms | -100.0% bf16 MFU |"
            " 194325 tok/s",
            "step",
            {"step": 12, "dur_ms": 2698.01, "mfu_pct": -100.0},
        ),
        Sample(
            "step   40/1000 | train loss 6.120331 | norm 2.1030 | lr 1.20e-05 | 310.22 ms | 31.0% A100 fp16 MFU |"
            " 52820 tok/s",
            "step",
            {"step": 40, "total": 1000, "loss": 6.120331, "dur_ms": 310.22, "mfu_pct": 31.0},
        ),
        Sample(
            "step   40/50 | train loss 6.120331 | norm 2.1030 | lr 1.20e-05 | (310.22 ms | 52820 tok/s)",
            "step",
            {"step": 40, "total": 50, "dur_ms": 310.22, "mfu_pct": None},
        ),
        Sample(
            "step   40/74: train loss 4.120331 (acc 4.120331) (61.250000 ms, 66873 tok/s)",
            "step",
            {"step": 40, "total": 74, "loss": 4.120331, "dur_ms": 61.25},
        ),
        Sample(
            "step 7: train loss 4.511230 (took 1713.224000 ms)",
            "step",
            {"step": 7, "total": None, "loss": 4.51123, "dur_ms": 1713.224},
        ),
        Sample("step  412/18865 | loss 4.902217 (-0.31z)| norm 0.6120 (+1.07z)| lr 3.53e-04 | 2710.4", None),  # cut
        Sample("step 500: train loss 3.0192, val loss 3.0417", None),  # nanoGPT's
        Sample("val loss 4.723119", "evaluation", {"val_loss": 4.723119}),
        Sample("val loss 4.72", None),
        Sample("HellaSwag: 2614/10042 = 0.260307", "evaluation"),
        Sample("Writing checkpoint at step 2500", "checkpoint", {"step": 2500}),
        Sample("Writing model to log_big/model_00002500.bin", "chatter"),
        Sample("evaluating HellaSwag: 30/644", "chatter"),
        Sample("| Parameter             | Value                                              |", "start"),
        Sample("| weight init method    | intermediate checkpoint                            |", "resume"),
        Sample("| total batch size      | 262144                                             |", "fact"),
        Sample(
            "| num_parameters        | 353771520                                          |",
            "fact",
            {"parameters": 353771520},
        ),
        Sample("| train_num_batches     | 18865                                       |", "fact", {"total": 18865}),
        Sample("=> setting grad_accum_steps=8", "fact", {"gradient_accumulation_steps": 8}),
        Sample(
            "| val_loss_every        | 125                                                |",
            "setting",
            {"key": "val_loss_every", "value": "125"},
        ),
        Sample(
            "| micro batch size B    | 16                                                 |",
            "setting",
            {"key": "micro batch size B", "value": "16"},
        ),
        Sample("| max_steps             | 500                                                |", "chatter"),
        Sample("+-----------------------+----------------------------------------------------+", "chatter"),
        Sample("allocating 512 MiB for parameter gradients", "chatter"),
        Sample("num_parameters: 353771520 => bytes: 707543040", "chatter"),
        Sample("Multi-GPU support is disabled. Using a single GPU.", "chatter"),
        Sample("Re-run `python train_gpt2.py` to write it", "chatter"),
    ),
)
