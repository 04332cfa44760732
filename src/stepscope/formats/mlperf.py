"""MLPerf's own event lines, for logs that hold nothing else: Unix time in every line, steps in whatever was counted."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

# `srun -l` puts the rank and a colon before a line.
# The old form has the time before the key, the new one inside its JSON. `{0}` is the key.
_NEW = r"(?:\d+: )?:{{0,3}}MLLOG \{{(?>.{{0,60}}?\"time_ms\": (?P<unix_ms>\d{{13}}),).{{0,60}}?\"key\": \"{0}\", "
_OLD = r"(?:\d+: )?:{{0,3}}MLL (?P<unix_s>\d{{10}}\.\d+) {0}: "
_MARKS = r"(?:run_stop|(?:block|epoch|eval)_(?:start|stop))"
# What an evaluation counts up to: samples, else an epoch number too large to be one (tokens or samples again).
_COUNTED = r".{0,400}?\"(?:samples_count(?!.{0,40}\"step\")|epoch_num(?=\": \d{5}))\""
_COUNT = _COUNTED + r": (?P<step>\d+)(?:\.0)?(?=[,}])"
_TIMED = rf"(?:eval_accuracy|run_start|{_MARKS})"

FORMAT = Format(
    title="MLPerf Training",
    url="https://github.com/mlcommons/logging",
    lines=(
        Line(
            "step",
            _NEW.format("tracked_stats") + r"\"value\": \{(?!\"(?:validation|warmup|init))"
            r"(?>.{0,200}?\"(?:reduced_train_)?loss\": (?P<loss>[\d.e+-]+))?"
            r"(?>.{0,1000}?\"metadata\": ).{0,400}?\"step\": (?P<step>\d+)(?:\.0)?(?=[,}])",
        ),
        # With no such lines, the training up to an evaluation is the step.
        Line("step", _NEW.format("eval_start") + _COUNT),
        # MaxText marks the end of a block only by its accuracy.
        Line("step", _NEW.format("eval_accuracy") + r".{0,100}?\"file\": \"[^\"]{0,100}?/MaxText/" + _COUNT),
        Line("evaluation", _NEW.format("eval_accuracy") + r"(?!.{0,200}/MaxText/)(?:\"value\": (?P<val_loss>[\d.]+))?"),
        Line("evaluation", _OLD.format("eval_accuracy")),
        Line("start", _NEW.format("run_start")),
        Line("start", _OLD.format("run_start")),
        Line("fact", _NEW.format("max_steps") + r"\"value\": (?P<total>\d+)"),
        # Events that carry nothing but their time
        Line("fact", _NEW.format(rf"(?!eval_start\"{_COUNTED}){_MARKS}")),
        Line("fact", _OLD.format(_MARKS)),
        Line(
            "chatter", _NEW.format("tracked_stats") + r"(?:\"value\": \{\"(?:validation|warmup|init)|(?!.*\"step\": ))"
        ),
        Line(
            "chatter", rf"(?:\d+: )?:{{0,3}}MLLOG \{{.{{0,200}}?\"key\": \"(?!tracked_stats\b|max_steps\b|{_TIMED}\b)"
        ),
        Line("chatter", rf"(?:\d+: )?:{{0,3}}MLL \d+\.\d+ (?!{_TIMED}\b)"),
        Line("chatter", r"(?:\d+: )?:{0,3}(?:MLP\w+|SYSJSON|DLPAL|GITCOMMITID)\b"),
        Line(
            "chatter",
            r"(?:\d+: )?\+{1,3} |RESULT,|(?:STARTING|ENDING) TIMING RUN|(?:Beginning|Finished) trial|Clearing cache",
        ),
        Line("chatter", r"(?:\d+: +)?(?:\(\w+\): \w+\(|\)\s*$)|(?:\d+:\s+)?module\.[\w.]+\s*$|Params for bucket \d+"),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="Every line has its Unix time in milliseconds. A step is what the line counts, which may be steps, "
        "samples or tokens: MLPerf's epoch_num is often not a count of epochs. The run is from run_start to run_stop; "
        "there is neither a total nor an ETA. A trainer's own lines in the same file are read instead.",
    ),
    layout=Layout(events_follow_step=True),
    samples=(
        Sample(
            ':::MLLOG {"namespace": "", "time_ms": 1700788040827, "event_type": "POINT", "key": "tracked_stats", '
            '"value": {"train_step_time": 0.42, "reduced_train_loss": 8.07}, "metadata": {"file": "a.py", '
            '"step": 31.0, "samples_count": 512.0}}',
            "step",
            {"step": 31, "loss": 8.07, "unix_ms": 1700788040827},
        ),
        Sample(
            ':::MLLOG {"namespace": "", "time_ms": 1700788040827, "event_type": "POINT", "key": "eval_accuracy", '
            '"value": 2.74, "metadata": {"file": "/x/MaxText/utils.py", "lineno": 72, "epoch_num": 50331648}}',
            "step",
            {"step": 50331648},
        ),
        Sample(
            ':::MLLOG {"namespace": "", "time_ms": 1700788040827, "event_type": "POINT", "key": "eval_accuracy", '
            '"value": 2.74, "metadata": {"file": "b.py", "lineno": 72, "epoch_num": 3}}',
            "evaluation",
            {"val_loss": 2.74},
        ),
        Sample(
            ':::MLLOG {"namespace": "", "time_ms": 1700788040827, "event_type": "START", "key": "eval_start", '
            '"value": null, "metadata": {"file": "b.py", "lineno": 72, "samples_count": 1536}}',
            "step",
            {"step": 1536},
        ),
        Sample(
            ':::MLLOG {"namespace": "", "time_ms": 1700788040827, "event_type": "START", "key": "eval_start", '
            '"value": null, "metadata": {"file": "b.py", "lineno": 72, "epoch_num": 3}}',
            "fact",
        ),
        Sample(':::MLL 1571882734.718 eval_accuracy: {"value": 23.04}', "evaluation", {"unix_s": 1571882734.718}),
        Sample(
            ':::MLLOG {"namespace": "", "time_ms": 1700788040827, "event_type": "START", "key": "run_start", '
            '"value": null}',
            "start",
        ),
        Sample(':::MLL 1571882734.718 run_start: {"value": null}', "start"),
        Sample(
            ':::MLLOG {"namespace": "", "time_ms": 1700788040827, "event_type": "POINT", "key": "max_steps", '
            '"value": 1200}',
            "fact",
            {"total": 1200},
        ),
        Sample(
            ':::MLLOG {"namespace": "", "time_ms": 1700788040827, "event_type": "INTERVAL_END", "key": "block_stop", '
            '"value": null}',
            "fact",
        ),
        Sample(':::MLL 1571882734.718 eval_start: {"value": null}', "fact"),
        Sample(
            ':::MLLOG {"namespace": "", "time_ms": 1700788040827, "event_type": "POINT", "key": "tracked_stats", '
            '"value": {"validation_step_time": 0.49}, "metadata": {"lineno": 480, "step": 0}}',
            "chatter",
        ),
        Sample(':::MLLOG {"namespace": "", "time_ms": 1700788040827, "key": "seed", "value": 3}', "chatter"),
        Sample(":::MLL 1571882734.718 seed: {}", "chatter"),
        Sample(":::SYSJSON {}", "chatter"),
        Sample("+ echo 'Beginning trial 03 of 7'", "chatter"),
        Sample("(decoder): TransformerBlock(", "chatter"),
        Sample('{"time_ms": 1700788040827, "key": "eval_accuracy"}', None),
    ),
)
