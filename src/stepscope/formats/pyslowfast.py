"""PySlowFast and what was built on it (MViT, MoLo, TAdaConv, …): one JSON record a line, its names in any order."""

from stepscope.lines.format import Clock, Controls, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:\d[\d.]*+(?:[eE][-+]?\d++)?|NaN|Infinity|nan|inf)"
# `json_stats: ` before the record, or in forks the place in the code.
_HEAD = r"(?:(?:[\w.]++:? *\d*: )?json_stats: |[\w.]+: +\d+: )?\{(?=[^{}]{0,2000}?\"_type\": \""
# A step's time is dt, in older versions and most forks time_diff.
_TIME = rf'(?=[^{{}}]{{0,2000}}?"(?:dt|time_diff|dt_diff)": (?P<dur_s>{_NUMBER}))'
_DATA = rf'(?=(?:[^{{}}]{{0,2000}}?"dt_data": (?P<data_s>{_NUMBER}))?)'
_LOSS = rf'(?=(?:[^{{}}]{{0,2000}}?"loss": (?P<loss>{_NUMBER}))?)'

FORMAT = Format(
    title="PySlowFast",
    url="https://github.com/facebookresearch/SlowFast",
    lines=(
        Line(
            "step",
            rf'{_HEAD}(?:pre)?train_iter"){_TIME}{_DATA}{_LOSS}'
            r'(?=[^{}]{0,2000}?"epoch": "(?P<epoch>\d+)/(?P<epochs>\d+)")'
            r'[^{}]{0,2000}?"iter": "(?P<batch>\d+)/(?P<batches>\d+)"[^{}]{0,2000}\}',
        ),
        # The meter of AVA names neither the total of the epochs nor, in most versions, that of the iterations.
        Line(
            "step",
            rf'{_HEAD}train_iter"){_TIME}{_DATA}{_LOSS}'
            r'(?=[^{}]{0,2000}?"cur_epoch": "(?P<epoch>\d+)(?:/(?P<epochs>\d+))?")'
            r'(?=(?:[^{}]{0,2000}?"iter_per_epoch": "(?P<batches>\d+)")?)'
            r'[^{}]{0,2000}?"cur_iter": "(?P<batch>\d+)"[^{}]{0,2000}\}',
        ),
        Line("evaluation", rf'{_HEAD}(?:ema_)?val_epoch")[^{{}}]{{0,4000}}\}}'),
        Line(
            "chatter", rf'{_HEAD}(?:(?:ema_)?val_iter|test_iter|(?:pre)?train_epoch|test_epoch)")[^{{}}]{{0,4000}}\}}'
        ),
        Line("chatter", r'(?:[\w.]+: +\d+: )?(?:json_stats: )?\{[^{}]{0,2000}?"split": "test'),
        Line("chatter", r"(?:train_net(?:\.py)?: +\d+: )?Start epoch: \d+\s*$"),
        Line(
            "chatter",
            r"(?:\w*(?:train|test|run)_net|misc|checkpoint|build|kinetics|ssv2|optimizer|\w+_dataset)(?:\.py)?: +\d+: "
            r"(?!\{|json_stats|Start epoch)",
        ),
    ),
    clock=Clock(
        covers="step",
        includes=("data",),
        note="dt (time_diff in older versions and forks): the seconds of the one iteration that is printed, waiting "
        "for its batch (dt_data) included; the others up to LOG_PERIOD are not timed. Evaluation and saving are "
        "outside. The printed eta is this one figure x the iterations left of all epochs, so it jumps with it.",
    ),
    layout=Layout(first_step=1, first_epoch=1, events_follow_step=True),
    controls=Controls(
        # TRAIN.EVAL_PERIOD and TRAIN.CHECKPOINT_PERIOD count epochs.
        settable={
            "log_interval": "LOG_PERIOD",
            "batch_size": "TRAIN.BATCH_SIZE",
            "num_workers": "DATA_LOADER.NUM_WORKERS",
        },
        syntax="{name} {value}",
    ),
    samples=(
        Sample(
            'json_stats: {"_type": "train_iter", "dt": 0.81204, "dt_data": 0.00412, "dt_net": 0.80792, '
            '"epoch": "3/200", "eta": "4 days, 2:10:09", "gpu_mem": "9.20G", "iter": "40/1961", "loss": 5.81200, '
            '"lr": 0.01200, "top1_err": 98.4, "top5_err": 93.7}',
            "step",
            {
                "epoch": 3,
                "epochs": 200,
                "batch": 40,
                "batches": 1961,
                "dur_s": 0.81204,
                "data_s": 0.00412,
                "loss": 5.812,
            },
        ),
        Sample(
            'utils.logging:   88: {"_type": "train_iter", "epoch": "2/30", "eta": "1:02:03", "iter": "10/400", '
            '"loss": 2.5, "lr": 0.0001, "time_diff": 0.312}',
            "step",
            {"epoch": 2, "epochs": 30, "batch": 10, "batches": 400, "dur_s": 0.312, "data_s": None, "loss": 2.5},
        ),
        Sample(
            'json_stats: {"_type": "train_iter", "cur_epoch": "4", "cur_iter": "60", "dt": 1.2, "dt_data": 0.1, '
            '"eta": "0:30:01", "loss": 0.31, "lr": 0.1, "mode": "train"}',
            "step",
            {"epoch": 4, "batch": 60, "batches": None, "dur_s": 1.2, "loss": 0.31},
        ),
        Sample(
            'json_stats: {"_type": "val_epoch", "epoch": "3/200", "time_diff": 0.2, "top1_err": 81.2}', "evaluation"
        ),
        Sample('json_stats: {"_type": "val_iter", "epoch": "3/200", "iter": "40/300", "time_diff": 0.2}', "chatter"),
        Sample('json_stats: {"_type": "train_epoch", "dt": 0.9, "epoch": "3/200", "loss": 5.8}', "chatter"),
        Sample('json_stats: {"cur_iter": "40", "eta": "0:01:00", "split": "test_iter", "time_diff": 0.2}', "chatter"),
        Sample("train_net.py:  571: Start epoch: 4", "chatter"),
        Sample("misc.py:  183: Params: 34,566,448", "chatter"),
        Sample('json_stats: {"_type": "train_iter", "dt": 0.81204, "epoch": "3/200", "iter": "40/19', None),  # cut
        Sample('{"mode": "train", "epoch": 2, "iter": 150, "lr": 0.0001, "loss": 2.25, "time": 0.25}', None),  # mmcv
    ),
)
