"""The main.log that llm.c writes into its output folder: steps and losses, and no time whatever."""

from stepscope.formats._shared.untimed_log import untimed_log
from stepscope.lines.format import Line, Sample

_NUMBER = r"[-+]?(?:\d[\d.]*+(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = untimed_log(
    "llm.c's main.log",
    "https://github.com/karpathy/llm.c",
    lines=(
        Line("step", rf"s:(?P<step>\d+) trl:(?P<loss>{_NUMBER})(?: lr:{_NUMBER})?(?: norm: *{_NUMBER})?\s*$"),
        Line("evaluation", rf"s:(?P<step>\d+) tel:(?P<val_loss>{_NUMBER})\s*$"),
        Line("evaluation", rf"s:(?P<step>\d+) eval:{_NUMBER}\s*$"),
    ),
    samples=(
        Sample("s:320 trl:5.8812", "step", {"step": 320, "loss": 5.8812}),
        Sample("s:320 trl:5.8812 lr:0.000274 norm:0.88", "step", {"step": 320, "loss": 5.8812}),
        Sample("s:320 tel:5.880412", "evaluation", {"step": 320, "val_loss": 5.880412}),
        Sample("s:320 eval:0.2513", "evaluation", {"step": 320}),
        Sample("s:320 trl:", None),  # cut mid-write
        Sample("s:320 loss:5.8812", None),
    ),
)
