"""NVIDIA HugeCTR: the time of all iterations since the last line, evaluation inside."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_TAG = r"\[HUGECTR\]\[(?P<stamp>\d\d:\d\d:\d\d)(?:\.\d+)?\]\[\w+\](?:\[RANK ?\w+\])?(?:\[\w+\])?: "

FORMAT = Format(
    title="NVIDIA HugeCTR",
    url="https://github.com/NVIDIA-Merlin/HugeCTR",
    lines=(
        Line(
            "step",
            rf"{_TAG}Iter: (?P<step>\d+) Time\((?P<per_steps>\d+) iters\): (?P<dur_s>[\d.]+)s"
            r"(?: Loss: ?(?P<loss>[\d.e+-]+|nan|inf))?",
        ),
        Line("evaluation", rf"{_TAG}Eval Time for \d+ iters: (?P<took_s>[\d.]+)s"),
        Line("fact", rf"{_TAG}Use (?:non-)?epoch mode with number of iterations: (?P<total>\d+)"),
        Line("chatter", r"\[HUGECTR\]\[[^ ]+: (?!Iter: |Eval Time|Use (?:non-)?epoch mode with)"),
        Line("chatter", r"\[\d+\.\d\d, \w+, "),
        Line("chatter", r":{0,3}(?:MLLOG|MLL|MLP\S*) "),
        Line("chatter", r"(?:\w+ {2,})?fc\d+ |\++ \S"),
    ),
    clock=Clock(
        covers="window",
        includes=("evaluation", "data", "logging"),
        note="The figure is seconds for the iterations in the bracket together, an evaluation among them included. "
        "There is no ETA.",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample(
            "[HUGECTR][11:23:47][INFO][RANK0]: Iter: 6000 Time(1000 iters): 4.500000s Loss: 0.131000",
            "step",
            {"step": 6000, "per_steps": 1000, "dur_s": 4.5, "loss": 0.131},
        ),
        Sample(
            "[HUGECTR][11:23:43][INFO][RANK0]: Eval Time for 1613 iters: 2.283130s", "evaluation", {"took_s": 2.28313}
        ),
        Sample(
            "[HUGECTR][11:22:31][INFO][RANK0]: Use non-epoch mode with number of iterations: 75868",
            "fact",
            {"total": 75868},
        ),
        Sample("[HUGECTR][11:22:31][INFO][RANK0]: Evaluation, AUC: 0.790584", "chatter"),
        Sample("[20114.25, init_end, ]", "chatter"),
        Sample(":::MLLOG {}", "chatter"),
        Sample("FusedInnerProduct        fc1             fc2          (None, 512)", "chatter"),
        Sample("Iter: 6000 Time(1000 iters): 4.5s", None),
    ),
)
