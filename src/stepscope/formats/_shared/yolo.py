"""What the YOLO trainers share: the bar and its clock, and the lines around it that carry nothing."""

from stepscope.lines.format import Clock, Line, Sample

# A terminal that is too narrow has no strokes in its bars.
_BAR = r"(?:\|.{0,400}?\|)? *"
BAR = (
    rf"{_BAR}(?P<batch>[1-9]\d*)/(?P<batches>\d+) \[(?P<elapsed_clock>[\d:]+)<[\d:?]+, +"
    r"(?:(?P<it_per_s>[\d.]+)it/s|(?P<s_per_it>[\d.]+)s/it|\?)"
)
# Ultralytics draws its own since 2025: `2.0s`, `3:40` or `1:02:03`, and what is left after a `<`.
_OWN_RATE = r"(?:[\d.]+[KMG]?(?:it/s|s/it) +)?"
OWN_BAR = rf" [━─╸╺ ]+ (?P<batch>[1-9]\d*)/(?P<batches>\d+) +{_OWN_RATE}(?P<elapsed_clock>[\d:.]+s?)(?=[<\s]|$)"
# A validation is over when its own bar is full.
FULL_BAR = (
    rf"{_BAR}(?P<took_samples>\d+)/(?P=took_samples) \[[\d:]+<[\d:]+, +"
    r"(?:(?P<took_per_s>[\d.]+)it/s|(?P<took_mean_s>[\d.]+)s/it)"
)
FULL_OWN_BAR = rf" +━+ (\d+)/\1 +{_OWN_RATE}(?P<took_clock>[\d:.]+s?)(?=[<\s]|$)"
EMPTY_BAR = rf"(?:{_BAR}| [━─╸╺ ]+ )(?:0/\d|\d+/\d+ \[[\d:]+<\?)"
CLOCK = Clock(
    covers="cumulative",
    includes=("data", "logging"),
    note="The time on the epoch's bar, whole seconds since the epoch began; the epochs are added up. Its rate is "
    "smoothed over the last few batches, and taken only where the bar is full: there it is the epoch's mean. "
    "Validation has a bar of its own, with its time; saving and the start of the next epoch's workers are timed "
    "nowhere. The time left on the bar is that of the epoch; 'epochs completed in ... hours' is the whole run.",
    restarts_with="epoch",
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
