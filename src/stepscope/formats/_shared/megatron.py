"""The lines that Megatron-LM and its descendants share, whatever their clock covers."""

from __future__ import annotations

from stepscope.lines.format import Controls, Line, Sample

NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf|NaN|Inf)"
# srun --label and torchrun tag lines that themselves begin with blanks, so the tag is followed by more than one.
TAG = r"(?:\d{1,5}:\s+)?(?:\[default\d+\]:\s*)?"
STAMP = r"\[(?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)\]"
_DOTS = r" \.{3,}: "
# After the tag, the moment and whatever else is printed before the iteration.
ITERATION = (
    r"iteration +(?P<step>\d+)/ *(?P<total>\d+) \|"
    r"(?:(?! ?elapsed)[^|]{1,81}\|){0,8} elapsed time per iteration \(ms\): (?P<dur_ms>[\d.]+) \|"
    rf"(?:(?:(?! ?lm.loss)[^|]{{1,81}}\|){{0,16}} lm[ _]loss: (?P<loss>{NUMBER}) \|)?"
)

# Printed by all of them, so none of these says which one it is.
EVENTS = (
    # In the table of timers under a step: the batch of the slowest rank, then the time of a whole phase.
    Line("data", rf"{TAG}batch-generator{_DOTS}\([\d.]+, (?P<took_ms>[\d.]+)\)"),
    Line(
        "data",
        r"time \(ms\) \|(?: (?!batch[- ]gen)[\w/ -]{2,60}: [\d.]+ \|){0,40} batch[- ]generator: (?P<took_ms>[\d.]+)",
    ),
    Line("evaluation", rf"{TAG}evaluate{_DOTS}\([\d.]+, (?P<took_ms>[\d.]+)\)", weak=True),
    Line("checkpoint", rf"{TAG}save-checkpoint{_DOTS}\([\d.]+, (?P<took_ms>[\d.]+)\)"),
    Line("checkpoint", r"time \(ms\) \| save[- ]checkpoint: (?P<took_ms>[\d.]+)"),
    Line(
        "evaluation",
        rf"{TAG}(?:{STAMP}\s+)?validation (?:loss|results) at "
        rf"(?:iteration (?P<step>\d+)|the end of training)[^|]{{0,80}}\|"
        rf"(?: (?:[\w-]{{1,40}}/)?lm[ _]loss value: (?P<val_loss>{NUMBER}))?",
        weak=True,
    ),
    # The tasks of `tasks/`, which forks run during the training: LAMBADA, WikiText and others by their names.
    Line("evaluation", rf"{TAG}(?:{STAMP}\s+)?validation results on [\w. -]{{1,60}} \|", weak=True),
    Line("checkpoint", rf"{TAG}(?:{STAMP}\s+)?saving checkpoint at iteration +(?P<step>\d+) to (?P<path>\S+)"),
)
HEADER = (
    Line(
        "resume",
        rf"{TAG}(?:{STAMP}\s+)?successfully loaded checkpoint from (?P<path>\S+).{{0,60}} at iteration \d+",
    ),
    Line("start", r"-* ?arguments -{8,}$"),
    Line("fact", r"using world size: (?P<world_size>\d+)"),
)
CHATTER = (
    Line("chatter", rf"{TAG}(?:{STAMP}\s+)?successfully (?:saved|deleted) checkpoint |Storing distributed optimizer"),
    Line("chatter", rf"{TAG}(?!batch-generator|evaluate |save-checkpoint)[a-z][\w/-]*{_DOTS}\("),
    Line("chatter", r"\(min, max\) time across ranks \(ms\):"),
    Line("chatter", rf"{TAG}(?:(?:INFO|WARNING|DEBUG):)?megatron\.[\w.]+:"),
    Line("chatter", r"time \(ms\) \| (?!.{0,2000}batch[- ]generator|save[- ]checkpoint)[\w/ -]+: "),
    Line("chatter", r"(?:\[Rank \d+\] )?\(?(?:after|before) [^)|]{1,60}\)? memory \(MB\)"),
    Line("chatter", r"\[(?:before|after) [^\]]{1,60}\] datetime: |\[exiting program (?:at|after) |training \.\.\.$"),
    Line(
        "chatter",
        r"> (?:building|finished|initializ|setting|compiling|loading|padded|data sup|learning rate|number of|"
        r"working on iteration: |found \d+ samples)",
    ),
    Line("chatter", r"(?:Number of (?:active )?parameters|Total number of|Theoretical memory|Activation memory)"),
    Line(
        "chatter",
        rf"{TAG}(?:Params for bucket \d|module\.[\w.]+(?:\s|$)|> total number |Load the |Extract the |-{{20,}}$)",
    ),
    # DeepSpeed's own words: the pipeline's step time, its report of compiled ops, its torch.
    Line("chatter", r"steps: \d+ loss: \S+ iter time \(s\): [\d.]+ samples/sec: "),
    Line("chatter", r"(?:[\w ]{2,40} \.{1,40} (?:\[\w+\]|installed)|\[WARNING\]  |\*\*\*\* Git info for Megatron)"),
    Line("chatter", r"(?:torch|deepspeed|nvcc|shared memory) [\w ./()-]{1,40} \.{3,} "),
    Line(
        "chatter",
        r"DeepSpeed (?:C\+\+|general env)|NOTE: Ops not|JIT compiled ops|runtime if needed\.|meet the required",
    ),
    Line("chatter", r"\[(?:INFO|WARNING)\] \[[\w./]+\.py:\d+:\w+\]"),
    Line("chatter", r"(?:frame #\d+: |\[W\d+ [\d:.]+ \w+\.cpp:\d+\])"),
)
SETTING = Line("setting", rf"{TAG}(?P<key>[a-z][a-z0-9_]*) \.{{3,}} (?P<value>[^\[\s].*)")
CONTROLS = Controls(
    names={
        "train_iters": "max_steps",
        "save_interval": "checkpoint_interval",
        "micro_batch_size": "batch_size",
        "seq_length": "block_size",
    },
    settable={
        "eval_interval": "eval_interval",
        "eval_iters": "eval_iters",
        "checkpoint_interval": "save_interval",
        "log_interval": "log_interval",
        "max_steps": "train_iters",
        "batch_size": "micro_batch_size",
        "block_size": "seq_length",
        "num_workers": "num_workers",
        "gc": "--manual-gc --manual-gc-interval 1000",
        "asynchronous_saving": "--async-save --ckpt-format torch_dist",
        "dtype": "--fp16 (instead of --bf16)",
        "attention": "--use-flash-attn",
    },
    syntax="--{dashed} {value}",
)

