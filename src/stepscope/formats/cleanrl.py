"""CleanRL's scripts: the returns of episodes with the global step, and steps per second since the start."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="CleanRL",
    url="https://github.com/vwxyzjn/cleanrl",
    lines=(
        # The rate comes at the end of an update; the step that is printed next is the first that it holds for.
        Line("fact", rf"SPS: (?P<mean_steps_per_s>\d+(?:\.\d+)?)(?:, .{{0,80}}?\b\w*loss={_NUMBER})?\s*(?:,.*)?$"),
        Line("step", r"(?:Epoch: \d+, )?global_step=(?P<step>\d+)(?=\s*$|,? ?episodic_return)"),
        Line("evaluation", r"Evaluated \d+ steps resulting in \d+ episodes"),
        Line("checkpoint", r"model saved to (?P<path>\S+)"),
        Line("fact", r"args\.num_iterations=\d+ args\.num_envs=(?P<num_envs>\d+)"),
        Line("chatter", r"eval_episode=\d+, episodic_return=|Evaluating\s*$|eval_\w+_mean="),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="SPS is the global step divided by the time since the start, evaluations and saving inside, cut to a "
        "whole number: the clock behind it is the most even one that all these rates allow. A step is one of the "
        "environments' steps. Neither a total nor an ETA is printed.",
        restarts_with="process",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample("SPS: 1312", "fact", {"mean_steps_per_s": 1312}),
        Sample("SPS: 988, pg_loss=-0.0031, v_loss=0.0912", "fact", {"mean_steps_per_s": 988}),
        Sample("global_step=20480, episodic_return=[212.]", "step", {"step": 20480}),
        Sample("Epoch: 5, global_step=102400", "step", {"step": 102400}),
        Sample("Evaluated 400 steps resulting in 16 episodes", "evaluation"),
        Sample("model saved to runs/toy__1__2/ckpt_26.pt", "checkpoint", {"path": "runs/toy__1__2/ckpt_26.pt"}),
        Sample("args.num_iterations=9000 args.num_envs=256 args.num_eval_envs=8", "fact", {"num_envs": 256}),
        Sample("eval_episode=3, episodic_return=[500.]", "chatter"),
        Sample("Evaluating", "chatter"),
        Sample("global step 20480 return 212", None),
        Sample("SPS: ", None),
    ),
)
