"""PaddleOCR: means over the print interval, with the number of the step counted through all epochs."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"(?:[-+]?[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"
_HEAD = r"(?:(?:ppocr|root)[\w.]* INFO: )?"

FORMAT = Format(
    title="PaddleOCR",
    url="https://github.com/PaddlePaddle/PaddleOCR",
    lines=(
        Line(
            "step",
            rf"{_HEAD}epoch: \[\d+/(?P<epochs>\d+)\], (?:global_step|iter): (?P<step>\d+), "
            rf"(?:.{{0,400}}?\bloss: (?P<loss>{_NUMBER}), )?"
            r".{0,400}?\b(?:(?:avg_)?reader_cost: (?P<data_s>[\d.]+) s, )?(?:avg_)?batch_cost: (?P<dur_s>[\d.]+) s, ",
        ),
        Line("evaluation", rf"{_HEAD}cur metric, "),
        Line("checkpoint", rf"{_HEAD}save (?:model in|best model is to) (?P<path>\S+)"),
        Line("fact", rf"{_HEAD}train dataloader has (?P<batches>\d+) iters"),
        Line("fact", rf"{_HEAD}epoch_num : (?P<epochs>\d+)\s*$"),
        Line(
            "chatter",
            rf"{_HEAD}(?:best metric, |train with paddle|valid dataloader has|Initialize indexes of)",
        ),
        Line("evaluation", r"eval model::? +100%\|[^|]{0,400}\| (\d+)/\1 \[(?P<took_clock>[\d:]+)<"),
        Line("chatter", r"eval model::? +(?:\d\d?%|100%(?!\|[^|]{0,400}\| (\d+)/\1 \[))"),
    ),
    clock=Clock(
        covers="window",
        includes=("data", "logging"),
        note="avg_batch_cost is the mean over the print interval, avg_reader_cost inside it; evaluation and saving are "
        "outside. At the end of an epoch it is divided by a full interval even where fewer batches ran, and is then "
        "too small. eta is the mean batch times the batches left, without evaluation.",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample(
            "ppocr INFO: epoch: [2/500], global_step: 130, lr: 0.000500, acc: 0.1, loss: 21.4102, "
            "avg_reader_cost: 0.01210 s, avg_batch_cost: 0.40120 s, avg_samples: 64.0, ips: 159.5 samples/s, "
            "eta: 1 day, 2:03:04",
            "step",
            {"step": 130, "loss": 21.4102, "dur_s": 0.4012},
        ),
        Sample(
            "epoch: [2/500], iter: 130, lr: 0.000500, loss: 21.4102, acc: 0.1, reader_cost: 0.01210 s, "
            "batch_cost: 0.40120 s, samples: 640, ips: 159.5",
            "step",
            {"step": 130, "dur_s": 0.4012},
        ),
        Sample("cur metric, acc: 0.71, norm_edit_dis: 0.88, fps: 900.1", "evaluation"),
        Sample("save model in ./output/rec/latest", "checkpoint", {"path": "./output/rec/latest"}),
        Sample("train dataloader has 65 iters", "fact", {"batches": 65}),
        Sample("epoch_num : 500", "fact", {"epochs": 500}),
        Sample("best metric, acc: 0.71, is_float16: False", "chatter"),
        Sample("eval model:: 100%|██████████| 25/25 [00:11<00:00,  2.3it/s]", "evaluation"),
        Sample("eval model::  12%|█▏        | 3/25 [00:01<00:09,  2.3it/s]", "chatter"),
        Sample("epoch: [2/500], global_step: 130, lr: 0.0005, avg_batch", None),  # cut mid-write
    ),
)
