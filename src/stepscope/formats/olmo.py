"""OLMo's trainer: a block of metrics under a line with the step. Its clock is the moment before that line."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"
# Behind the moment: the host with its rank, the module with its line, the level.
_HEAD = r"(?:[\w.-]{1,80}:\d+\s+[\w.]{1,60}:\d+\s+[A-Z]{4,8}\s+)?"

FORMAT = Format(
    title="OLMo",
    url="https://github.com/allenai/OLMo",
    lines=(
        Line("step", rf"{_HEAD}\[step=(?P<step>\d+)/(?P<total>\d+)(?:,epoch=\d+)?\]\s*$"),
        Line("step", rf"train/CrossEntropyLoss=(?P<loss>{_NUMBER})\s*$"),
        Line("evaluation", rf"{_HEAD}Running evaluation for '[^']{{1,200}}'\.\.\."),
        Line("checkpoint", rf"{_HEAD}Saving (?:pre-train |ephemeral |unsharded |sharded )?checkpoint\.\.\."),
        Line("start", rf"{_HEAD}CLI environment prepared"),
        Line("resume", rf"{_HEAD}Loading checkpoint from (?P<path>\S+?)(?:\.\.\.)?\s*$"),
        Line("fact", rf"{_HEAD}Total number of parameters: (?P<parameters>[\d,]+)"),
        Line("chatter", r"(?!train/CrossEntropyLoss)[A-Za-z][\w ()/.-]{1,100}=[-+\d.,e]{1,40}(?:nan|inf)?\s*$"),
        Line("chatter", rf"{_HEAD}(?:Checkpoint saved to |Saving (?:model|optim|trainer) state|Saving config)"),
        Line("chatter", rf"{_HEAD}\[eval_step=\d+/\d+\]"),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The moments of the lines with a step: the difference of two holds everything between them, evaluations "
        "and saving included. throughput/device/batches_per_second is a mean over the last hundred batches or since "
        "the last evaluation or save, which clear it. The total stands on each line; no ETA is printed.",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample("[step=240/5000,epoch=0]", "step", {"step": 240, "total": 5000}),
        Sample("node-7.example:0\tolmo.train:967\tINFO\t[step=250/5000,epoch=0]", "step", {"step": 250, "total": 5000}),
        Sample("train/CrossEntropyLoss=4.812", "step", {"loss": 4.812}),
        Sample("Running evaluation for 'pile-validation'...", "evaluation"),
        Sample("node-7:0\tolmo.train:1244\tINFO\tSaving checkpoint...", "checkpoint"),
        Sample("node-7:0\tolmo.train:1304\tINFO\tSaving unsharded checkpoint...", "checkpoint"),
        Sample("node-7:0\ttrain:417\tINFO\tCLI environment prepared", "start"),
        Sample("Loading checkpoint from /runs/a/step1000...", "resume", {"path": "/runs/a/step1000"}),
        Sample("Total number of parameters: 1,176,764,416", "fact", {"parameters": 1176764416}),
        Sample("throughput/device/tokens_per_second=51,210", "chatter"),
        Sample("System/Peak GPU Memory (MB)=71,402", "chatter"),
        Sample("Checkpoint saved to /runs/a/step1000", "chatter"),
        Sample("[eval_step=5/61]", "chatter"),
        Sample("[step=240/5000,epo", None),  # cut mid-write
        Sample("step=240/5000", None),
    ),
)
