"""The JSON lines that MMEngine (vis_data/scalars.json) and mmcv (None.log.json) write next to their text log."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf|NaN|Infinity)"

FORMAT = Format(
    title="MMEngine JSON",
    url="https://github.com/open-mmlab/mmengine",
    lines=(
        Line(
            "step",
            rf'\{{"(?:base_)?lr": {_NUMBER}, (?:"lr": {_NUMBER}, )?(?:"data_time": (?P<data_s>{_NUMBER}), )?'
            rf'(?>.{{0,1000}}?"loss": (?P<loss>{_NUMBER}), )?'
            rf'.{{0,4000}}?"time": (?P<dur_s>{_NUMBER}), (?:"(?:epoch|iter|memory)": \d+, ){{0,3}}'
            r'"step": (?P<step>\d+)\}',
        ),
        # mmcv: the iteration counts from one in every epoch, and the epoch's length is nowhere.
        Line(
            "step",
            r'\{"mode": "train", "epoch": (?P<epoch>\d+), "iter": (?P<batch>\d+), '
            rf'(?>.{{0,200}}?"data_time": (?P<data_s>{_NUMBER}), )?'
            rf'(?>.{{0,2000}}?"loss": (?P<loss>{_NUMBER}), )?.{{0,4000}}?"time": (?P<dur_s>{_NUMBER})[,}}]',
        ),
        # The `step` of an evaluation is the epoch.
        Line(
            "evaluation",
            r'\{"[^"{}]{1,60}": [^"{}]{1,40}, "[^{}]{0,4000}"data_time": [\d.e-]+, "time": [\d.e-]+, "step": \d+\}',
        ),
        Line("evaluation", r'\{"[^"{}]{1,60}": [^"{}]{1,40}, "data_time": [\d.e-]+, "time": [\d.e-]+, "step": \d+\}'),
        Line("evaluation", r'\{"mode": "val", "epoch": \d+, "iter": \d+, '),
        Line("start", r'\{"env_info": "'),
        Line("chatter", r"(?:<{7}|={7}|>{7})(?:\s|$)"),  # a merge conflict committed with the log
    ),
    clock=Clock(
        covers="window",
        includes=("data",),
        note="The mean of the last iterations: since the last written line in mmcv, of the last window_size (10 unless "
        "set) in MMEngine; waiting for data is in it, evaluation and saving are not. These lines have neither a "
        "total nor an eta.",
    ),
    layout=Layout(first_step=1, first_epoch=1, events_follow_step=True),
    samples=(
        Sample(
            '{"base_lr": 0.0002, "lr": 0.0002, "data_time": 0.12, "grad_norm": 1.5, "loss": 4.25, "loss_kpt": 4.25, '
            '"time": 0.75, "epoch": 3, "iter": 450, "memory": 8855, "step": 450}',
            "step",
            {"step": 450, "dur_s": 0.75, "loss": 4.25},
        ),
        Sample(
            '{"lr": 1e-05, "data_time": 0.0002, "loss": NaN, "time": 0.14, "iter": 100, "step": 100}',
            "step",
            {"step": 100, "dur_s": 0.14},
        ),
        Sample(
            '{"mode": "train", "epoch": 2, "iter": 150, "lr": 0.0001, "memory": 6504, "data_time": 0.004, '
            '"loss_rpn_cls": 0.3, "loss": 2.25, "grad_norm": 31.5, "time": 0.25}',
            "step",
            {"epoch": 2, "batch": 150, "dur_s": 0.25, "loss": 2.25},
        ),
        Sample(
            '{"coco/bbox_mAP": 0.31, "coco/bbox_mAP_50": 0.5, "data_time": 0.02, "time": 0.06, "step": 3}', "evaluation"
        ),
        Sample('{"accuracy/top1": 64.87, "data_time": 0.0003, "time": 0.044, "step": 3}', "evaluation"),
        Sample('{"mode": "val", "epoch": 2, "iter": 80, "lr": 0.0001, "mAP": 0.55}', "evaluation"),
        Sample('{"env_info": "sys.platform: linux", "config": "model = dict()", "seed": null}', "start"),
        Sample(">>>>>>> origin/main", "chatter"),
        Sample('{"lr": 0.1, "data_time": 0.0002, "loss": 3.34, "time": 0.143, "epoch": 1, "mem', None),  # cut mid-write
        Sample('{"loss": 2.1, "lr": 0.001, "epoch": 0.5, "step": 100}', None),  # any other trainer's JSON
    ),
)
