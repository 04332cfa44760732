"""pytorch-CycleGAN-and-pix2pix's loss_log.txt: losses and times of single images, one header per launch."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

FORMAT = Format(
    title="CycleGAN and pix2pix loss_log.txt",
    url="https://github.com/junyanz/pytorch-CycleGAN-and-pix2pix",
    lines=(
        Line(
            "step",
            r"(?:\[Rank \d+\] )?\(epoch: (?P<epoch>\d+), iters: (?P<batch>\d+), time: (?P<dur_s>[\d.]+)"
            r"(?:, data: [\d.]+)?\)",
            weak=True,
        ),
        Line("start", r"=+ Training Loss \(.{8,60}\) =+"),
    ),
    clock=Clock(
        covers="step",
        includes=("logging",),
        note="The time per image of the one batch that is printed, without waiting for its data (`data`); where "
        "results are drawn (display_freq), that is inside. A step is an image. Epochs, saving and the images between "
        "two lines are not timed; the dates in the headers are those of the launches.",
    ),
    layout=Layout(first_step=1, first_epoch=1),
    samples=(
        Sample(
            "(epoch: 3, iters: 320, time: 0.094, data: 0.002) D_A: 0.211 G_A: 0.402",
            "step",
            {"epoch": 3, "batch": 320, "dur_s": 0.094},
        ),
        Sample("================ Training Loss (Tue Mar 02 10:11:12 2021) ================", "start"),
        Sample("(epoch: 3, iters: 320, time: 0.0", None),  # cut mid-write
        Sample("End of epoch 7 / 200 \t Time Taken: 312 sec", None),
    ),
)
