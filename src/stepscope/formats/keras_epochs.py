"""Keras' fit() where it counts samples, or nothing at all (verbose=2): the step is the epoch."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"
_RATE = r"(?:(?: -)? \d+(?:us|ms|s)/(?:step|sample|epoch))?"
_LOSS = (
    rf" - (?:[\w/]{{1,40}}: {_NUMBER} - ){{0,20}}?loss: (?P<loss>{_NUMBER})"
    rf"(?:.{{0,400}}? - val_loss: (?P<val_loss>{_NUMBER}))?"
)

FORMAT = Format(
    title="Keras by epochs",
    url="https://github.com/keras-team/keras",
    lines=(
        # Only at the beginning of a line: a bar ends like this, too.
        Line("step", rf"^(?:- )?(?P<dur_s>[1-9]\d*)s{_RATE}{_LOSS}"),
        # Before Keras 2.3, a bar of fit() counts samples: a "step" of microseconds is one.
        Line(
            "step",
            rf"(\d+)/\1 (?:\[=+\] )?- (?P<dur_s>[1-9]\d*)s(?: -)? (?:\d+us/step|\d+(?:us|ms|s)/sample){_LOSS}",
        ),
        Line("fact", r"Epoch (?P<step>\d+)/(?P<total>\d+)(?=\s*$|\[)", weak=True),
        Line("start", r"Train on (?P<training_samples>\d+) samples(?:, validate on \d+ samples)?\s*$"),
        Line("checkpoint", r"Epoch \d+: (?:\w+ improved from \S+ to \S+, )?saving model to (?P<path>.+)", weak=True),
        Line("chatter", r"Epoch \d+: (?:\w+ did not improve|early stopping|\w+ reducing learning rate)", weak=True),
        Line("chatter", r"\d+/\d+ \[[=>.]+\]? - ETA: ", weak=True),
    ),
    clock=Clock(
        covers="step",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The wall time of one epoch in whole seconds, validation and callbacks inside: a step is an epoch, "
        "because what the bars count is samples, or there are none. The time left on a bar is that of the epoch, "
        "without validation.",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample("- 14s - loss: 0.4431 - acc: 0.81 - val_loss: 0.5102", "step", {"dur_s": 14, "val_loss": 0.5102}),
        Sample("14s - loss: 0.4431 - acc: 0.81", "step", {"dur_s": 14}),
        Sample("- 14s 233us/sample - loss: 0.4431", "step", {"dur_s": 14}),
        Sample(
            "50000/50000 [==============================] - 31s 620us/sample - loss: 1.53 - acc: 0.44",
            "step",
            {"dur_s": 31, "loss": 1.53},
        ),
        Sample("60000/60000 [==============================] - 9s 153us/step - loss: 0.41", "step", {"dur_s": 9}),
        Sample("80/80 [==============================] - 4s 51ms/step - loss: 0.7", None),  # batches
        Sample("Epoch 3/12", "fact", {"step": 3, "total": 12}),
        Sample("Train on 50000 samples, validate on 10000 samples", "start", {"training_samples": 50000}),
        Sample("Epoch 00003: saving model to ckpt/03.h5", "checkpoint", {"path": "ckpt/03.h5"}),
        Sample("Epoch 4: val_loss did not improve from 0.40", "chatter"),
        Sample("4096/50000 [=>............................] - ETA: 28s - loss: 2.4011", "chatter"),
        Sample("- 0s - loss: 0.4431", None),  # too short to have a time
        Sample("Epoch 3/12 - train loss 0.51", None),
    ),
)
