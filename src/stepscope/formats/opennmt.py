"""OpenNMT-py: a running clock in whole seconds at the end of each report."""

from stepscope.lines.format import Clock, Controls, Format, Layout, Line, Sample

_NUMBER = r"(?:[-+]?[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="OpenNMT-py",
    url="https://github.com/OpenNMT/OpenNMT-py",
    lines=(
        Line(
            "step",
            rf"Step +(?P<step>\d+)(?:/ *(?P<total>\d+))?; +acc: +{_NUMBER}; +ppl: +{_NUMBER}; +"
            rf"xent: +(?P<loss>{_NUMBER}); .{{0,160}}?tok/s; +(?P<elapsed_s>\d+) sec",
        ),
        Line("evaluation", r"Validation perplexity: "),
        Line("checkpoint", r"Saving checkpoint (?P<path>\S+_step_(?P<step>\d+)\.pt)"),
        Line("start", r"Starting training on (?:GPU|CPU)"),
        Line("resume", r"Loading checkpoint from (?P<path>\S+)"),
        Line("fact", r"\* number of parameters: (?P<parameters>\d+)"),
        Line(
            "chatter", r"(?:Validation accuracy|Train perplexity|Train accuracy): |valid stats calculation|Train xent"
        ),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="Whole seconds since this process began to train, validation and saving included; the rate of tokens is "
        "that of the report's steps. The total may stand behind the step; no ETA is printed.",
        restarts_with="process",
    ),
    layout=Layout(first_step=1),
    controls=Controls(
        settable={
            "eval_interval": "valid_steps",
            "checkpoint_interval": "save_checkpoint_steps",
            "log_interval": "report_every",
            "max_steps": "train_steps",
            "batch_size": "batch_size",
            "gradient_accumulation_steps": "accum_count",
            "num_workers": "num_workers",
            "keep_saves": "keep_checkpoint",
        },
        syntax="-{name} {value}",
    ),
    samples=(
        Sample(
            "Step 350/50000; acc:  21.40; ppl: 412.31; xent: 6.02; lr: 0.00012; 9120/8711 tok/s;     91 sec",
            "step",
            {"step": 350, "total": 50000, "loss": 6.02, "elapsed_s": 91},
        ),
        Sample(
            "Step 350/50000; acc: 21.4; ppl: 412.3; xent: 6.0; lr: 0.00012; sents: 6400; bsz: 1800/1790/64; "
            "9120/8711 tok/s;     91 sec;",
            "step",
            {"step": 350, "elapsed_s": 91},
        ),
        Sample("Validation perplexity: 91.2", "evaluation"),
        Sample("Saving checkpoint run/model_step_5000.pt", "checkpoint", {"step": 5000}),
        Sample("Starting training on GPU: [0]", "start"),
        Sample("Loading checkpoint from run/model_step_5000.pt", "resume"),
        Sample("* number of parameters: 51204301", "fact", {"parameters": 51204301}),
        Sample("Validation accuracy: 41.2", "chatter"),
        Sample("Step 350/50000; acc:  21.40; ppl: 412.31; xent: 6.02; lr: 0.0", None),  # cut mid-write
    ),
)