SAMPLES = (
    Sample("iteration       40/   12000 | consumed samples:        10240 | elapsed time per iter", None),  # cut
    Sample("iteration 40/12000 loss 3.1 (0.81 s)", None),
    Sample("batch-generator ................................: (2.91, 3041.55)", "data", {"took_ms": 3041.55}),
    Sample("31:     batch-generator ......................: (2.91, 3.55)", "data", {"took_ms": 3.55}),
    Sample("time (ms) | forward: 310.11 | optimizer: 20.40 | batch-generator: 4.02", "data", {"took_ms": 4.02}),
    Sample("evaluate .......................................: (9012.20, 9012.90)", "evaluation", {"took_ms": 9012.9}),
    Sample("save-checkpoint ................................: (8000.11, 8000.52)", "checkpoint", {"took_ms": 8000.52}),
    Sample("time (ms) | save-checkpoint: 5123.37", "checkpoint", {"took_ms": 5123.37}),
    Sample(
        "validation loss at iteration 2000 | lm loss value: 3.104512E+00 | lm loss PPL: 2.229838E+01 | ",
        "evaluation",
        {"step": 2000, "val_loss": 3.104512},
    ),
    Sample(
        "validation loss at iteration 30 on validation set | lm loss value: 7.5E+00 |",
        "evaluation",
        {"step": 30, "val_loss": 7.5},
    ),
    Sample(
        "validation loss at the end of training for val data | lm loss value: 2.5E+00 | lm loss PPL: 1.2E+01 |",
        "evaluation",
        {"step": None, "val_loss": 2.5},
    ),
    Sample(
        "validation results at iteration 500 | lm_loss value: 4.0E+00 | lm_loss_ppl value: 5.4E+01 |",
        "evaluation",
        {"step": 500, "val_loss": 4.0},
    ),
    Sample("validation results on WIKITEXT103 | avg loss: 2.9000E+00 | ppl: 1.8174E+01 |", "evaluation"),
    Sample("validation loss improved from 3.2 to 3.1", None),
    Sample(
        "[2026-02-03 04:06:00.100200] saving checkpoint at iteration     500 to /runs/gpt/ckpt in torch format",
        "checkpoint",
        {"step": 500, "path": "/runs/gpt/ckpt"},
    ),
    Sample("saving checkpoint to /runs/gpt/ckpt", None),
    Sample(
        "successfully loaded checkpoint from /runs/gpt/ckpt [ t 1/2, p 1/1 ] at iteration 500",
        "resume",
        {"path": "/runs/gpt/ckpt"},
    ),
    Sample("------------------------ arguments ------------------------", "start"),
    Sample("using world size: 64, data-parallel size: 16, tensor-model-parallel size: 4", "fact", {"world_size": 64}),
    Sample(
        "train_iters ..................................... 12000", "setting", {"key": "train_iters", "value": "12000"}
    ),
    Sample("0:   eval_interval ................................... 500", "setting", {"key": "eval_interval"}),
    Sample("0:   [2026-02-03 04:06:09.100200] successfully saved checkpoint from iteration     500 to /r", "chatter"),
    Sample("forward-compute ................................: (383.01, 404.20)", "chatter"),
    Sample("31:     optimizer ..............................: (3.20, 4.30)", "chatter"),
    Sample("(min, max) time across ranks (ms):", "chatter"),
    Sample("INFO:megatron.core.datasets.gpt_dataset:Load the GPTDataset train indices", "chatter"),
    Sample("time (ms) | forward: 310.11 | backward: 640.70 | optimizer: 20.40", "chatter"),
    Sample("(after 1 iterations) memory (MB) | allocated: 4300.1 | max allocated: 43000.2", "chatter"),
    Sample("[after dataloaders are built] datetime: 2026-02-03 04:04:00 ", "chatter"),
    Sample("[exiting program at iteration 900] datetime: 2026-02-03 05:04:00 ", "chatter"),
    Sample("> building train, validation, and test datasets for GPT ...", "chatter"),
    Sample("Theoretical memory footprints: weight and optimizer=4321.00 MB", "chatter"),
    Sample("Params for bucket 3 (51380224 elements, 51380224 padded size):", "chatter"),
    Sample("steps: 12 loss: 9.1011 iter time (s): 9.310 samples/sec: 3.437", "chatter"),
    Sample("fused_adam ............. [NO] ....... [OKAY]", "chatter"),
    Sample("torch install path ............... ['/opt/torch']", "chatter"),
    Sample("DeepSpeed general environment info:", "chatter"),
    Sample("[INFO] [launch.py:272:main] process 4711 spawned with command: python3", "chatter"),
    Sample("[INFO] [logging.py:96:log_dist] [Rank 0] step=0, skipped=0, lr=[0.0, 0.0]", "chatter"),
    Sample("frame #4: c10d::TCPStore::check(std::vector<std::string>)", "chatter"),
)
