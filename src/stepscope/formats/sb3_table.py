"""The tables of OpenAI Baselines and Stable-Baselines. The step is in one line, its clock in another, its loss in a
third."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_ELAPSED = r"(?:(?:time/|misc/)?time_elapsed|TimeElapsed)"
_STEPS = r"(?:(?:time/|misc/)?total[_ ]timesteps|TimestepsSoFar)"
_NUMBER = r"[-+]?(?:\d[\d.]*+(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="Stable-Baselines3",
    url="https://github.com/DLR-RM/stable-baselines3",
    lines=(
        # The names are sorted, so the clock comes before the step and the loss after both.
        Line("fact", rf"(?:\| +)?{_ELAPSED} +\| (?P<elapsed_s>[\d.]+(?:e\+?\d+)?) *\|"),
        # The mean since the start; taken only where the table has no clock.
        Line("fact", r"(?:\| +)?(?:time/|misc/)?fps +\| (?P<mean_steps_per_s>[\d.]+(?:e\+?\d+)?) *\|"),
        Line("step", rf"(?:\| +)?{_STEPS} +\| (?P<step>\d[\d.]*(?:e\+?\d+)?) *\|"),
        Line("step", rf"(?:\| +)?(?:train/)?loss +\| (?P<loss>{_NUMBER}) *\|"),
        Line("evaluation", r"Eval num_timesteps=(?P<step>\d+), episode_reward="),
        Line(
            "chatter",
            rf"(?:\| *)?(?! |{_ELAPSED} |{_STEPS} |(?:time/|misc/)?fps +\| \d|(?:train/)?loss )"
            r"[\w/.][\w/. -]{1,60}\|[^|]{0,60}\|\s*$",
        ),
        Line("chatter", r"-{15,}\s*$|Episode length: |New best mean reward!|Success rate: "),
        Line("chatter", r"Using (?:cuda|cpu|mps) device|Wrapping the env|Logging to \S+"),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="time_elapsed, whole seconds since learn() began, with evaluations and saving in it; a step is one of "
        "total_timesteps, thousands of which lie between two tables. fps is the mean since the start, and the clock of "
        "tables without time_elapsed. Neither a total "
        "nor an ETA is printed.",
        restarts_with="process",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample("|    time_elapsed         | 37          |", "fact", {"elapsed_s": 37}),
        Sample("| time/time_elapsed | 37 |", "fact", {"elapsed_s": 37}),
        Sample("|    total_timesteps      | 81920       |", "step", {"step": 81920}),
        Sample("| misc/time_elapsed       | 61.2     |", "fact", {"elapsed_s": 61.2}),
        Sample("| TimeElapsed     | 1.31e+03 |", "fact", {"elapsed_s": 1310}),
        Sample("| TimestepsSoFar  | 20480 |", "step", {"step": 20480}),
        Sample("| fps             | 812      |", "fact", {"mean_steps_per_s": 812}),
        Sample("| total timesteps    | 5120          |", "step", {"step": 5120}),
        Sample("|    loss                 | 0.0312      |", "step", {"loss": 0.0312}),
        Sample("Eval num_timesteps=20000, episode_reward=181.20 +/- 12.40", "evaluation", {"step": 20000}),
        Sample("| rollout/                |             |", "chatter"),
        Sample("|    value_loss           | 41.5        |", "chatter"),
        Sample("Episode length: 181.20 +/- 12.40", "chatter"),
        Sample("Using cuda device", "chatter"),
        Sample("| step | loss | time |", None),
        Sample("|    total_timesteps      | 819", None),  # cut mid-write
    ),
)
