"""Informer, Autoformer and the Time-Series-Library that grew out of them: two lines every hundred iterations."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"(?:[-+]?[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="Time-Series-Library",
    url="https://github.com/thuml/Time-Series-Library",
    lines=(
        Line("fact", rf"iters: (?P<batch>\d+), epoch: (?P<epoch>\d+) \| loss: (?P<loss>{_NUMBER})\s*$"),
        Line("step", r"speed: (?P<s_per_100_it>\d+\.\d+) ?s/iter; left time: \d+\.\d+ ?s\s*$"),
        Line(
            "step",
            # Its time comes with the next speed. OpenLTM prints no loss of the training, and a list of those of others.
            rf"Epoch: (?P<epoch>\d+), Steps: (?P<batches>\d+) \| (?=Train|Vali)(?:Train Loss: (?P<loss>{_NUMBER}) ?)?"
            rf"(?:Vali Loss: \[?(?P<val_loss>{_NUMBER}))?(?P<s_per_100_it>(?!))?",
        ),
        Line("checkpoint", rf"Validation loss decreased \({_NUMBER} --> {_NUMBER}\)\. +Saving model"),
        Line("start", r">{3,}start training : "),
        Line("chatter", r"Epoch: \d+ cost time: [\d.]+\s*$"),
        Line("chatter", r">{3,}(?:testing|predicting) : |Updating learning rate to |EarlyStopping counter: \d+ out of"),
        Line("chatter", rf"iters: \d+, speed: {_NUMBER} ?s/iter, left time: {_NUMBER} ?s\s*$"),  # a validation's
        Line("chatter", r"(?:train|val|test) \d+\s*$|test shape: |mse:[\d.]+, ?mae:[\d.]+"),
    ),
    clock=Clock(
        covers="window",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="speed is the time since the hundredth iteration before, divided by a hundred. The timer runs on at the "
        "end of an epoch, so that of its first hundred has what was left of the epoch before, its validation and its "
        "test in it as well. left time is speed times the iterations of all epochs that are left; early stopping is "
        "not in it. cost time is the epoch without validation.",
        is_sum=True,
    ),
    layout=Layout(first_step=1, first_epoch=1, events_follow_step=True),
    samples=(
        Sample("iters: 200, epoch: 3 | loss: 0.3411290", "fact", {"batch": 200, "epoch": 3, "loss": 0.341129}),
        Sample("speed: 0.0412s/iter; left time: 93.1120s", "step", {"s_per_100_it": 0.0412}),
        Sample(
            "Epoch: 3, Steps: 412 | Train Loss: 0.3120 Vali Loss: 0.5110 Test Loss: 0.6020",
            "step",
            {"epoch": 3, "batches": 412, "loss": 0.312, "val_loss": 0.511},
        ),
        Sample(
            "Epoch: 3, Steps: 412 | Vali Loss: 0.5110 Test Loss: 0.6020",
            "step",
            {"epoch": 3, "batches": 412, "loss": None},
        ),
        Sample("Epoch: 1, Steps: 90 | Vali Loss: [0.41, 0.52] Test Loss: [0.43, 0.55]", "step", {"val_loss": 0.41}),
        Sample("iters: 300, speed: 0.0412s/iter, left time: 9.1120s", "chatter"),
        Sample("Validation loss decreased (0.52 --> 0.51).  Saving model ...", "checkpoint"),
        Sample(">>>>>>>start training : ETTm1_96_96_Autoformer_0>>>>>>>>>>>>>>>>", "start"),
        Sample("Epoch: 3 cost time: 17.2033519745", "chatter"),
        Sample("EarlyStopping counter: 2 out of 3", "chatter"),
        Sample("test shape: (87, 32, 96, 7) (87, 32, 96, 7)", "chatter"),
        Sample("Epoch: 3, Steps: 41", None),  # cut mid-write
        Sample("speed: 0.0412s/iter; left", None),
    ),
)
