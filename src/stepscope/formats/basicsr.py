"""BasicSR, its forerunner MMSR and what was made from them, also in Paddle. Only the timestamps show the time."""

from stepscope.lines.format import Clock, Controls, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf|NaN|Inf)"
# MMSR writes the year with two digits, which no prefix has: the time of day inside the line does as well.
_STAMP = r"(?:(?:\d\d-\d\d-\d\d (?P<stamp>\d\d:\d\d:\d\d\.\d{3}) - )?INFO: )?"

FORMAT = Format(
    title="BasicSR",
    url="https://github.com/XPixelGroup/BasicSR",
    lines=(
        Line(
            "step",
            rf"{_STAMP}(?:\[[\w.]+\] ?)?[\[<]epoch: *\d+, iter: *(?P<step>[\d,]+), lr:[^\]>]{{1,120}}[\]>]"
            rf"(?: *\[eta: [^\]]{{1,60}}?(?:time \(data\): [\d.]+ \((?P<data_s>[\d.]+)\))?\])?"
            rf"(?: *l_\w+: (?P<loss>{_NUMBER}))?",
        ),
        Line("evaluation", rf"{_STAMP}# Validation(?: of \w+)? # +\w+: [\d.]+"),
        Line("evaluation", rf"{_STAMP}Validation [\w.-]+\s*$"),
        Line("checkpoint", rf"{_STAMP}Saving models and training states"),
        Line("start", rf"{_STAMP}Start training from epoch: 0, iter: 0\s*$"),
        Line("resume", rf"{_STAMP}(?:Resuming|Start) training from epoch: (?!0, iter: 0\s*$)\d+, iter: [\d,]+"),
        Line("fact", rf"{_STAMP}Total epochs needed: \d+ for iters (?P<total>[\d,]+)"),
        Line("fact", rf"{_STAMP}Network .{{1,80}} with parameters: (?P<parameters>[\d,]+)"),
        Line("fact", r"Total epochs: \d+; iters: (?P<total>[\d,]+)\.?\s*$"),
        Line("setting", r"(?P<key>val_freq|print_freq|save_checkpoint_freq): (?P<value>[\d.e]+)\s*$"),
        Line("chatter", r"Test \S+\s*$|\[[ >-]+\] *\d+/\d+, |Start\.\.\.\s*$"),  # the bar of a validation
        Line(
            "chatter",
            r"\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} - INFO: "
            r"(?![\[<]epoch: |#? ?Validation|Saving models|Start train|Resuming|Total epochs|Network .{1,80} with p)",
        ),
        # The options, and the model's layers.
        Line("chatter", r"(?!(?:val_freq|print_freq|save_checkpoint_freq|INFO):)[A-Za-z_]\w*:(?:\s|\[|$)|\]\s*$"),
        Line("chatter", r"\(\w+\): [A-Z]\w*\(|\){1,4}\s*$"),
        Line("chatter", r"[IWE]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \w+\.cc:\d+\]"),
        Line("chatter", r"(?:WARNING: )?OMP_NUM_THREADS set to|PLEASE USE OMP_NUM_THREADS WISELY"),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The timestamps of the lines, which contain everything. Older versions print neither a step time nor an "
        "eta; the eta of newer ones is the mean since the start x the iterations left.",
    ),
    layout=Layout(first_step=1, events_follow_step=True),
    controls=Controls(
        names={
            "val_freq": "eval_interval",
            "print_freq": "log_interval",
            "save_checkpoint_freq": "checkpoint_interval",
        },
        settable={
            "eval_interval": "val:val_freq",
            "checkpoint_interval": "logger:save_checkpoint_freq",
            "log_interval": "logger:print_freq",
            "num_workers": "datasets:train:num_worker_per_gpu",
        },
        syntax="--force_yml {name}={value}",
    ),
    samples=(
        Sample(
            "23-04-11 09:25:37.738 - INFO: [epoch:  2, iter:  13,500, lr:(2.000e-04,)] l_pix: 2.5000e-02",
            "step",
            {"step": 13500, "loss": 0.025},
        ),
        Sample("INFO: <epoch:  0, iter:     100, lr:1.000e-04> l_g_pix: 3.0e-02", "step", {"step": 100, "loss": 0.03}),
        Sample(
            "INFO: [toy..][epoch:  0, iter:   1,000, lr:(2.000e-04,)] [eta: 1 day, 20:30:10, time (data): 0.7 (0.02)] "
            "l_pix: nan",
            "step",
            {"step": 1000},
        ),
        Sample("23-04-11 09:25:37.738 - INFO: # Validation # PSNR: 3.1157e+01", "evaluation"),
        Sample("24-01-02 03:04:05.678 - INFO: # Validation of Net # PSNR: 3.0e+01. # SSIM: 8.0e-01.", "evaluation"),
        Sample("INFO: Validation Set5", "evaluation"),
        Sample("23-04-11 09:25:37.738 - INFO: Saving models and training states.", "checkpoint"),
        Sample("23-04-11 09:25:37.738 - INFO: Start training from epoch: 0, iter: 0", "start"),
        Sample("INFO: Resuming training from epoch: 3, iter: 20000.", "resume"),
        Sample("INFO: Total epochs needed: 98 for iters 400,000", "fact", {"total": 400000}),
        Sample("INFO: Network G structure: Toy, with parameters: 1,250,000", "fact", {"parameters": 1250000}),
        Sample("Total epochs: 81; iters: 500000.", "fact", {"total": 500000}),
        Sample("val_freq: 10000", "setting", {"key": "val_freq", "value": "10000"}),
        Sample("[>>>>>-----] 20/117, 1.5 task/s, elapsed: 13s, ETA:    64s", "chatter"),
        Sample("23-04-11 09:25:37.738 - INFO: Random seed: 10", "chatter"),
        Sample("beta1: 0.9", "chatter"),
        Sample("(conv_first): Conv2D(3, 64, kernel_size=[3, 3], padding=1)", "chatter"),
        Sample("W0607 10:11:12.131415 161718 gpu_resources.cc:61] Please NOTE: device: 0", "chatter"),
        Sample("PLEASE USE OMP_NUM_THREADS WISELY.", "chatter"),
        Sample("[epoch:  2, iter:  13,500, lr:(2.0", None),  # cut mid-write
        Sample("[TRAIN] epoch: 2, iter: 320/8000, loss: 0.56, lr: 0.008, batch_cost: 0.28, reader_cost: 0.01", None),
    ),
)
