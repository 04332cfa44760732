"""A metric of MLflow's file store: one line per value, `time value step`. The file's name says which metric it is."""

from stepscope.lines.format import Clock, Format, Line, Sample

FORMAT = Format(
    title="MLflow metric file",
    url="https://github.com/mlflow/mlflow",
    lines=(
        # The value may be a loss or anything else: the line does not say, so it is not read as one.
        Line(
            "step", r"(?P<unix_ms>1\d{12}) (?:-?(?:\d[\d.]*(?:[eE][-+]?\d+)?|inf)|nan) (?P<step>\d{1,15})(?: \w+){0,2}$"
        ),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The moment of each call to log_metric, in milliseconds: the difference of two holds everything that "
        "happened between them. A value logged without a step has step 0. Neither a total nor an ETA is written.",
    ),
    samples=(
        Sample("1731600000500 3.25 120", "step", {"unix_ms": 1731600000500, "step": 120}),
        Sample("1731600001000 1e-05 121", "step", {"step": 121}),
        Sample("1731600001500 nan 122", "step", {"step": 122}),
        Sample("1731600001500 3.25", None),  # before MLflow 1.0 a metric had no step
        Sample("1731600000.5 3.25 120", None),
    ),
)
