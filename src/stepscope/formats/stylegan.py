"""StyleGAN's training loops: one line per tick, a few thousand images, with a running clock."""

from stepscope.lines.format import Clock, Format, Line, Sample

FORMAT = Format(
    title="StyleGAN",
    url="https://github.com/NVlabs/stylegan3",
    lines=(
        Line(
            "step",
            r"tick (?P<step>\d+) +kimg +[\d.]+ +(?:lod [\d.]+ +minibatch \d+ +)?"
            r"time (?P<elapsed_clock>[\dhdms ]{2,20}?) +"
            r"sec/tick +[\d.]+ +sec/kimg +[\d.]+",
        ),
        Line("evaluation", r'\{"results": \{"\w+": '),
        Line("start", r"Training for \d+ kimg\.\.\."),
        Line("resume", r'Resuming from "(?P<path>[^"]+)"'),
        Line(
            "chatter",
            r"(?:Evaluating metrics|Exporting sample|Setting up |Constructing |Loading training|Distributing )",
        ),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="Time since this process began, in whole seconds; snapshots and metrics after a tick (maintenance) are "
        "inside, sec/tick leaves them out. A step is a tick of some thousand images. The total is given in kimg, "
        "thousands of images, and no ETA is printed.",
        restarts_with="process",
    ),
    samples=(
        Sample(
            "tick 12    kimg 48.2     time 7m 41s       sec/tick 35.8    sec/kimg 8.94    maintenance 0.1    "
            "cpumem 4.10   gpumem 9.20   augment 0.010",
            "step",
            {"step": 12, "elapsed_clock": None},
        ),
        Sample(
            "tick 9     kimg 360.1    lod 4.00  minibatch 128  time 1h 02m 10s   sec/tick 301.2   sec/kimg 7.5",
            "step",
            {"step": 9},
        ),
        Sample('{"results": {"fid50k_full": 31.2}, "metric": "fid50k_full", "total_time": 91.0}', "evaluation"),
        Sample("Training for 25000 kimg...", "start"),
        Sample('Resuming from "ffhq256"', "resume", {"path": "ffhq256"}),
        Sample("Evaluating metrics...", "chatter"),
        Sample("tick 12    kimg 48.2     time 7m 4", None),  # cut mid-write
    ),
)
