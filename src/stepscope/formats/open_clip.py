"""OpenCLIP: a line every hundred batches with the mean of their times; what it counts is samples."""

from stepscope.lines.format import Clock, Format, Line, Sample

_NUMBER = r"(?:[-+]?[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="OpenCLIP",
    url="https://github.com/mlfoundations/open_clip",
    lines=(
        Line(
            "step",
            r"Train Epoch: (?P<epoch>\d+) \[ *(?P<done_samples>\d+)/(?P<of_samples>\d+) \(\d+%\)\] "
            rf"(?:Loss: (?P<loss>{_NUMBER}) \({_NUMBER}\) )?Data \(t\): [\d.]+ "
            r"Batch \(t\): (?P<dur_s>[\d.]+), (?P<batch_samples_per_s>[\d.]+(?:e\+\d+)?)/s",
        ),
        Line("evaluation", r"Eval Epoch: \d+ "),
        Line("start", r"Running (?:in distributed mode|with a single process)"),
        Line("resume", r"=> resuming checkpoint '(?P<path>[^']+)'"),
        Line("chatter", r"(?:Starting|Finished) zero-shot |Building zero-shot classifier|Using classifier"),
        Line("chatter", r"Start epoch \d+\s*$|Params:\s*$|Model:\s*$|Loaded \S+ model config"),
    ),
    clock=Clock(
        covers="window",
        includes=("data", "logging"),
        note="Batch (t) is the mean of the batches since the line before; the rates behind it are those of the last of "
        "them. A step is a batch: the samples in brackets are divided by what rate and time make of one. Evaluation "
        "and saving come between epochs and are outside. epochs stands among the Params; no ETA is printed.",
    ),
    samples=(
        Sample(
            "Train Epoch: 2 [ 412160/1281024 (32%)] Data (t): 0.031 Batch (t): 0.512, 8012.10/s, 1001.51/s/gpu LR: "
            "0.000412 Logit Scale: 14.921 Contrastive_loss: 4.1021 (4.2210)",
            "step",
            {"epoch": 2, "done_samples": 412160, "of_samples": 1281024, "dur_s": 0.512, "batch_samples_per_s": 8012.1},
        ),
        Sample("Eval Epoch: 3 imagenet-zeroshot-val-top1: 0.2011\timagenet-zeroshot-val-top5: 0.4312", "evaluation"),
        Sample("Running in distributed mode with multiple processes. Device: cuda:0.", "start"),
        Sample("=> resuming checkpoint 'logs/a/epoch_3.pt' (epoch 3)", "resume"),
        Sample("Starting zero-shot imagenet.", "chatter"),
        Sample("Start epoch 3", "chatter"),
        Sample("Train Epoch: 2 [ 412160/1281024 (32%)] Data (t): 0.031 Batch (t): 0.51", None),  # cut mid-write
        Sample("Train Epoch: 2 [640/60000 (1%)]\tLoss: 2.1", None),  # PyTorch's MNIST example
    ),
)
