"""Swin Transformer's main.py and the many trainers made from it. Its eta is for the rest of the epoch alone."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf|NaN|Inf)"
# What the logger writes between the timestamp and the message: the model's name and the place in the source.
_PLACE = r"(?:[\w.-]+\] ?\(\w+\.py \d+\): INFO +(?! ))"

FORMAT = Format(
    title="Swin Transformer",
    url="https://github.com/microsoft/Swin-Transformer",
    lines=(
        Line(
            "step",
            rf"{_PLACE}?Train: \[(?P<epoch>\d+)/(?P<epochs>\d+)\]\[(?P<batch>\d+)/(?P<batches>\d+)\]\s+"
            r"eta (?:\d+ days?, )?[\d:]+ lr .{1,80}?\stime (?P<dur_s>[\d.]+) \((?P<mean_s>[\d.]+)\)\s+"
            rf"loss (?P<loss>{_NUMBER}) ",
        ),
        Line("evaluation", rf"{_PLACE}\* Acc@1 [\d.]+"),
        Line(
            "evaluation",
            rf"{_PLACE}Test: \[(?P<took_batch>\d+)/(?P<took_batches>\d+)\]\s+Time [\d.]+ \((?P<took_mean_s>[\d.]+)\)",
        ),
        Line("checkpoint", rf"{_PLACE}(?P<path>\S+\.pth) saved !!!"),
        Line("start", rf"{_PLACE}Start training\s*$"),
        Line("resume", rf"{_PLACE}=> loaded successfully "),
        Line("resume", rf"{_PLACE}auto resuming from (?P<path>\S+)"),
        Line("fact", rf"{_PLACE}number of params: (?P<parameters>\d+)\s*$"),
        Line(
            "chatter",
            rf"{_PLACE}(?!Train: \[|Test: \[\d+/\d+\]\s+Time|\* Acc@1|\S+ saved !!!|Start training|=> loaded"
            r"|auto resuming|number of params)",
        ),
        # The config as YAML, and the model's layers.
        Line("chatter", r"[A-Z][A-Z0-9_]*:(?:\s|$)|- -? ?-? ?[\w\"'.-]"),
        Line("chatter", r"\(\w+\): [A-Z]\w+\(|\){1,4}\s*$|(?:dim|input_resolution)=\S"),
    ),
    clock=Clock(
        covers="step",
        includes=("data", "logging"),
        note="The time of one iteration, the printed one, waiting for data included; the figure in brackets is the "
        "mean of the epoch. Evaluation and saving are outside. The printed eta is the epoch's mean x the batches "
        "left in this epoch.",
    ),
    layout=Layout(events_follow_step=True),
    samples=(
        Sample(
            "Train: [7/90][310/1251]\teta 0:04:26 lr 0.000400\t wd 0.0500\ttime 0.2779 (0.2835)\tloss 3.1200 (3.4000)\t"
            "grad_norm 1.2000 (1.3000)\tloss_scale 65536.0000 (65536.0000)\tmem 7011MB",
            "step",
            {"epoch": 7, "epochs": 90, "batch": 310, "batches": 1251, "dur_s": 0.2779, "mean_s": 0.2835},
        ),
        Sample(
            "my_model-tiny] (main.py 240): INFO Train: [0/300][0/1251]\teta 1:04:26 lr 0.000000\ttime 3.2779 (3.2779)\t"
            "loss nan (nan)\tgrad_norm nan (nan)\tmem 7011MB",
            "step",
            {"epoch": 0, "batch": 0, "dur_s": 3.2779},
        ),
        Sample(
            "my_model-tiny] (main.py 370): INFO Test: [30/98]\tTime 0.211 (0.412)\tLoss 0.71 (0.69)\tAcc@1 84.1 (84.2)",
            "evaluation",
            {"took_batch": 30, "took_batches": 98, "took_mean_s": 0.412},
        ),
        Sample("my_model-tiny] (main.py 389): INFO  * Acc@1 71.120 Acc@5 90.310", "evaluation"),
        Sample(
            "my_model-tiny] (utils.py 151): INFO out/ckpt_epoch_3.pth saved !!!",
            "checkpoint",
            {"path": "out/ckpt_epoch_3.pth"},
        ),
        Sample("my_model-tiny] (main.py 186): INFO Start training", "start"),
        Sample("my_model-tiny] (utils.py 30): INFO => loaded successfully 'out/ckpt_epoch_3.pth' (epoch 3)", "resume"),
        Sample("my_model-tiny] (main.py 148): INFO auto resuming from out/ckpt_epoch_3.pth", "resume"),
        Sample("my_model-tiny] (main.py 99): INFO number of params: 28288354", "fact", {"parameters": 28288354}),
        Sample("my_model-tiny] (main.py 321): INFO EPOCH 0 training takes 0:05:31", "chatter"),
        Sample("WARMUP_EPOCHS: 20", "chatter"),
        Sample("(norm1): LayerNorm((96,), eps=1e-05)", "chatter"),
        Sample("* Acc@1 71.120 Acc@5 90.310", None),  # the ImageNet example prints the same
        Sample("Train: [7/90][310/1251]\teta 0:04:26 lr 0.000400\t wd 0.0500\ttime 0.27", None),  # cut mid-write
        Sample("Train: 2 [ 150/1251 ( 12%)]  Loss: 5.91 (6.12)  Time: 0.412s, 621.1/s", None),  # timm
    ),
)
