"""MAPPO's on-policy runners and what was built on them: the timesteps done, and their mean rate since the start."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

FORMAT = Format(
    title="MAPPO (on-policy)",
    url="https://github.com/marlbenchmark/on-policy",
    lines=(
        Line(
            "step",
            r"\s*(?:\w+ .{1,120}? )?(?:Algo .{1,80}? Exp .{1,80}? )?updates \d+/\d+ episodes, total num timesteps "
            r"(?P<step>\d+)/(?P<total>\d+), FPS (?P<mean_steps_per_s>\d+)\.\s*$",
        ),
        Line("chatter", r"\s*average (?:episode|step|training|validation)? ?(?:rewards?|returns?)\b"),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "logging"),
        note="FPS is all timesteps divided by the whole time since the start, cut to a whole number: the clock behind "
        "it is the most even one that all these rates allow. A step is a timestep of the environments. No ETA is "
        "printed.",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample(
            " Scenario simple_spread Algo rmappo Exp check updates 5/640 episodes, total num timesteps 19200/2000000, "
            "FPS 812.",
            "step",
            {"step": 19200, "total": 2000000, "mean_steps_per_s": 812.0},
        ),
        Sample("average episode rewards is -142.2", "chatter"),
        Sample(" Scenario simple_spread Algo rmappo Exp check updates 5/640 episodes, total num", None),
    ),
)
