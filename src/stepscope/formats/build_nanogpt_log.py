"""The log.txt that build-nanogpt writes next to its output: step, kind and value, and no time whatever."""

from stepscope.formats._shared.untimed_log import untimed_log
from stepscope.lines.format import Line, Sample

_NUMBER = r"(?:\d+\.\d+|nan|inf)"

FORMAT = untimed_log(
    "build-nanogpt's log.txt",
    "https://github.com/karpathy/build-nanogpt",
    lines=(
        # All anchored and to the end of the line: three words are little to know a trainer by.
        Line("step", rf"^(?P<step>\d+) train (?P<loss>{_NUMBER})\s*$"),
        Line("evaluation", rf"^(?P<step>\d+) val (?P<val_loss>{_NUMBER})\s*$"),
        Line("evaluation", rf"^(?P<step>\d+) hella {_NUMBER}\s*$"),
    ),
    samples=(
        Sample("1250 train 4.018826", "step", {"step": 1250, "loss": 4.018826}),
        Sample("88 train nan", "step", {"step": 88}),
        Sample("1250 val 4.0011", "evaluation", {"step": 1250, "val_loss": 4.0011}),
        Sample("1250 hella 0.2571", "evaluation", {"step": 1250}),
        Sample("1250 train", None),  # cut mid-write
        Sample("1250 train 4.018826 val 4.0011", None),
        Sample("step 1250 train 4.018826", None),
        Sample("50 train 1200", None),  # a table's row
    ),
)
