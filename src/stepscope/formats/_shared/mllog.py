"""MLPerf's event lines inside a trainer's own log: their moments show what a clock of steps alone leaves out."""

from stepscope.lines.format import Line, Sample

_MARK = r"(?:run|eval|epoch|block)_(?:start|stop)"

LINES = (
    Line(
        "fact",
        rf"(?:\d+: )?:{{0,3}}(?:MLLOG \{{.{{0,80}}?\"time_ms\": (?P<unix_ms>\d{{13}}),.{{0,80}}?\"key\": \"{_MARK}\""
        rf"|MLL (?P<unix_s>\d{{10}}\.\d+) {_MARK}:)",
    ),
    Line(
        "chatter",
        rf"(?:\d+: )?:{{0,3}}(?:MLLOG (?!.{{0,200}}?\"key\": \"{_MARK}\")|MLL (?!\S+ {_MARK}:)|MLP\S* |SYSJSON\b"
        r"|DLPAL\b|GITCOMMITID\b)",
    ),
)
SAMPLES = (
    Sample(
        ':::MLLOG {"namespace": "", "time_ms": 1652458387301, "event_type": "INTERVAL_START", "key": "run_start"}',
        "fact",
        {"unix_ms": 1652458387301},
    ),
    Sample(':::MLL 1571882734.718 eval_stop: {"value": null}', "fact", {"unix_s": 1571882734.718}),
    Sample(':::MLLOG {"namespace": "", "time_ms": 1652458387301, "key": "seed", "value": 3}', "chatter"),
)
