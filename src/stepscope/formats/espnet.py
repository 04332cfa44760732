"""ESPnet 2: means over a stretch of batches of an epoch, behind a moment."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"(?:[-+]?[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"
_STAMP = r"(?:\[[\w.-]{1,80}\] (?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+) )?"
_HEAD = rf"{_STAMP}(?:\(\w+:\d+\) INFO: )?"
_IN_VALID = r"(?:(?!\[att_plot).){0,1000}"
_WORDS = r"(?:\d+ (?:hour|minute)s?(?:,| and)* ?){0,2}(?:[\d.]+ seconds?)?(?=,|$)"

FORMAT = Format(
    title="ESPnet",
    url="https://github.com/espnet/espnet",
    lines=(
        Line(
            "step",
            rf"{_HEAD}(?P<epoch>\d+)epoch:train:\d+-(?P<batch>\d+)batch: "
            rf"(?>(?:iter_time=(?P<data_s>[\d.]+(?:e-\d+)?), )?(?:.{{0,1000}}?\bloss=(?P<loss>{_NUMBER}))?)"
            r"(?:.{0,1000}?\btrain_time=(?P<dur_s>[\d.]+(?:e-\d+)?))?",
        ),
        Line(
            "evaluation",
            rf"{_HEAD}\d+epoch results: (?:(?>.{{0,2000}}?\[valid\] )(?>{_IN_VALID}?\bloss=(?P<val_loss>{_NUMBER}))?"
            rf"(?>{_IN_VALID}? time=(?P<took_clock>{_WORDS}))?)?",
        ),
        Line("checkpoint", rf"{_HEAD}(?:The best model has been updated|There are no improvements in this epoch)"),
        Line("fact", rf"{_HEAD}\d+/(?P<epochs>\d+)epoch started"),
        Line("start", rf"{_HEAD}Model structure:"),
        Line(
            "chatter",
            r"\[[\w.-]{1,80}\] \d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ \((?!trainer|abs_task:\d+\) INFO: Model str)",
        ),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The moments of the lines: the difference of two holds everything between them, validation, plots and "
        "saving included. train_time is the mean time of an update inside the stretch, without those, and stands in "
        "where there is no difference. The time to finish, printed at the start of an epoch, is the mean of the epochs "
        "so far times those left.",
    ),
    layout=Layout(first_epoch=1, first_step=1),
    samples=(
        Sample(
            "[node3] 2023-04-05 06:07:08,901 (trainer:737) INFO: 4epoch:train:501-1000batch: iter_time=1.2e-04, "
            "forward_time=0.140, loss_ctc=31.2, loss=28.91, acc=0.71, train_time=0.412",
            "step",
            {"epoch": 4, "batch": 1000, "loss": 28.91, "dur_s": 0.412, "data_s": 1.2e-04},
        ),
        Sample("4epoch:train:501-1000batch: loss=28.91", "step", {"epoch": 4, "batch": 1000}),
        Sample(
            "4epoch results: [train] loss=28.4, time=30 minutes, [valid] loss_ctc=12.0, loss=11.87, time=2 minutes",
            "evaluation",
            {"val_loss": 11.87},
        ),
        Sample(
            "4epoch results: [train] time=30 minutes, [valid] loss=11.87, time=1 minute and 4.5 seconds, total_count=4",
            "evaluation",
            {"val_loss": 11.87},
        ),
        Sample("(trainer:443) INFO: The best model has been updated: valid.acc", "checkpoint"),
        Sample("(trainer:272) INFO: 5/70epoch started. Estimated time to finish: 1 day", "fact", {"epochs": 70}),
        Sample("(abs_task:1202) INFO: Model structure:", "start"),
        Sample("[node3] 2023-04-05 06:07:08,901 (asr:490) INFO: Vocabulary size: 5000", "chatter"),
        Sample("4epoch:valid:1-20batch: loss=11.87", None),
        Sample("4epoch:train:501-10", None),  # cut mid-write
    ),
)
