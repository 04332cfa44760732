"""rsl_rl, the trainer of legged_gym and Isaac Lab: a block per iteration, its number first and its time at the end."""

from stepscope.lines.format import Clock, Format, Line, Sample

FORMAT = Format(
    title="rsl_rl",
    url="https://github.com/leggedrobotics/rsl_rl",
    lines=(
        Line("fact", r"Learning iteration (?P<step>\d+)/(?P<total>\d+)\s*$"),
        Line("step", r"Iteration time: (?P<dur_s>[\d.]+)s\s*$"),
        Line("chatter", r"Computation: \d+ steps/s|Steps per second: \d+|Collection time: |Learning time: "),
        Line("chatter", r"(?:Total time|Time elapsed|Total (?:time)?steps|ETA): +\S+\s*$|#{40,}\s*$|-{40,}\s*$"),
        Line(
            "chatter",
            r"(?:Mean|Value|Surrogate|Entropy|Symmetry|RND|Episode)[\w /()-]{0,60}: +[-+\d.einfa]+\s*$",
        ),
    ),
    clock=Clock(
        covers="step",
        includes=("data",),
        note="The time of one iteration: collecting experience in all environments, then learning from it. Saving and "
        "logging are outside. ETA is the mean time of the iterations so far times those left.",
    ),
    samples=(
        Sample("Learning iteration 41/1500", "fact", {"step": 41, "total": 1500}),
        Sample("Iteration time: 1.32s", "step", {"dur_s": 1.32}),
        Sample("Computation: 74210 steps/s (collection: 0.981s, learning 0.343s)", "chatter"),
        Sample("Total timesteps: 4030464", "chatter"),
        Sample("ETA: 0:32:10", "chatter"),
        Sample("Mean reward: 12.31", "chatter"),
        Sample("#" * 80, "chatter"),
        Sample("Iteration time: 1.3", None),  # cut mid-write
        Sample("Learning iteration", None),
    ),
)
