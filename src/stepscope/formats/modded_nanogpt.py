"""modded-nanogpt's speedrun logs. A running clock that stops for validation and, in 2024, began again at step 10."""

from stepscope.lines.format import Clock, Format, Habits, Layout, Line, Sample

_NUMBER = r"[-+]?(?:\d[\d.]*+(?:[eE][-+]?\d++)?|nan|inf)"
_CLOCK = r"train_time:(?:(?P<elapsed_ms>[\d.]+)ms|(?P<elapsed_s>[\d.]+)s) step_avg:"
# What its programs call a batch or an attention window that grows; any attention window may be one that grows.
_GROWS = r"(?i)window|(?:ws|bs|batch_size|seq_len)s?_schedule|blocksize|get_(?:ws|bs)\b"

FORMAT = Format(
    title="modded-nanogpt",
    url="https://github.com/KellerJordan/modded-nanogpt",
    lines=(
        Line("step", rf"step:(?P<step>\d+)/(?P<total>\d+) (?:train_loss:(?P<loss>{_NUMBER}) )?{_CLOCK}"),
        Line(
            "evaluation",
            # With its clock: some logs have no other lines than these.
            rf"step:(?P<step>\d+)/(?P<total>\d+) val_loss:(?P<val_loss>{_NUMBER}) (?:[a-z_]{{1,24}}:{_NUMBER} ){{0,4}}"
            rf"{_CLOCK}",
        ),
        Line("start", r"Running (?:[Pp]y[Tt]orch) \S+ compiled for CUDA"),
        Line("chatter", r"Running (?:Python|Triton version) \d"),
        Line("chatter", r"(?:Training|Validation) DataLoader: total number of tokens: \d+ across \d+ files"),
        Line("chatter", r"={20,}\s*$|nvidia-smi:\s*$|inductor_output_code: |peak memory \w+: \d+"),
        # nvidia-smi's date: as a timestamp it would hold for all later lines. (Or nothing: after a tag it is one)
        Line("chatter", r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d \d{4})?\s*$"),
        Line(
            "chatter",
            r"\|.{40,}\|\s*$|[A-Z\d][^|]{8,}\|[^|]{8,}\|[^|]{8,}\|\s*$|[|+][-=+|]{40,}\s*$",
        ),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("data", "logging"),
        note="Time trained since the clock began; it stands still during validation and saving. In logs of 2024 it "
        "starts over after step 10, in later ones the warm-up comes before it, so its last value leaves out compiling "
        "and validation. No ETA is printed.",
    ),
    layout=Layout(first_step=1, events_follow_step=True),
    habits=Habits(
        # Batch and attention window grow on the way in most of its records.
        step_cost_follows_schedule=True,
        schedule_pattern=_GROWS,
    ),
    samples=(
        Sample(
            "step:412/3200 train_loss:4.2210 train_time:61984ms step_avg:154.19ms",
            "step",
            {"step": 412, "total": 3200, "loss": 4.221, "elapsed_ms": 61984, "elapsed_s": None},
        ),
        Sample(
            "step:3/3200 train_loss:8.1022 train_time:31207ms step_avg:nanms", "step", {"step": 3, "elapsed_ms": 31207}
        ),
        Sample(
            "step:90/1770 train_time:5318ms step_avg:59.09ms",
            "step",
            {"step": 90, "total": 1770, "loss": None, "elapsed_ms": 5318},
        ),
        Sample(
            "step:90/1770 train_time:5.318s step_avg:59.09ms",
            "step",
            {"step": 90, "elapsed_ms": None, "elapsed_s": 5.318},
        ),
        Sample("step:90/1770 train_time:53", None),  # cut mid-write
        Sample('    print0(f"step:{step+1}/{train_steps} train_time:{ms:.0f}ms step_avg:{avg:.2f}ms")', None),
        Sample(
            "step:125/3200 val_loss:5.0340 train_time:17790ms step_avg:154.70ms",
            "evaluation",
            {"step": 125, "val_loss": 5.034},
        ),
        Sample(
            "step:250/1770 val_loss:4.1003 val_ema_loss:4.0870 train_time:14.9s step_avg:59.60ms",
            "evaluation",
            {"step": 250, "val_loss": 4.1003},
        ),
        Sample("Running pytorch 2.5.0+cu121 compiled for CUDA 12.1", "start"),
        Sample("Running PyTorch 2.8.0+cu126 compiled for CUDA 12.6", "start"),
        Sample("Running Python 3.11.4 (main, Jan  5 2025, 10:00:00) [GCC 12.2.0]", "chatter"),
        Sample("Training DataLoader: total number of tokens: 900000000 across 9 files", "chatter"),
        Sample("=" * 100, "chatter"),
        Sample("inductor_output_code: /tmp/torchinductor_user/ab/cabcd.py", "chatter"),
        Sample("peak memory allocated: 31000 MiB reserved: 40000 MiB", "chatter"),
        Sample("Sat Mar  1 09:08:07 2025       ", "chatter"),
        Sample("| N/A   41C    P0             120W / 700W |   5000MiB / 81559MiB |      3%      Default |", "chatter"),
        Sample("+-----------------------------------------+----------------------+---------------------+", "chatter"),
    ),
)
