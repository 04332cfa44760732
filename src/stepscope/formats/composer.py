"""Composer's console logger, as in LLM Foundry: a block per batch, the speed monitor's clock in it."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="Composer",
    url="https://github.com/mosaicml/composer",
    lines=(
        Line("fact", r"\[(?:epoch=\d+(?:/\d+)?\]\[)?batch=(?P<step>\d+)/(?P<total>\d+)\]:?\s*$"),
        Line("fact", rf"(?:Train )?loss/train/total: (?P<loss>{_NUMBER})\s*$"),
        Line("step", r"(?:Train )?time/total: (?P<elapsed_h>[\d.]+)\s*$"),
        Line("evaluation", r"\[Eval batch=1/\d+\] Eval on "),
        Line("chatter", r"\[Eval batch=(?!1/)\d+/\d+\] Eval on "),
        Line("chatter", r"(?:Train|Eval) (?!time/total:|loss/train/total:)[\w./-]{2,80}: \S+\s*$"),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "data", "logging"),
        note="time/total of the SpeedMonitor, hours of training and evaluating so far to four decimals, saving "
        "outside; in other units than hours it would be read wrongly. throughput figures are means over a window of "
        "batches. The total stands with the batch; no ETA is printed.",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample("[batch=30/4800]:", "fact", {"step": 30, "total": 4800}),
        Sample("[epoch=1][batch=30/4800]:", "fact", {"step": 30}),
        Sample("Train loss/train/total: 9.1203", "fact", {"loss": 9.1203}),
        Sample("Train time/total: 0.0312", "step", {"elapsed_h": 0.0312}),
        Sample("[Eval batch=1/98] Eval on eval data", "evaluation"),
        Sample("[Eval batch=20/98] Eval on eval data", "chatter"),
        Sample("Train time/train: 0.0312", "chatter"),
        Sample("Train throughput/batches_per_sec: 0.2710", "chatter"),
        Sample("Train time/total: ", None),
        Sample("[batch=30", None),  # cut mid-write
    ),
)
