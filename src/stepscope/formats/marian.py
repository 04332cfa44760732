"""Marian: a report every N updates, with the seconds since the report before it."""

from stepscope.lines.format import Clock, Controls, Format, Layout, Line, Sample

_NUMBER = r"(?:[-+]?[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="Marian",
    url="https://github.com/marian-nmt/marian-dev",
    lines=(
        Line(
            "step",
            rf"Ep\. [\d.,]+ : Up\. (?P<step>[\d,]+) : Sen\. [\d,]+ : Cost (?P<loss>{_NUMBER})[^:]{{0,60}} : "
            r"Time (?P<dur_s>[\d.]+)s : ",
        ),
        Line(
            "evaluation",
            r"(?:\[valid\] )?Ep\. [\d.,]+ : Up\. (?P<step>[\d,]+) : [\w-]{2,30} : [^:]{1,40} : (?:new best|stalled)",
        ),
        Line("checkpoint", r"Saving model weights and runtime parameters to (?P<path>\S+(?<!orig\.npz))\s*$"),
        Line("start", r"Training started"),
        Line("resume", r"Loading model from (?P<path>\S+)"),
        # Only a limit above 0 is read: Marian writes 0 for no limit.
        Line("fact", r"\[config\] after-batches: (?P<total>[1-9]\d*)\s*$"),
        Line("fact", r"\[config\] valid-freq: (?P<eval_interval>[1-9]\d*)\s*$"),
        Line("fact", r"\[config\] save-freq: (?P<checkpoint_interval>[1-9]\d*)\s*$"),
        Line(
            "chatter",
            r"(?!\[config\] (?:after-batches|valid-freq|save-freq): [1-9]\d*\s*$)"
            r"\[(?:config|data|memory|comm|optimizers|training|batching|logits|sqlite|scheduler|shortlist)\] ",
        ),
        Line(
            "chatter",
            r"Saving Adam parameters|Training finished|Starting (?:data )?epoch \d|Shuffling|Seen [\d,]+ samples",
        ),
    ),
    clock=Clock(
        covers="window",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The seconds since the report before, of all its updates together, validation and saving between the two "
        "included. Neither a total nor an ETA is printed.",
        is_sum=True,
    ),
    layout=Layout(first_step=1),
    controls=Controls(
        settable={"eval_interval": "valid-freq", "checkpoint_interval": "save-freq", "log_interval": "disp-freq"},
        syntax="--{name} {value}",
    ),
    samples=(
        Sample(
            "Ep. 1 : Up. 1,500 : Sen. 98,112 : Cost 6.71203423 * 101,220 @ 8,012 after 4,400,121 : Time 81.20s : "
            "39400.12 words/s : gNorm 1.2",
            "step",
            {"step": 1500, "loss": 6.71203423, "dur_s": 81.2},
        ),
        Sample("Ep. 2 : Up. 900 : Sen. 5,000 : Cost 5.1 : Time 3.05s : 9000.00 words/s", "step", {"dur_s": 3.05}),
        Sample("[valid] Ep. 1 : Up. 5000 : cross-entropy : 91.2201 : new best", "evaluation", {"step": 5000}),
        Sample(
            "Saving model weights and runtime parameters to model/model.iter5000.npz",
            "checkpoint",
            {"path": "model/model.iter5000.npz"},
        ),
        Sample("Training started", "start"),
        Sample("Loading model from model/model.npz", "resume"),
        Sample("[config] after-batches: 300000", "fact", {"total": 300000}),
        Sample("[config] after-batches: 0", "chatter"),
        Sample("[config] valid-freq: 5000", "fact", {"eval_interval": 5000}),
        Sample("[config] save-freq: 5000", "fact", {"checkpoint_interval": 5000}),
        Sample("[config] valid-freq: 1e", "chatter"),
        Sample("[config] after-epochs: 0", "chatter"),
        Sample("Training finished", "chatter"),
        Sample("Ep. 1 : Up. 1,500 : Sen. 98,112 : Cost 6.71203423 : Time 81.", None),  # cut mid-write
    ),
)
