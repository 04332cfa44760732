"""StyleGAN's training loops: one line per tick, a few thousand images, with its time."""

from stepscope.lines.format import Clock, Format, Line, Sample

FORMAT = Format(
    title="StyleGAN",
    url="https://github.com/NVlabs/stylegan3",
    lines=(
        Line(
            "step",
            r"tick (?P<step>\d+) +kimg +(?P<samples_done>[\d.]+) +(?:lod [\d.]+ +minibatch \d+ +)?"
            r"time [\dhdms ]{2,20}? +sec/tick +(?P<dur_s>[\d.]+) +sec/kimg +[\d.]+"
            # A snapshot with its metric takes long; less is no stop of the training.
            r"(?: +maintenance +(?:(?P<evaluation_after_s>\d{2,}\.\d+)|[\d.]+))?",
        ),
        Line("chatter", r"network-snapshot-\d+ +time "),
        Line("evaluation", r'\{"results": \{"\w+": '),
        Line("start", r"Training for (?P<samples_total>\d+) kimg\.\.\."),
        Line("resume", r'Resuming from "(?P<path>[^"]+)"'),
        Line(
            "chatter",
            r"(?:Evaluating metrics|Exporting sample|Setting up |Constructing |Loading training|Distributing )",
        ),
    ),
    clock=Clock(
        covers="step",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The time of one tick, some thousand images; snapshots and metrics before it are printed as maintenance "
        "and added. The running clock next to it is in whole minutes after a day. The total is given in kimg, "
        "thousands of images, and no ETA is printed.",
    ),
    samples=(
        Sample(
            "tick 12    kimg 48.2     time 7m 41s       sec/tick 35.8    sec/kimg 8.94    maintenance 0.1    "
            "cpumem 4.10   gpumem 9.20   augment 0.010",
            "step",
            {"step": 12, "samples_done": 48.2, "dur_s": 35.8},
        ),
        Sample(
            "tick 9     kimg 360.1    lod 4.00  minibatch 128  time 1h 02m 10s   sec/tick 301.2   sec/kimg 7.5",
            "step",
            {"step": 9},
        ),
        Sample('{"results": {"fid50k_full": 31.2}, "metric": "fid50k_full", "total_time": 91.0}', "evaluation"),
        Sample(
            "tick 140   kimg 560.0    time 1d 02h 10m     sec/tick 71.1    sec/kimg 17.3    maintenance 274.3  "
            "gpumem 9.1",
            "step",
            {"step": 140, "dur_s": 71.1, "evaluation_after_s": 274.3},
        ),
        Sample("network-snapshot-000560        time 4m 26s      fid50k_full 31.2", "chatter"),
        Sample("Training for 25000 kimg...", "start", {"samples_total": 25000}),
        Sample('Resuming from "ffhq256"', "resume", {"path": "ffhq256"}),
        Sample("Evaluating metrics...", "chatter"),
        Sample("tick 12    kimg 48.2     time 7m 4", None),  # cut mid-write
    ),
)
