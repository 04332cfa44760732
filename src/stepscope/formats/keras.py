"""Keras' fit(), the progress bars of Keras 2 and 3: an epoch's own clock, which is an ETA until the epoch is over."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"
# What a terminal or a file without carriage returns shows in front of a full bar: the bar that it was drawn over.
_OVERDRAWN = r"(?:\d+/\d+ \[=*>?\.*\] - ETA: [^\[]{0,700}?(?<!\d))?"
# The whole epoch, and so the number of steps its figure is the time of. A bar that is not full is not read: what it
# shows on the left is time to go.
_EPOCH = rf"{_OVERDRAWN}(?P<batches>(?P<per_steps>\d+))/(?P=batches) "
_RATE = r" \d+(?:us|ms|s)/step"
_LOSS = (
    rf" - (?>(?:[\w/]{{1,40}}: {_NUMBER} - ){{0,20}}?loss: (?P<loss>{_NUMBER}))"
    rf"(?>.{{0,400}}? - val_loss: (?P<val_loss>{_NUMBER}))?"
)

FORMAT = Format(
    title="Keras",
    url="https://github.com/keras-team/keras",
    lines=(
        # Of a few whole seconds, the rounded time of a step says more.
        Line("step", rf"(?P<batches>\d+)/(?P=batches) (?:\[=+\] -|━+) [1-4]s (?P<dur_ms>\d{{2,}})ms/step{_LOSS}"),
        # Before 2.0.7 there is no time per step.
        Line("step", rf"{_EPOCH}\[=+\] - (?P<dur_s>[1-9]\d*)s(?:{_RATE})?{_LOSS}"),
        # Keras 3 shows a full bar with "0s" to go first, and the time it took once validation is over.
        Line("step", rf"{_EPOCH}━+ (?P<dur_s>[1-9]\d*)s{_RATE}{_LOSS}"),
        # From 2.8 on it prints short epochs in milliseconds.
        Line(
            "step",
            rf"(?P<batches>(?P<per_steps>\d+))/(?P=batches) - \d+s{_LOSS}.{{0,400}}? - (?P<dur_ms>\d+)ms/epoch - ",
        ),
        # verbose=2 draws no bar
        Line(
            "step",
            rf"(?P<batches>(?P<per_steps>\d+))/(?P=batches) - (?P<dur_s>[1-9]\d*)s(?!.{{0,800}}\dms/epoch)"
            rf"(?: -{_RATE})?{_LOSS}",
        ),
        # An epoch of less than half a second has only the rounded time of a step.
        Line("step", rf"(?P<batches>\d+)/(?P=batches) \[=+\] - 0s (?P<dur_ms>\d+)ms/step{_LOSS}"),
        # fit() begins: it counts from 1, and each call is a training of its own.
        Line("start", r"Epoch (?P<epoch>0*1)/(?P<epochs>\d+)(?=\s*$|\[)"),
        Line("fact", r"Epoch (?P<epoch>(?!0*1/)\d+)/(?P<epochs>\d+)(?=\s*$|\[)"),
        # The bars of old versions count samples; with the time of one they are read by epochs, as another format.
        Line("fact", r"Train on (?P<epoch_samples>\d+) samples", weak=True),
        Line("checkpoint", r"Epoch \d+: (?:\w+ improved from \S+ to \S+, )?saving model to (?P<path>.+)"),
        Line("chatter", r"Epoch \d+: (?:\w+ did not improve|early stopping|\w+ reducing learning rate)"),
        Line("fact", r"(?P<bar_batch>\d+)/(?P<bar_batches>\d+) \[(?:=*>\.*|\.+)\]? - ETA: (?P<bar_left>\d[\d:]*s?)"),
        # The last batch of the epoch is done; its validation begins.
        Line("fact", r"(?P<trained>\d+)/(?P=trained) \[=+\]? - ETA: 0s(?= - )"),
        Line("chatter", r"(?!(\d+)/\1 \[=+\]? - ETA: 0s - )\d+/(?:\d+ \[=+\]?|Unknown \[[=>.]+\]?) - ETA: "),
        # The first step, and the full bar before validation: what the steps took without it.
        Line("fact", rf"1/(?!1 )\d+ ━+ \d[\d:]*s? (?P<bar_first>\d+(?:ms|s))/step{_LOSS}"),
        Line("fact", rf"(?P<bar_steps>(?P<trained>\d+))/(?P=bar_steps) ━+ 0s (?P<bar_mean_ms>\d{{2,}})ms/step{_LOSS}"),
        Line("fact", r"(?P<trained>\d+)/(?P=trained) ━+ 0s(?: \d+(?:us|ms|s)/step)?(?= - )"),
        Line(
            "chatter",
            r"(?!(\d+)/\1 ━+ (?:[1-9]|0s \d+(?:us|ms|s)/step - )|1/(?!1 ))"
            r"\d+/\d+ [━╸╺─]+ \d[\d:]*s? \d+(?:us|ms|s)/step",
        ),
        Line("chatter", r"\d+/\d+ \[=+\] - \d+s \d+(?:us|ms|s)/step\s*$"),  # predict() and downloads
        Line("chatter", r"[IWE] (?:tensorflow|external|0000 00:00:)|(?:WARNING|INFO):tensorflow:"),
        Line("chatter", r"Model: \"|_{20,}\s*$|={20,}\s*$|(?:Total|Trainable|Non-trainable) params: "),
        Line("chatter", r"[\w.]{1,40} \(\w{1,30}\)? {2,}(?:\[?\(|multiple)|Layer \(type\)"),
        Line("chatter", r"Found \d+ (?:validated image filenames|images|files) belonging to \d+ classes"),
    ),
    clock=Clock(
        covers="window",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The figure is the wall time of one epoch in whole seconds, validation and callbacks inside, and a step "
        "is a batch; it is printed once, when the epoch is over. Until then the bar shows an ETA for this epoch alone, "
        "without validation; ms/step leaves the first step out.",
    ),
    layout=Layout(first_step=1, first_epoch=1, epochs_follow=True),
    samples=(
        Sample(
            "250/250 [==============================] - 871s 3s/step - loss: 1.2071 - accuracy: 0.5916 - val_loss: 1.1",
            "step",
            {"batches": 250, "per_steps": 250, "dur_s": 871, "loss": 1.2071},
        ),
        Sample(
            "80/80 [==============================] - 4s 51ms/step - accuracy: 0.5 - loss: 0.7",
            "step",
            {"batches": 80, "dur_ms": 51.0, "loss": 0.7},
        ),
        Sample(
            "250/250 ━━━━━━━━━━━━━━━━━━━━ 12s 44ms/step - accuracy: 0.71 - loss: 0.9031 - val_loss: 0.88",
            "step",
            {"batches": 250, "dur_s": 12, "loss": 0.9031},
        ),
        Sample(
            "118/118 [==============================] - 14s - loss: 0.4431 - acc: 0.81 - val_loss: 0.5102",
            "step",
            {"batches": 118, "dur_s": 14, "loss": 0.4431, "val_loss": 0.5102},
        ),
        Sample("1563/1563 - 31s - 20ms/step - accuracy: 0.44 - loss: 1.53", "step", {"per_steps": 1563, "dur_s": 31}),
        Sample("1563/1563 - 29s - loss: 1.53 - accuracy: 0.44", "step", {"per_steps": 1563, "dur_s": 29}),
        Sample("40/40 [==============================] - 0s 2ms/step - loss: 0.6931", "step", {"dur_ms": 2.0}),
        Sample(
            "64/64 - 0s - loss: 2.4100 - accuracy: 0.2013 - 412ms/epoch - 6ms/step",
            "step",
            {"batches": 64, "per_steps": 64, "dur_ms": 412, "loss": 2.41},
        ),
        Sample("Epoch 1/12", "start", {"epoch": 1, "epochs": 12}),
        Sample("Epoch 3/12", "fact", {"epoch": 3, "epochs": 12}),
        Sample("Epoch 8/10[======>.......................] - ETA: 12s", "fact", {"epoch": 8, "epochs": 10}),
        Sample("Train on 2400 samples, validate on 600 samples", "fact", {"epoch_samples": 2400}),
        Sample("Epoch 3: val_loss improved from 0.41 to 0.40, saving model to a.h5", "checkpoint", {"path": "a.h5"}),
        Sample("Epoch 00003: saving model to ckpt/03.keras", "checkpoint", {"path": "ckpt/03.keras"}),
        Sample("Epoch 4: val_loss did not improve from 0.40", "chatter"),
        Sample(
            "12/250 [>.............................] - ETA: 5:12 - loss: 2.4011",
            "fact",
            {"bar_batch": 12, "bar_batches": 250},
        ),
        Sample("4/411 [..............................] - ETA: 14:06:50 - loss: 11.06", "fact", {"bar_batch": 4}),
        Sample("250/250 [==============================] - ETA: 0s - loss: 1.2071", "fact", {"trained": 250}),
        Sample("250/250 [==============================] - ETA: 3s - loss: 1.2071", "chatter"),
        Sample("12/250 ━━━━━━━━━━━━━━━━━━━━ 11s 46ms/step - loss: 2.4011", "chatter"),
        Sample(
            "250/250 ━━━━━━━━━━━━━━━━━━━━ 0s 44ms/step - loss: 0.9031",
            "fact",
            {"trained": 250, "bar_steps": 250, "bar_mean_ms": 44},
        ),
        Sample("250/250 ━━━━━━━━━━━━━━━━━━━━ 0s 4ms/step - loss: 0.9031", "fact", {"trained": 250}),
        Sample("1/250 ━━━━━━━━━━━━━━━━━━━━ 37:21 9s/step - loss: 2.4011", "fact"),
        Sample("12/250 ━━━━━━━━━━━━━━━━━━━━ 1:11 300ms/step - loss: 2.4011", "chatter"),
        Sample("63/63 ━━━━━━━━━━━━━━━━━━━━ 0s 2ms/step", "chatter"),
        Sample("63/63 [==============================] - 1s 9ms/step", "chatter"),
        Sample("W tensorflow/core/framework/op_kernel.cc:1745] OP_REQUIRES failed", "chatter"),
        Sample('Model: "sequential_3"', "chatter"),
        Sample("_________________________________________________________________", "chatter"),
        Sample("dense_6 (Dense)            (None, 10)                1610", "chatter"),
        Sample("Found 5400 images belonging to 12 classes.", "chatter"),
        Sample("Epoch 3/12 - train loss 0.51", None),
        Sample("250/250 [00:12<00:00, 20.1it/s]", None),
    ),
)
