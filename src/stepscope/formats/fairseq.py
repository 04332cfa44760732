"""fairseq, the old bar-separated lines, the new ones of its logger, and JSON: a running clock in whole seconds."""

from stepscope.lines.format import Clock, Controls, Format, Layout, Line, Sample

_NUMBER = r"(?:[-+]?[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"
_WHO = r"(?:\| )?(?:train(?:_inner)? \| )?"
# Before a dict its logger's name, in the way of fairseq or of Hydra, or nothing once that was taken for a prefix.
_INNER, _TRAIN, _VALID = (
    rf'(?:{name} \| |\[{name}\]\[INFO\] - )?\{{"epoch": \d+, ' for name in ("train_inner", "train", r"valid\w*")
)

FORMAT = Format(
    title="fairseq",
    url="https://github.com/facebookresearch/fairseq",
    lines=(
        Line(
            "step",
            rf"{_WHO}epoch \d+:\s+\d+ / (?P<batches>\d+) (?:loss=(?P<loss>{_NUMBER}), )?"
            r".{0,2000}?num_updates=(?P<step>\d+),.{0,2000}?[ ,]wall=(?P<elapsed_s>[\d.]+)",
        ),
        # The summary of an epoch is one more reading of the same clock.
        Line(
            "step",
            rf"{_WHO}epoch \d+ \| (?!valid)(?:loss (?P<loss>{_NUMBER}) \| )?.{{0,2000}}?\bnum_updates (?P<step>\d+) \|"
            r".{0,2000}?\| wall (?P<elapsed_s>[\d.]+)",
        ),
        # With --log-format json; the figures are texts there.
        Line(
            "step",
            rf'{_INNER}(?>.{{0,300}}?"loss": "?(?P<loss>{_NUMBER}))?'
            r'(?>.{0,2000}?"num_updates": "?(?P<step>\d+)).{0,2000}?"wall": "?(?P<elapsed_s>[\d.]+)',
        ),
        Line(
            "step",
            rf'{_TRAIN}(?>.{{0,300}}?"train_loss": "?(?P<loss>{_NUMBER}))?'
            r'(?>.{0,2000}?"train_num_updates": "?(?P<step>\d+)).{0,2000}?"train_wall": "?(?P<elapsed_s>[\d.]+)',
        ),
        Line(
            "evaluation",
            rf'{_VALID}(?=.{{0,300}}?"valid)(?:.{{0,300}}?"valid\w{{0,40}}_loss": "?(?P<val_loss>{_NUMBER}))?'
            r'(?:.{0,2000}?"valid\w{0,40}_num_updates": "?(?P<step>\d+))?',
        ),
        Line(
            "evaluation",
            r"(?:\| )?(?:valid\w* \| )?epoch \d+ \| valid on '[^']+' subset \|"
            rf"(?:.{{0,200}}?\bloss (?P<val_loss>{_NUMBER}))?(?:.{{0,2000}}?\bnum_updates (?P<step>\d+))?",
        ),
        Line("fact", r'(?:\| |fairseq_cli\.train \| )?begin validation on "(?P<began>)'),
        Line("evaluation", r"(?:\| )?Eval completed in: (?P<took_s>[\d.]+)s"),
        Line(
            "checkpoint",
            r"(?:\| |fairseq\.checkpoint_utils \| )?[Ss]aved checkpoint (?P<path>\S+) \(epoch \d+ @ (?P<step>\d+) "
            r"updates(?:[^)]*\) \(writing took (?P<took_s>[\d.]+) seconds)?",
        ),
        # Only a limit above 0 is read: fairseq writes 0 for no limit.
        Line(
            "start",
            r"(?:fairseq_cli\.train \| )?(?:\{|Namespace\().{0,20000}?\bmax_update(?:': |=)(?P<total>[1-9]\d*)\b",
        ),
        Line("start", r"(?:\| |fairseq_cli\.train \| )?training on (?P<world_size>\d+) (?:GPUs|devices)"),
        Line("resume", r"(?:\| |fairseq\.trainer \| )?[Ll]oaded checkpoint (?P<path>\S+) \(epoch \d+ @ \d+ updates"),
        Line("fact", r"(?:\| )?num\. model params: (?P<parameters>[\d,]+)"),
        Line("chatter", r"(?:\| )?(?:WARNING: )?overflow detected"),
        Line(
            "chatter",
            r"(?:fairseq|torch|infinibatch|apex)[\w.]* \| "
            r"(?![Ss]aved checkpoint|[Ll]oaded checkpoint|training on \d|begin val)"
            r"(?!\{.{0,20000}?\bmax_update': [1-9])",
        ),
        Line("chatter", r"\(\w+\): \w+\(|\)\s*$"),  # the model, printed layer by layer
        Line(
            "chatter", r"(?:\||(?=[-=\w]))(?:-{20,}|={20,}| ?[^|]{8,75}(?:\|[^|]{8,40}){0,6})\|\s*$"
        ),  # the tables of an out-of-memory report
        Line(
            "chatter",
            r"(?:\| )?(?:distributed (?:init|env)|initialized host|\[\w+\] dictionary|Sentences are|"
            r"Translated \d|Generate \w+ with|max tokens|parallel all-reduce|# of parallel|"
            r"done training|/\S+ (?:train|test|valid) )",
        ),
        Line(
            "chatter", r":{0,3}(?:MLLOG|MLL|MLP\S*) |generated \d+ batches in|epoch time +\d|validation and scoring +\d"
        ),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="wall is whole seconds since this process began, start-up, validation and saving inside; train_wall is "
        "the part inside training steps, wps and ups are means since the last line. The number behind the "
        "slash is batches of an epoch, not of the run, and may be a dummy; there is no ETA. A step is an update: "
        "batches skipped for overflow are not counted.",
    ),
    layout=Layout(first_step=1, events_follow_step=True),
    controls=Controls(
        settable={
            "eval_interval": "validate-interval-updates",
            "checkpoint_interval": "save-interval-updates",
            "log_interval": "log-interval",
            "max_steps": "max-update",
            "gradient_accumulation_steps": "update-freq",
            "num_workers": "num-workers",
            "keep_saves": "keep-interval-updates",
            "asynchronous_saving": "--write-checkpoints-asynchronously",
        },
        syntax="--{name} {value}",
    ),
    samples=(
        Sample(
            '[train_inner][INFO] - {"epoch": 2, "update": 1.2, "loss": "5.25", "ppl": "38.1", "wps": "9000", '
            '"num_updates": "1200", "lr": "0.0001", "train_wall": "61", "wall": "640"}',
            "step",
            {"step": 1200, "loss": 5.25, "elapsed_s": 640},
        ),
        Sample(
            '{"epoch": 2, "valid_loss": "4.5", "valid_ppl": "22.6", "valid_num_updates": "1200"}',
            "evaluation",
            {"step": 1200, "val_loss": 4.5},
        ),
        Sample(
            "| epoch 002:   1000 / 1811 loss=6.924, nll_loss=0.000, ppl=1.00, wps=309403, ups=4.1, wpb=74811, "
            "num_updates=2806, lr=0.0018, gnorm=61144.2, clip=100%, oom=0, loss_scale=4.000, wall=652",
            "step",
            {"step": 2806, "loss": 6.924, "elapsed_s": 652},
        ),
        Sample(
            "train_inner | epoch 001:    300 / 5000 loss=9.1, ppl=548, wps=118114, ups=0.23, wpb=524266, bsz=256, "
            "num_updates=299, lr=0.0005, gnorm=0.017, clip=0, loss_scale=128, train_wall=221, gb_free=19, wall=1293",
            "step",
            {"step": 299, "loss": 9.1, "elapsed_s": 1293},
        ),
        Sample(
            "| epoch 002 | loss 6.648 | ppl 1.00 | wps 319534 | num_updates 3611 | lr 0.0015 | wall 850",
            "step",
            {"step": 3611, "loss": 6.648, "elapsed_s": 850},
        ),
        Sample(
            "train | epoch 002 | loss 6.648 | wps 319534 | num_updates 3611 | lr 0.0015 | train_wall 401 | wall 850",
            "step",
            {"step": 3611, "elapsed_s": 850},
        ),
        Sample(
            "valid | epoch 002 | valid on 'valid' subset | loss 4.513 | nll_loss 2.9 | ppl 7.5 | num_updates 3611",
            "evaluation",
            {"step": 3611, "val_loss": 4.513},
        ),
        Sample("| epoch 002 | valid on 'valid' subset | loss 4.5 | ppl 7", "evaluation", {"val_loss": 4.5}),
        Sample(
            'train_inner | {"epoch": 1, "update": 0.05, "loss": "9.25", "ppl": "609", "wps": "25100", "ups": "2.5", '
            '"num_updates": "400", "lr": "5e-05", "gnorm": "1.5", "train_wall": "40", "wall": "171"}',
            "step",
            {"step": 400, "loss": 9.25, "elapsed_s": 171},
        ),
        Sample(
            'train | {"epoch": 1, "train_loss": "7.5", "train_ups": "2.5", "train_num_updates": "9000", '
            '"train_train_wall": "3600", "train_wall": "3801"}',
            "step",
            {"step": 9000, "loss": 7.5, "elapsed_s": 3801},
        ),
        Sample(
            'valid | {"epoch": 1, "valid_loss": "6.75", "valid_ppl": "107", "valid_num_updates": "9000"}',
            "evaluation",
            {"step": 9000, "val_loss": 6.75},
        ),
        Sample("| Eval completed in: 6.91s", "evaluation", {"took_s": 6.91}),
        Sample(
            "fairseq.checkpoint_utils | Saved checkpoint /out/c_1_5000.pt (epoch 1 @ 5000 updates, score None) "
            "(writing took 32.25 seconds)",
            "checkpoint",
            {"path": "/out/c_1_5000.pt", "step": 5000, "took_s": 32.25},
        ),
        Sample("| saved checkpoint out/c1.pt (epoch 1 @ 900 updates)", "checkpoint", {"step": 900, "took_s": None}),
        Sample("Namespace(lr=[0.1], max_epoch=30, max_update=80000, seed=2)", "start", {"total": 80000}),
        Sample(
            "fairseq_cli.train | {'optimization': {'max_epoch': 0, 'max_update': 300000}}", "start", {"total": 300000}
        ),
        Sample("| training on 12 GPUs", "start", {"world_size": 12}),
        Sample("fairseq_cli.train | training on 24 devices (GPUs/TPUs)", "start", {"world_size": 24}),
        Sample(
            "fairseq.trainer | Loaded checkpoint out/last.pt (epoch 2 @ 3611 updates)",
            "resume",
            {"path": "out/last.pt"},
        ),
        Sample("| num. model params: 176304128", "fact", {"parameters": 176304128}),
        Sample("| WARNING: overflow detected, setting loss scale to: 48.0", "chatter"),
        Sample("fairseq.trainer | begin training epoch 41", "chatter"),
        Sample('fairseq_cli.train | begin validation on "valid" subset', "fact"),
        Sample("fairseq_cli.train | task: translation", "chatter"),
        Sample("(fc1): Linear(in_features=512, out_features=2048, bias=True)", "chatter"),
        Sample("| Active memory         |   15026 MB |   15026 MB |   75012 MB |", "chatter"),
        Sample("| distributed init (rank 91): env://", "chatter"),
        Sample(":::MLL 1571882734.718 seed: {}", "chatter"),
        Sample("| epoch 001:   1000 / 1637 loss=7.624, num_updates=996, lr=0.0019", None),
        Sample("Namespace(max_epoch=30, max_update=0)", None),
    ),
)
