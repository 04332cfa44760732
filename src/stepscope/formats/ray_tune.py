"""RLlib and Ray Tune: the results of an iteration, one value a line, as YAML or in a box. The time comes before the
iteration's number."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:\d[\d.]*+(?:[eE][-+]?\d++)?|nan|inf|\.nan|\.inf)"
_BOX = r"(?:\u2502 )?"  # the left border of the box of Ray 2.7 and later
_END = r" *+\u2502?\s*$"
# What stands above the other values of a result, and the names that only Tune gives them.
_NAMES = (
    r"time_since_restore|time_total_s|timestamp|timesteps_since_restore|timesteps_this_iter|timesteps_total"
    r"|iterations_since_restore|episode_\w+|episodes_\w+|experiment_id|experiment_tag|node_ip|trial_id|hostname|pid|date"
    r"|done|should_checkpoint|checkpoint_dir_name|custom_metrics|hist_stats|sampler_\w+|policy_reward_\w+"
    r"|num_metric_batches_dropped|num_healthy_workers|num_\w{1,60}_steps_\w+|agent_timesteps_total|warmup_time|perf|timers"
    r"|info|counters|connector_metrics|off_policy_estimator"
)

# The statistics of a learner and the timers, further in.
_INNER = (
    r"(?:cur_|entropy_|grad_|model|allreduce|diff_|mean_|min_|max_|q_|td_|vf_|kl)\w*|entropy|learner\w*|default\w*"
    r"|(?:policy|vf|value|actor|critic|curiosity)_loss|\w+_(?:time_ms|throughput|coeff|percent)|num_\w+"
)

FORMAT = Format(
    title="RLlib and Ray Tune",
    url="https://github.com/ray-project/ray",
    lines=(
        # The names are sorted: time_this_iter_s comes before training_iteration, the last of them all but for trial_id.
        Line("fact", rf"{_BOX}time_this_iter_s:? +(?P<dur_s>{_NUMBER}){_END}"),
        Line("fact", rf"(?:{_BOX}(?:mean|total)_loss:?|\u2502 loss) +(?P<loss>{_NUMBER}){_END}"),
        Line("step", rf"{_BOX}training_iteration:? +(?P<step>\d+){_END}"),
        Line("chatter", rf"{_BOX}(?:{_NAMES})(?::| )(?: .{{0,2000}})?$"),
        Line("chatter", rf"(?!mean_loss:)(?:{_INNER}):(?: (?:{_NUMBER}|\{{\}}|\[\]|null))?\s*$"),
        Line("chatter", r"Result for \S{1,200}:\s*$|Trial \S{1,200} (?:reported|started|finished|completed|errored) "),
        Line("chatter", r"Training (?:started|finished|completed) (?:iteration|after|with|without) |== Status ==\s*$"),
    ),
    clock=Clock(
        covers="step",
        includes=("evaluation", "data", "logging"),
        note="time_this_iter_s: the seconds of one training iteration, from the call of step() until it returned; "
        "sampling and, in RLlib, an evaluation are inside. Tune saves after that, so checkpoints are outside; a "
        "training function that reports its own results has everything since its last report inside. time_total_s is "
        "the sum of them all. The *_time_ms are means over earlier iterations. Of several trials in one log, the "
        "results follow each other as they come. Neither a total nor an ETA is printed.",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample("time_this_iter_s: 3.120418", "fact", {"dur_s": 3.120418}),
        Sample("\u2502 time_this_iter_s           3.12042 \u2502", "fact", {"dur_s": 3.12042}),
        Sample("total_loss: 211.4", "fact", {"loss": 211.4}),
        Sample("\u2502 loss                           1.25 \u2502", "fact", {"loss": 1.25}),
        Sample("training_iteration: 12", "step", {"step": 12}),
        Sample("\u2502 training_iteration              12 \u2502", "step", {"step": 12}),
        Sample("time_total_s: 41.2", "chatter"),
        Sample("custom_metrics: {}", "chatter"),
        Sample("info:", "chatter"),
        Sample("vf_explained_var: 0.0312", "chatter"),
        Sample("grad_time_ms: 811.2", "chatter"),
        Sample("\u2502 episode_reward_mean           21.4 \u2502", "chatter"),
        Sample("Result for PPO_CartPole-v1_0:", "chatter"),
        Sample("Training finished iteration 12 at 2024-02-03 04:05:06. Total running time: 41s", "chatter"),
        Sample("training_iteration: 12 of", None),
        Sample("time_this_iter_s:", None),
        Sample('{"training_iteration": 12, "time_this_iter_s": 3.12}', None),  # a line of result.json
    ),
)
