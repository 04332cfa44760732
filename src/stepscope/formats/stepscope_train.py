"""`steps.jsonl` of `stepscope train`: a record per step with the seconds of its phases, and one per event."""

from stepscope.formats.nanogpt import FORMAT as NANOGPT
from stepscope.lines.format import Clock, EvaluationHabits, Format, Habits, Layout, Line, Sample

_NUMBER = r"[-+]?[\d.]+(?:[eE][-+]?\d+)?"
_AT = r'"at_step": (?P<step>\d+), "monotonic_s": [\d.]+, "wall_clock": (?P<unix_s>[\d.]+)'
_TOOK = rf'{_AT}, "took_s": (?P<took_s>{_NUMBER})'
_NAMED = r'"at_step": \d+, "monotonic_s": [\d.]+, "wall_clock": [\d.]+, '

FORMAT = Format(
    title="Stepscope's trainer",
    url="https://github.com/karpathy/nanoGPT",
    lines=(
        Line(
            "step",
            r'\{"kind":"step","step":(?P<step>\d+),"monotonic_s":[\d.]+,"time":(?P<unix_s>[\d.]+),"duration_s":[\d.]+,'
            rf'"loss":(?:null|(?P<loss>{_NUMBER})),[^{{}}]{{0,300}}"total_s":(?P<dur_s>[\d.]+),'
            r'"phases":\{(?:"data":(?P<data_s>[\d.]+),)?[^{}]{0,900}\}\}$',
        ),
        Line(
            "evaluation",
            rf'\{{"kind": "evaluation", {_TOOK}, "train_loss": (?P<train_loss>{_NUMBER}), '
            rf'"val_loss": (?P<val_loss>{_NUMBER})\}}$',
        ),
        Line("checkpoint", rf'\{{"kind": "checkpoint", {_TOOK}, "waiting_s": {_NUMBER}, "is_best": (?:true|false)\}}$'),
        Line("gc", rf'\{{"kind": "gc", {_TOOK}\}}$'),
        Line("setting", r'\{"kind": "setting", "key": "(?P<key>\w+)", "value": (?P<value>.*\S)\}$'),
        Line("start", r'\{"kind": "start", "schema": "stepscope\.steps/1", "at_step": 0, .*\}$'),
        Line("resume", r'\{"kind": "start", "schema": "stepscope\.steps/1", "at_step": [1-9]\d*, .*\}$'),
        Line("chatter", rf'\{{"kind": "(?:checkpoint_written|compile)", {_NAMED}.*\}}$'),
        Line("chatter", r'\{"kind":"(?:ready|end)","at_step":\d+,.*\}$'),
        Line("chatter", r'\{"kind": "ended", "how": "\w+", .*\}$'),
    ),
    clock=Clock(
        covers="step",
        includes=("evaluation", "checkpoint", "data", "gc", "logging"),
        note="Everything from the end of one step to the end of the next, with what each phase took of it. Reports use "
        "these seconds as they are: every phase is measured.",
    ),
    layout=Layout(),
    habits=Habits(
        evaluates_at_first_step=True,
        saves_at_first_step=False,
        # fp32 weights and Adam's two moments
        checkpoint_bytes_per_parameter=12.0,
        kept_checkpoints=3,
        prints_checkpoints=True,
        evaluation=EvaluationHabits(is_on_one_rank=False, shares_generator=False),
    ),
    controls=NANOGPT.controls._replace(
        # Of the records, none is left out: how often lines are printed says nothing about them.
        names={"max_iters": "max_steps", "save_interval": "checkpoint_interval", "log_interval": "printed_interval"},
        defaults={name: value for name, value in NANOGPT.controls.defaults.items() if name != "log_interval"},
        shipped_configs=(),
        settable={
            **{name: own for name, own in NANOGPT.controls.settable.items() if name != "log_interval"},
            "checkpoint_interval": "save_interval",
        },
    ),
    samples=(
        Sample(
            '{"kind":"step","step":7,"monotonic_s":12.500000,"time":1794858537.736165,"duration_s":0.0521000,'
            '"loss":2.75,"lr":0.001,"grad_norm":1.5,"mfu":null,"total_s":0.052125000,'
            '"phases":{"data":0.001000000,"forward":0.020000000,"backward":0.031125000}}',
            "step",
            {"step": 7, "dur_s": 0.052125, "loss": 2.75, "data_s": 0.001},
        ),
        Sample(
            '{"kind":"step","step":8,"monotonic_s":12.5,"time":1794858537.7,"duration_s":0.05,"loss":null,"lr":0.001,'
            '"grad_norm":null,"mfu":null,"again":true,"total_s":0.05,"phases":{"forward":0.05}}',
            "step",
            {"step": 8, "loss": None, "data_s": None},
        ),
        Sample(
            '{"kind": "evaluation", "at_step": 10, "monotonic_s": 1.5, "wall_clock": 1794858537.7, "took_s": 3.5, '
            '"train_loss": 2.5, "val_loss": 2.75}',
            "evaluation",
            {"step": 10, "took_s": 3.5, "val_loss": 2.75},
        ),
        Sample(
            '{"kind": "checkpoint", "at_step": 10, "monotonic_s": 1.5, "wall_clock": 1794858537.7, "took_s": 2.5e-05, '
            '"waiting_s": 0.0, "is_best": true}',
            "checkpoint",
            {"step": 10, "took_s": 2.5e-05},
        ),
        Sample(
            '{"kind": "gc", "at_step": 10, "monotonic_s": 1.5, "wall_clock": 1794858537.7, "took_s": 0.25}',
            "gc",
            {"took_s": 0.25},
        ),
        Sample(
            '{"kind": "setting", "key": "max_iters", "value": 400}', "setting", {"key": "max_iters", "value": "400"}
        ),
        Sample(
            '{"kind": "start", "schema": "stepscope.steps/1", "at_step": 0, "monotonic_s": 1.5, '
            '"wall_clock": 1794858537.7}',
            "start",
        ),
        Sample(
            '{"kind": "start", "schema": "stepscope.steps/1", "at_step": 20, "monotonic_s": 1.5, '
            '"wall_clock": 1794858537.7}',
            "resume",
        ),
        Sample(
            '{"kind": "checkpoint_written", "at_step": 10, "monotonic_s": 1.5, "wall_clock": 1794858537.7, '
            '"took_s": 0.5, "bytes": 9700000, "problem": null}',
            "chatter",
        ),
        Sample('{"kind":"ready","at_step":0,"monotonic_s":1.5,"wall_clock":1794858537.7,"phases":{}}', "chatter"),
        Sample('{"kind": "ended", "how": "finished", "wall_clock": 1794858537.7}', "chatter"),
        Sample('{"kind":"step","step":7,"monotonic_s":12.500000,"time":1794858537.7,"duration_s":0.05', None),
        Sample('{"kind": "evaluation", "step": 10}', None),
    ),
)
