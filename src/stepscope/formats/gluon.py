"""Gluon's image classification scripts: no timestamps, rates without a known batch; only a whole epoch has a time."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

FORMAT = Format(
    title="MXNet Gluon",
    url="https://github.com/dmlc/gluon-cv",
    lines=(
        Line("step", r"\[Epoch (?P<step>\d+)\] speed: [\d.]+ samples/sec\s+time cost: (?P<dur_s>[\d.]+)"),
        Line("evaluation", r"\[Epoch \d+\] validation: "),
        Line("start", r"Namespace\(.{0,3000}?\bnum_epochs=(?P<total>\d+), num_gpus=\d+"),
        # The last field distinguishes these lines from those of MXNet's Module.
        Line("chatter", r"Epoch\[\d+\] Batch \[\d+\]\s+Speed: [\d.]+ samples/sec\s.{0,200}\blr=[\d.e+-]+"),
        Line("chatter", r"\[Epoch \d+\] training: "),
    ),
    clock=Clock(
        covers="step",
        includes=("data", "logging"),
        note="A step here is an epoch: 'time cost' is its time without validation and saving. Within an epoch only "
        "samples per second are printed, and some scripts multiply the batch size of the header by the devices, "
        "some do not. There is no ETA.",
    ),
    layout=Layout(events_follow_step=True),
    samples=(
        Sample("[Epoch 8] speed: 121 samples/sec\ttime cost: 10580.690000", "step", {"step": 8, "dur_s": 10580.69}),
        Sample("[Epoch 8] validation: err-top1=0.4311 err-top5=0.1902", "evaluation"),
        Sample("Namespace(batch_size=64, num_epochs=90, num_gpus=4, wd=0.0001)", "start", {"total": 90}),
        Sample("Epoch[8] Batch [4999]\tSpeed: 121.270000 samples/sec\taccuracy=0.551000\tlr=0.000800", "chatter"),
        Sample("[Epoch 8] training: accuracy=0.551", "chatter"),
        Sample("Epoch[8] Batch [4980-5000]\tSpeed: 2648.90 samples/sec\taccuracy=0.61", None),
        Sample("[Epoch 8] speed: 121 samples/sec", None),
    ),
)
