"""torchtitan. A step line has no time, only tokens per second since the last one: the timestamps are the clock."""

from stepscope.lines.format import Clock, Controls, Format, Habits, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf|NaN|Inf)"
# Its own prefix, where no launcher put a rank before it.
_TITAN = r"(?:\[titan\] (?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:,\d+)?) - root - (?:INFO|WARNING) - )?"

FORMAT = Format(
    title="torchtitan",
    url="https://github.com/pytorch/torchtitan",
    lines=(
        Line(
            "step",
            rf"{_TITAN}step: +(?P<step>\d+)  loss: +(?P<loss>{_NUMBER})  (?:grad_norm: +{_NUMBER}  )?"
            r"memory: +[\d.]+GiB\([\d.]+%\)  tps: [\d,]+(?:  tflops: [\d.,]+)?(?:  mfu: (?P<mfu_pct>[\d.]+)%)?",
        ),
        Line("gc", rf"{_TITAN}\[GC\] .{{1,80}} took (?P<took_s>[\d.]+) seconds"),
        Line("evaluation", rf"{_TITAN}validate step: +(?P<step>\d+)  loss: +(?P<val_loss>{_NUMBER})"),
        # The last checkpoint of a run has no line of its own at its end.
        Line("checkpoint", rf"{_TITAN}Saving the checkpoint \(or staging"),
        Line("checkpoint", rf"{_TITAN}Finished saving the checkpoint .{{0,60}}in (?P<took_s>[\d.]+) seconds"),
        Line(
            "start",
            rf"{_TITAN}Trainer is initialized with local batch size (?P<batch_size>\d+), global batch size "
            r"(?P<global_batch_size>\d+), gradient accumulation steps (?P<gradient_accumulation_steps>\d+), "
            r"sequence length (?P<block_size>\d+), total steps (?P<total>\d+)",
        ),
        Line(
            "start",
            rf"{_TITAN}Trainer is initialized with local batch size (?P<batch_size>\d+), (?:global batch size \d+, )?"
            r"sequence length (?P<block_size>\d+), total steps (?P<total>\d+)",
        ),
        # Before the trainer was a class, the same line says where it starts.
        Line(
            "start",
            rf"{_TITAN}(?:Trainer initialized\. )?Training starts at step \d+(?:, with local batch size .{{0,160}}?"
            r"sequence length (?P<block_size>\d+), total steps (?P<total>\d+))?",
        ),
        Line("resume", rf"{_TITAN}Loading the checkpoint from (?P<path>\S+?)\.?$"),
        Line("fact", rf"{_TITAN}Model .{{1,120}} size: (?P<parameters>[\d,]+) total parameters"),
        Line("fact", rf"{_TITAN}torchtitan version: (?P<text>\S+)"),
        Line("remark", rf"{_TITAN}\d+ CUDA (?:memory allocation retries|OOM errors)"),
        Line("remark", rf"{_TITAN}(?:Dumping|Finished dumping) (?:profiler traces|memory snapshot)"),
        # The data set is streamed: each of these is a file fetched while training waits or does not.
        Line(
            "remark",
            r"(?:\[titan\] (?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:,\d+)?) - )?httpx - INFO - HTTP Request: GET ",
        ),
        Line(
            "chatter",
            r"(?:\[titan\] [\d: ,-]{19,24}- )?"
            r"(?:httpx|huggingface_hub[\w.]*|datasets[\w.]*) - (?:INFO|WARNING) - (?!HTTP Request: GET )",
        ),
        Line("chatter", rf"{_TITAN}(?:CUDA (?:capacity|memory)|Peak (?:flops|FLOPS)|Error running lspci|ENV\[)"),
        Line(
            "chatter",
            rf"{_TITAN}(?:Building |Successfully created meshes|Loading tokenizer|Preparing |Applied )",
        ),
        Line("fact", rf"{_TITAN}Compil(?:ed|ing) .{{1,80}} with torch\.compile", sets={"compile": True}),
        Line(
            "chatter",
            rf"{_TITAN}(?:Checkpoint(?:er|ing) |Saving a full checkpoint|Finished loading|Destroying |Process group)",
        ),
        Line(
            "chatter", rf"{_TITAN}(?:Training completed|Sleeping \d+ seconds|Synchronizing and adj|TensorBoard logging)"
        ),
        # The model's config as JSON, and the launcher's warnings.
        Line("chatter", r'(?:"\w+": .{0,200}|\d+,?|[\]}],?)$'),
        Line("chatter", r"[WE]\d{4} [\d:.]+ \d+ \S{0,200}torch/distributed/\S{1,200}\]"),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The time between the stamps of two lines, with everything that happened between them. The printed tps "
        "covers the steps since the last line and leaves validation out; the total is in the header. No ETA.",
    ),
    layout=Layout(first_step=1),
    habits=Habits(kept_checkpoints=10, prints_checkpoints=True),
    controls=Controls(
        settable={
            "eval_interval": "validation.freq",
            "checkpoint_interval": "checkpoint.interval",
            "log_interval": "metrics.log_freq",
            "max_steps": "training.steps",
            "batch_size": "training.local_batch_size",
            "block_size": "training.seq_len",
            "gc": "--training.gc_freq=1000",
            "asynchronous_saving": "--checkpoint.async_mode=async",
            "keep_saves": "checkpoint.keep_latest_k",
        },
        syntax="--{name}={value}",
    ),
    samples=(
        Sample(
            "[titan] 2026-02-03 04:05:06,789 - root - INFO - Compiling the loss function with torch.compile", "fact"
        ),
        Sample(
            "step: 130  loss:  4.20731  grad_norm:  0.4411  memory: 21.07GiB(66.12%)  tps: 3,105  tflops: 19.20"
            "  mfu: 6.15%",
            "step",
            {"step": 130, "loss": 4.20731, "mfu_pct": 6.15},
        ),
        Sample(
            "[titan] 2026-02-03 04:05:06,789 - root - INFO - step:  1  loss: 12.20010  memory:  9.55GiB(30.00%)"
            "  tps: 201  mfu: 0.39%",
            "step",
            {"step": 1, "loss": 12.2001, "mfu_pct": 0.39},
        ),
        Sample("step: 10  loss: nan  grad_norm: nan  memory: 21.07GiB(66.12%)  tps: 3,105", "step", {"mfu_pct": None}),
        Sample("step: 130  loss:  4.20731  grad_norm:  0.4411", None),  # cut by a crash mid-write
        Sample("step: 130 loss: 4.2 lr: 3e-4", None),
        Sample("[GC] Performing periodic GC collection took 1.74 seconds", "gc", {"took_s": 1.74}),
        Sample(
            "validate step: 2000  loss:  3.5112  memory: 21.07GiB(66.12%)  tps: 8,011", "evaluation", {"step": 2000}
        ),
        Sample("Saving the checkpoint (or staging if async is enabled).", "checkpoint"),
        Sample(
            "Finished saving the checkpoint (or staging if async is enabled) in 7.02 seconds.",
            "checkpoint",
            {"took_s": 7.02},
        ),
        Sample(
            "Finished saving the checkpoint (or staging if async is enabled)in 7.02 seconds.",
            "checkpoint",
            {"took_s": 7.02},
        ),
        Sample(
            "Trainer is initialized with local batch size 4, global batch size 64, gradient accumulation steps 2, "
            "sequence length 4096, total steps 9000 (warmup 300)",
            "start",
            {"total": 9000, "batch_size": 4, "gradient_accumulation_steps": 2, "block_size": 4096},
        ),
        Sample(
            "Trainer is initialized with local batch size 4, global batch size 64, sequence length 4096, "
            "total steps 9000 (warmup 300)",
            "start",
            {"total": 9000, "batch_size": 4},
        ),
        Sample("Training starts at step 501", "start"),
        Sample(
            "Trainer initialized. Training starts at step 1, with local batch size 4, global batch size 32, "
            "sequence length 4096, total steps 9000 (warmup 300)",
            "start",
            {"block_size": 4096, "total": 9000},
        ),
        Sample(
            "Loading the checkpoint from /runs/a/checkpoint/step-500.",
            "resume",
            {"path": "/runs/a/checkpoint/step-500"},
        ),
        Sample("Model llama3 8B size: 8,030,261,248 total parameters", "fact", {"parameters": 8030261248}),
        Sample("torchtitan version: 0.2.0 (0.0.0 means __version__ is not defined correctly).", "fact"),
        Sample("12 CUDA memory allocation retries.", "remark"),
        Sample("Dumping profiler traces at step 40", "remark"),
        Sample("Finished dumping profiler traces in 0.31 seconds", "remark"),
        Sample('httpx - INFO - HTTP Request: GET https://example.org/data "HTTP/1.1 200 OK"', "remark"),
        Sample("datasets - WARNING - a shard is missing its checksum", "chatter"),
        Sample("CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory", "chatter"),
        Sample("Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=4, cp=1, tp=1", "chatter"),
        Sample("Checkpointing active. Checkpoints will be loaded from and saved to /runs/a/checkpoint", "chatter"),
        Sample("Training completed", "chatter"),
        Sample('"hidden_size": 1024,', "chatter"),
        Sample("W0203 04:05:00.100000 4711 torch/distributed/run.py:803] Setting OMP_NUM_THREADS", "chatter"),
    ),
)
