"""nanochat: tokenizer, base training, midtraining, SFT and evals in one file. Its dt leaves evaluations out."""

from stepscope.lines.format import Clock, Controls, Format, Habits, Line, Sample

_NUMBER = r"[-+]?(?:\d[\d.]*+(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="nanochat",
    url="https://github.com/karpathy/nanochat",
    lines=(
        Line(
            "step",
            # The phases after base training do not say how many steps there are, only which share of the rows is done.
            rf"step (?P<step>\d{{5,}})(?:/(?P<total>\d{{5,}}) \([\d.]+%\)| \((?P<percent>[\d.]+)%\)) \| "
            rf"loss: (?P<loss>{_NUMBER}) \|(?: [^|]{{1,60}} \|){{0,4}} dt: (?P<dur_ms>[\d.]+)ms \| tok/sec: [\d,]+"
            rf"(?: \| (?:bf16_)?mfu: (?P<mfu_pct>{_NUMBER}))?",
        ),
        Line("evaluation", rf"Step (?P<step>\d{{5,}}) \| Validation (?:bpb|loss): (?P<val_loss>{_NUMBER})"),
        Line("evaluation", rf"Step (?P<step>\d{{5,}}) \| (?:CORE metric|ChatCORE): {_NUMBER}"),
        Line(
            "checkpoint",
            r"nanochat\.checkpoint_manager - INFO - Saved model (?:file|parameters) to: "
            r"(?P<path>.*model_(?P<step>\d+)\.pt)",
        ),
        # One of these is printed by every phase that trains, and by no other.
        Line(
            "start",
            r"(?:Calculated number of iterations from target (?:data:param ratio|FLOPs)"
            r"|Using user-provided number of iterations): (?P<total>[\d,]+)",
        ),
        Line("start", r"Training mixture: [\d,]+ rows"),
        Line("resume", r"Resuming optimization from step \d+"),
        Line("fact", r"nanochat\.common - INFO - Distributed world size: (?P<world_size>\d+)"),
        Line(
            "fact",
            r"Total batch size (?P<tokens_per_step>[\d,]+) => gradient accumulation steps: "
            r"(?P<gradient_accumulation_steps>[\d,]+)",
        ),
        Line("fact", r"Tokens / micro-batch / rank: (?P<batch_size>\d+) x (?P<block_size>\d+) = "),
        Line("fact", r"(?:Number of parameters|total {10,}): (?P<parameters>[\d,]+)"),
        Line("setting", r"Overriding: (?P<key>\w+) = (?P<value>.+)"),
        Line("chatter", r"Evaluating: \w+ \(\d+-shot, type: \w+\)\.\.\.|(?:Rank \d+ \| )?\d+/\d+ \(|Final: \d+/\d+ \("),
        Line("chatter", r"(?:ARC-Easy|ARC-Challenge|MMLU|GSM8K|HumanEval|SpellingBee)(?: accuracy)?: [\d.]+%"),
        Line("chatter", r"(?:nanochat\.\w+|rustbpe) - (?:INFO|WARNING) - (?!Saved model |Distributed world)"),
        Line("chatter", r"Skipping \S+\.parquet|Successfully downloaded |Downloading (?:\S+\.parquet|\d+ shards)"),
        Line("chatter", r"\[W\d+ [\d:.]+ AllocatorConfig\.cpp|Muon: Grouping \d+ params"),
        Line("chatter", r"<\|bos\|>|Inherited \w+=|Scaling (?:the )?(?:LRs?|weight decay) |Autodetected device type: "),
        # Older versions train SFT and RL without a clock.
        Line("chatter", r"Step \d+/\d+ \| (?:Training loss|Example|Average reward)"),
        Line("chatter", r'"(?:sequence_len|vocab_size|n_layer|n_head|n_kv_head|n_embd|window_pattern)": '),
        Line("chatter", r"[█░⠀-⣿]|[-=!]{20,}\s*$"),  # the banner, bars and rules
        Line("chatter", r"[+~-] [\w.-]+==\d\S*(?: \(from .*)?$"),  # uv, installing
        Line("chatter", r"\d+ +\d+k? +\d+ +\d+k? +\d+ +\d+ +\d+k? +\d+ +[\d:-]+ "),  # curl, downloading
        Line("chatter", r"Total (?:training time|number of training tokens): |Minimum validation bpb: |Peak memory "),
    ),
    clock=Clock(
        covers="step",
        includes=("data",),
        note="The time of one step, the printed one, with the GPU waited for; evaluation, CORE, sampling and saving "
        "are outside it. `total time` adds these up from the eleventh step on and `eta` is reckoned from it, so "
        "neither knows of evaluations.",
    ),
    habits=Habits(evaluates_at_first_step=True, saves_at_first_step=False, kept_checkpoints=0, prints_checkpoints=True),
    controls=Controls(
        settable={
            "eval_interval": "eval-every",
            "checkpoint_interval": "save-every",
            "batch_size": "device-batch-size",
        },
        syntax="--{name}={value}",
    ),
    samples=(
        Sample(
            "step 00412/08100 (5.09%) | loss: 3.902217 | lrm: 1.00 | dt: 512.44ms | tok/sec: 1,023,119 | bf16_mfu:"
            " 48.10 | epoch: 1 | total time: 3.43m | eta: 65.6m",
            "step",
            {"step": 412, "total": 8100, "loss": 3.902217, "dur_ms": 512.44, "mfu_pct": 48.1},
        ),
        Sample(
            "step 00003/21400 (0.01%) | loss: 9.120031 | grad norm: 1.0210 | lrm: 1.00 | dt: 9120.77ms | tok/sec:"
            " 57,482 | mfu: 11.02 | total time: 0.00m",
            "step",
            {"step": 3, "total": 21400, "dur_ms": 9120.77, "mfu_pct": 11.02},
        ),
        Sample(
            "step 00077 (9.31%) | loss: 1.204410 | lrm: 0.95 | dt: 611.03ms | tok/sec: 858,010 | mfu: 40.12 | epoch: 1"
            " | total time: 0.68m",
            "step",
            {"step": 77, "total": None, "percent": 9.31, "dur_ms": 611.03},
        ),
        Sample("step 00412/08100 (5.09%) | loss: 3.902217 | lrm: 1.00 | dt: 512.", None),  # cut mid-write
        Sample("step   412 | loss: 3.902217 | lr 6.0e-04 | norm: 0.31 | dt: 512.44ms | tok/sec: 1023119.02", None),
        Sample("Step 00500 | Validation bpb: 0.951204", "evaluation", {"step": 500, "val_loss": 0.951204}),
        Sample("Step 00100 | Validation loss: 1.020410", "evaluation", {"step": 100, "val_loss": 1.02041}),
        Sample("Step 04000 | CORE metric: 0.1902", "evaluation", {"step": 4000}),
        Sample("Step 00200 | ChatCORE: 0.2510 | ChatCORE_cat: 0.1700", "evaluation", {"step": 200}),
        Sample(
            "nanochat.checkpoint_manager - INFO - Saved model parameters to: /data/d12/model_004000.pt",
            "checkpoint",
            {"step": 4000, "path": "/data/d12/model_004000.pt"},
        ),
        Sample("Calculated number of iterations from target data:param ratio: 8,100", "start", {"total": 8100}),
        Sample("Using user-provided number of iterations: 50", "start", {"total": 50}),
        Sample("Training mixture: 610,000 rows (MMLU x3, GSM8K x4)", "start"),
        Sample("Resuming optimization from step 4000", "resume"),
        Sample("nanochat.common - INFO - Distributed world size: 8", "fact", {"world_size": 8}),
        Sample(
            "Total batch size 524,288 => gradient accumulation steps: 4",
            "fact",
            {"tokens_per_step": 524288, "gradient_accumulation_steps": 4},
        ),
        Sample("Tokens / micro-batch / rank: 16 x 2048 = 32,768", "fact", {"batch_size": 16, "block_size": 2048}),
        Sample("Number of parameters: 290,000,640", "fact", {"parameters": 290000640}),
        Sample("total                   : 1,100,000,256", "fact", {"parameters": 1100000256}),
        Sample("Overriding: depth = 12", "setting", {"key": "depth", "value": "12"}),
        Sample("Evaluating: piqa (10-shot, type: multiple_choice)... accuracy: 0.6 | time: 4.1s", "chatter"),
        Sample("Rank 0 | 12/20 (60.00%)", "chatter"),
        Sample("GSM8K accuracy: 6.10%", "chatter"),
        Sample("rustbpe - INFO - Starting merge loop", "chatter"),
        Sample("Skipping /data/base_data/shard_00042.parquet (already exists)", "chatter"),
        Sample("[W301 10:00:00.123456789 AllocatorConfig.cpp:28] Warning: deprecated", "chatter"),
        Sample("Autodetected device type: cuda", "chatter"),
        Sample("<|bos|>The longest river of Europe is the Volga", "chatter"),
        Sample("Step 00010/00700 | Training loss: 1.020410| lrm: 0.98| num_tokens: 10,240", "chatter"),
        Sample('"n_layer": 12,', "chatter"),
        Sample("█████░░░░░ [1/4] numpy==2.1.0", "chatter"),
        Sample("+ numpy==2.1.0", "chatter"),
        Sample("12 3100k   12  372k    0     0  50120      0  0:01:03  0:00:07  0:00:56 48211", "chatter"),
        Sample("Total training time: 98.20m", "chatter"),
    ),
)
