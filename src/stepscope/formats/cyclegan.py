"""pytorch-CycleGAN-and-pix2pix: losses of single images, and at the end of an epoch the time it took."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

FORMAT = Format(
    title="CycleGAN and pix2pix",
    url="https://github.com/junyanz/pytorch-CycleGAN-and-pix2pix",
    lines=(
        Line("step", r"End of epoch (?P<step>\d+) / (?P<total>\d+)\s+Time Taken: (?P<dur_s>[\d.]+) sec"),
        Line("checkpoint", r"saving the (?:latest model \(epoch \d+, total_iters \d+\)|model at the end of epoch )"),
        Line("fact", r"The number of training images = (?P<training_images>\d+)"),
        Line("chatter", r"(?:\[Rank \d+\] )?\(epoch: \d+, iters: \d+, time: [\d.]+, data: [\d.]+\)"),
        Line(
            "chatter", r"learning rate [\d.e-]+ -> |create web directory|initialize network with |dataset \[\w+\] was"
        ),
    ),
    clock=Clock(
        covers="step",
        includes=("checkpoint", "data", "logging"),
        note="The time of one epoch in whole seconds, saving included: a step is an epoch here. The lines of single "
        "images tell the time per image of one batch, without loading, and count images. The number of epochs stands "
        "on the line; no ETA is printed.",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample("End of epoch 7 / 200 \t Time Taken: 312 sec", "step", {"step": 7, "total": 200, "dur_s": 312}),
        Sample("saving the latest model (epoch 7, total_iters 5000)", "checkpoint"),
        Sample("saving the model at the end of epoch 5, iters 5335", "checkpoint"),
        Sample("The number of training images = 1067", "fact", {"training_images": 1067}),
        Sample("(epoch: 7, iters: 400, time: 0.291, data: 0.002) D_A: 0.211 G_A: 0.402", "chatter"),
        Sample("learning rate 0.0002000 -> 0.0002000", "chatter"),
        Sample("End of epoch 7 / 200 \t Time Tak", None),  # cut mid-write
    ),
)
