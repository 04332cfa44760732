"""What the YOLO trainers share: the bar's rate, its clock, and the lines around it that carry nothing."""

from stepscope.lines.format import Clock, Line, Sample

RATE = r"(?:(?P<it_per_s>[\d.]+)it/s|(?P<s_per_it>[\d.]+)s/it)"
CLOCK = Clock(
    covers="window",
    includes=("data", "logging"),
    note="The rate of the epoch's bar, smoothed over the last few batches; validation has a bar of its own, and "
    "saving and the start of the next epoch's workers are timed nowhere. The time left on the bar is that of the "
    "epoch; 'epochs completed in ... hours' is the whole run.",
)
LINES = (
    Line("chatter", r"\d+%\|.{0,40}?\| [\d.]+[kMG]?/[\d.]+[kMG]? \["),
    Line("chatter", r"(?:train|val): (?:Scanning|New cache|Fast image|Caching|/|\w:\\)|Scanning images: "),
    Line("chatter", r"\d+ epochs completed in [\d.]+ hours\.|Optimizer stripped from |Closing dataloader mosaic"),
)
SAMPLES = (
    Sample("0%|          | 0/120 [00:00<?, ?it/s]", "chatter"),
    Sample("train: Scanning data/labels/train... 1204 images, 0 backgrounds, 0 corrupt: 100%", "chatter"),
    Sample("300 epochs completed in 2.995 hours.", "chatter"),
)
