"""llama.cpp's `finetune` and `train-text-from-scratch`: whole seconds an iteration, and the time left."""

from stepscope.lines.format import Clock, Format, Line, Sample

FORMAT = Format(
    title="llama.cpp",
    url="https://github.com/ggml-org/llama.cpp",
    lines=(
        Line(
            "step",
            r"train_opt_callback: iter=\s*(?P<step>\d+) sample=\d+/\d+ sched=[\d.]+ loss=(?P<loss>[-+\w.]+)"
            r" dt=(?P<dur_clock>[\d:]+) eta=[\d:]+",
        ),
        # The first has no time yet.
        Line("chatter", r"train_opt_callback: iter=\s*\d+ sample=\d+/\d+ sched=[\d.]+ loss=[-+\w.]+\s*\|"),
        Line("checkpoint", r"save_checkpoint_lora_file: saving to (?P<path>\S+)"),
        Line("checkpoint", r"save_checkpoint_file: saving to (?P<path>\S+)"),
        Line("start", r"main: begin training\s*$"),
        Line(
            "chatter",
            r"(?:main(?!: begin training)|tokenize_file|print_(?:lora_)?params|llama_model_loader|llm_load\w*): ",
        ),
    ),
    clock=Clock(
        covers="step",
        includes=("data", "logging"),
        note="The time of one iteration in whole seconds. `eta` counts the iterations that the optimizer was asked "
        "for, which may end long before the samples do.",
    ),
    samples=(
        Sample(
            "train_opt_callback: iter=    31 sample=32/2210 sched=0.310000 loss=4.122004 dt=00:02:41 eta=01:12:03 |->",
            "step",
            {"step": 31, "loss": 4.122004},
        ),
        Sample("train_opt_callback: iter=     0 sample=1/2210 sched=0.000000 loss=0.000000 |->", "chatter"),
        Sample("save_checkpoint_lora_file: saving to checkpoint-10.gguf", "checkpoint", {"path": "checkpoint-10.gguf"}),
        Sample("save_checkpoint_file: saving to chk-10.gguf", "checkpoint"),
        Sample("main: begin training", "start"),
        Sample("main: work_size = 512272 bytes (0.5 MB)", "chatter"),
        Sample("train_opt_callback: iter=    31 sample=32/2210 sched=0.31", None),  # cut mid-write
        Sample("iter=31 loss=4.1", None),
    ),
)
