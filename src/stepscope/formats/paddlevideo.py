"""PaddleVideo: the end of an epoch and of its validation, each with the sum of its batches."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"(?:[-+]?[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"
_SUM = r".{0,400}?\bbatch_cost_sum: "

FORMAT = Format(
    title="PaddleVideo",
    url="https://github.com/PaddlePaddle/PaddleVideo",
    lines=(
        Line(
            "step",
            rf"END epoch: ?(?P<step>\d+) +train (?:loss_avg: (?P<loss>{_NUMBER}))?{_SUM}(?P<dur_s>[\d.]+) sec\b",
        ),
        Line(
            "evaluation",
            rf"END epoch: ?(?P<step>\d+) +val (?:loss_avg: (?P<val_loss>{_NUMBER}))?{_SUM}(?P<took_s>[\d.]+) sec\b",
        ),
        Line("checkpoint", r"Already save the best model "),
        Line("fact", r"epoch:\[ *\d+/ *(?P<total>\d+) *\] +train step:\d+ "),
        Line("chatter", r"epoch:\[ *\d+/ *\d+ *\] +val step:\d+ "),
    ),
    clock=Clock(
        covers="step",
        includes=("data", "logging"),
        note="The sum of the batches of one epoch, reader inside, which is the step here; the batches in between show "
        "the time of one batch each and restart with the epoch, and how many there are is not printed. Validation has "
        "a line of its own, saving comes after both.",
    ),
    layout=Layout(first_step=1, events_follow_step=True),
    samples=(
        Sample(
            "END epoch:4   train loss_avg: 2.31107  top1_avg: 0.41120 top5_avg: 0.74031 avg_batch_cost: 1.80210 sec, "
            "avg_reader_cost: 1.40210 sec, batch_cost_sum: 142.36590 sec, avg_ips: 55.1 instance/sec.",
            "step",
            {"step": 4, "loss": 2.31107, "dur_s": 142.3659},
        ),
        Sample(
            "END epoch:4   val loss_avg: 2.80210 top1_avg: 0.30120 avg_batch_cost: 0.04110 sec, "
            "avg_reader_cost: 0.00000 sec, batch_cost_sum: 41.12000 sec, avg_ips: 88.2 instance/sec.",
            "evaluation",
            {"step": 4, "val_loss": 2.8021, "took_s": 41.12},
        ),
        Sample("Already save the best model (top1 acc)0.3012", "checkpoint"),
        Sample("epoch:[  4/30 ] train step:20   loss: 2.41200 lr: 0.010000", "fact", {"total": 30}),
        Sample("epoch:[  4/30 ] val step:0    loss: 2.90110 top1: 0.21875", "chatter"),
        Sample("END epoch:4   train loss_avg: 2.31107  top1_avg: 0.41120 avg_batch_cost: 1.8", None),  # cut mid-write
    ),
)
