"""nerfstudio: a table that is drawn again and again, with the time of an iteration and the time left."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

FORMAT = Format(
    title="nerfstudio",
    url="https://github.com/nerfstudio-project/nerfstudio",
    lines=(
        Line(
            "step",
            r"(?P<step>\d+) \((?P<percent>[\d.]+)%\) +(?:(?P<dur_ms>[\d.]+) ms|(?P<dur_clock>\d+ s, [\d.]+ ms)) +"
            r"(?:[\d.]+ (?:d|h|ms?|s),? ?){1,4} +[\d.]+ [KMB]?(?:\s|$)",
        ),
        Line("chatter", r"Step \(% Done\) +Train Iter \(time\)|-{40,}\s*$"),
        Line("checkpoint", r"Saving checkpoints? to:? (?P<path>\S+)"),
    ),
    clock=Clock(
        covers="step",
        includes=("data",),
        note="The mean time of the last iterations, waiting for data included; evaluation and saving are outside. One "
        "iteration in ten is printed. The share in brackets is that of max_num_iterations, and goes past 100 % where "
        "a loaded model is trained on; the printed time left is then meaningless.",
    ),
    layout=Layout(first_step=0, events_follow_step=True),
    samples=(
        Sample(
            "4210 (14.03%)      51.220 ms            22 m, 1 s            81.02 K",
            "step",
            {"step": 4210, "dur_ms": 51.22},
        ),
        Sample(
            "9120 (30.40%)       3 s, 120.500 ms      18 h, 5 m, 9 s       210.40 K",
            "step",
            {"step": 9120, "percent": 30.4, "dur_ms": None},
        ),
        Sample(
            "4810 (96.20%)       43.140 ms            8 s, 196.600 ms      14.86 M",
            "step",
            {"step": 4810, "dur_ms": 43.14},
        ),
        Sample("38110 (127.03%)     611.020 ms           20 h, 3 m, 9 s       42.10 K", "step", {"step": 38110}),
        Sample("Step (% Done)       Train Iter (time)    ETA (time)           Train Rays / Sec", "chatter"),
        Sample("Saving checkpoints to: outputs/scene/nerfacto", "checkpoint"),
        Sample("4210 (14.03%)      51.22", None),  # cut mid-write
    ),
)
