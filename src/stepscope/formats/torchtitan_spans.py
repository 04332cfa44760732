"""torchtitan's structured logs: a JSON line at the start and the end of each span, to the microsecond."""

from stepscope.lines.format import Clock, Controls, Format, Habits, Layout, Line, Sample

_HEAD = (
    r'\{"delta_ms": [-\d.e]+, (?>.{0,400}?"step": (?P<step>\d+), )(?>.{0,200}?"time_ms": (?P<unix_ms>\d+), ).{0,60}?'
)


def _ended(spans: str, group: str) -> str:
    """The end of one of these spans, and how long it was."""
    return rf'{_HEAD}"log_type_name": "(?:{spans})_end", .{{0,200}}?"value": (?P<{group}>[\d.]+(?:e-?\d+)?)'


FORMAT = Format(
    title="torchtitan (structured logs)",
    url="https://github.com/pytorch/torchtitan",
    lines=(
        Line("step", _ended("step", "dur_ms")),
        Line("data", _ended("fetching_batch", "took_ms")),
        Line("evaluation", _ended("eval", "took_ms")),
        Line("checkpoint", _ended("checkpoint(?:_save)?", "took_ms")),
        Line("gc", _ended("gc_collect", "took_ms")),
        Line("start", r'\{"delta_ms": .{0,600}?"log_type_name": "(?:training_start|structured_logger_started)"'),
        # Spans inside a step, beginnings, scalars
        Line(
            "chatter",
            r'\{"delta_ms": .{0,600}?"log_type_name": "(?!(?:step|fetching_batch|eval|checkpoint|checkpoint_save|'
            r'gc_collect)_end"|training_start"|structured_logger_started")',
        ),
    ),
    clock=Clock(
        covers="step",
        includes=("data", "gc", "logging"),
        note="The span of one step, with loading inside; evaluation and checkpoints are spans of their own, after it. "
        "Each line has its moment, so what lies between two spans is known, too.",
    ),
    layout=Layout(first_step=1),
    habits=Habits(kept_checkpoints=0),
    controls=Controls(
        settable={
            "eval_interval": "validation.freq",
            "checkpoint_interval": "checkpoint.interval",
            "log_interval": "metrics.log_freq",
            "max_steps": "training.steps",
            "batch_size": "training.local_batch_size",
        },
        syntax="--{name} {value}",
    ),
    samples=(
        Sample(
            '{"delta_ms": 3.1, "tid": 61, "rank": 0, "source": "training", "pid": 61, "step": 12, "relative_step": 12, '
            '"time": 1794858537, "time_ms": 1794858537736, "time_us": 1794858537736165, "log_type": "event", '
            '"log_type_name": "step_end", "event_name": null, "value": 412.5, "caller": "trainer.py:1033:train"}',
            "step",
            {"step": 12, "unix_ms": 1794858537736, "dur_ms": 412.5},
        ),
        Sample(
            '{"delta_ms": 3.1, "step": 12, "time": 1794858537, "time_ms": 1794858537736, "log_type": "event", '
            '"log_type_name": "fetching_batch_end", "event_name": null, "value": 2.5}',
            "data",
            {"took_ms": 2.5},
        ),
        Sample(
            '{"delta_ms": 3.1, "step": 20, "time": 1794858537, "time_ms": 1794858537736, "log_type": "event", '
            '"log_type_name": "eval_end", "event_name": null, "value": 8100.5}',
            "evaluation",
            {"step": 20, "took_ms": 8100.5},
        ),
        Sample(
            '{"delta_ms": 3.1, "step": 20, "time": 1794858537, "time_ms": 1794858537736, "log_type": "event", '
            '"log_type_name": "checkpoint_save_end", "event_name": null, "value": 5100.5}',
            "checkpoint",
            {"step": 20, "took_ms": 5100.5},
        ),
        Sample(
            '{"delta_ms": 3.1, "step": 50, "time": 1794858537, "time_ms": 1794858537736, "log_type": "event", '
            '"log_type_name": "gc_collect_end", "event_name": null, "value": 310.0}',
            "gc",
            {"step": 50, "took_ms": 310.0},
        ),
        Sample('{"delta_ms": 3.1, "step": null, "time_ms": 1, "log_type_name": "training_start"}', "start"),
        Sample('{"delta_ms": 3.1, "step": 20, "time_ms": 1, "log_type_name": "fwd_bwd_end", "value": 3.5}', "chatter"),
        Sample('{"delta_ms": 3.1, "step": 20, "time_ms": 1, "log_type_name": "eval_start"}', "chatter"),
        Sample('{"step": 20, "time_ms": 1794858537736, "loss": 3.5}', None),
    ),
)
