"""torchvision's reference scripts and others that copied their MetricLogger. Its eta is for the epoch alone."""

from stepscope.formats._shared import coco, mllog
from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf|NaN|Inf)"
_ETA = r"eta: (?:\d+ days?, )?[\d:]+"
_HEADER = r"(?!Epoch|Train)[A-Z][\w -]{2,40}?:? *(?:EMA +)?(?:\[\d+(?:/\d+)?\] *)?"

FORMAT = Format(
    title="torchvision MetricLogger",
    url="https://github.com/pytorch/vision/tree/main/references",
    lines=(
        Line(
            "step",
            r"(?:Train )?(?:Train: data e|E)poch: \[(?P<epoch>\d+)(?:/(?P<epochs>\d+))?\] +"
            r"\[ *(?P<batch>\d+)/(?P<batches>\d+)\] +"
            rf"{_ETA}(?=\s)(?:.{{0,400}}?\sloss: (?P<loss>{_NUMBER}))?"
            r".{0,4000}?\stime: (?P<dur_s>[\d.]+) +data: (?P<data_s>[\d.]+)",
        ),
        # The header of an evaluation is up to the script: `Test:`, `Test: [3]`, `Evaluation`, `Caption generation:`.
        Line(
            "evaluation",
            rf"{_HEADER}Total time: (?P<took_clock>(?:\d+ days?, )?[\d:]+) \([\d.]+ s / it\)",
        ),
        Line("fact", r"Namespace\((?=.*\bdata(?:set)?_path=).*?[( ]epochs=(?P<epochs>\d+)"),
        Line("resume", r"Resuming? (?:checkpoint|from|training from) \S+"),
        Line("fact", r"Start training for (?P<epochs>\d+) epochs"),
        Line("chatter", r"(?:Train )?(?:Train: data e|E)poch: \[\d+(?:/\d+)?\] +Total time: "),
        Line("chatter", rf"{_HEADER}(?:\[ *\d+/\d+\] +{_ETA}|Acc@1)"),
        Line("chatter", r"Averaged stats: |Training time |Run time "),
        Line(
            "chatter",
            r"(?:\d+: +)?(?:\| )?distributed init \(rank \d+\)|Start training\s*$|Creating (?:data loaders|model)",
        ),
        Line("chatter", r"DALI iterator does not support resetting|(?:\d+: +)?\S+\.py:\d+: \w*Warning: "),
        Line("chatter", r"\d{1,3}%.{0,40} [\d.]+[kMG]?/[\d.]+[kMG] \["),  # weights being downloaded
        *mllog.LINES,
        *coco.LINES,
    ),
    clock=Clock(
        covers="window",
        includes=("data",),
        note="The mean of the last 20 iterations of the epoch, waiting for data included; evaluation and saving are "
        "outside. The printed eta is the mean iteration time of this epoch x the batches left in it: neither "
        "evaluation nor the epochs to come are in it.",
    ),
    layout=Layout(events_follow_step=True),
    samples=(
        Sample(
            "Epoch: [3]  [ 140/2143]  eta: 0:14:25  lr: 0.000100  loss: 0.7512 (0.9120)  time: 0.4216  data: 0.0214  "
            "max mem: 9522",
            "step",
            {"epoch": 3, "batch": 140, "batches": 2143, "loss": 0.7512, "dur_s": 0.4216},
        ),
        Sample(
            "Epoch: [0/300]  [  20/1251]  eta: 1 day, 0:14:25    time: 1.4216  data: 0.0214  max mem: 9522",
            "step",
            {"epoch": 0, "epochs": 300, "batch": 20, "dur_s": 1.4216, "loss": None},
        ),
        Sample("Test: Total time: 0:01:16 (0.3652 s / it)", "evaluation"),
        Sample("Test:  EMA Total time: 0:00:31 (0.1652 s / it)", "evaluation"),
        Sample("Test: [4] Total time: 0:00:19 (0.8112 s / it)", "evaluation"),
        Sample("Caption generation: Total time: 0:03:10 (1.1 s / it)", "evaluation"),
        Sample(
            "Train Epoch: [2]  [  50/5225]  eta: 1:04:26  lr: 0.00001  loss: 0.91  time: 0.7  data: 0.0001  max mem: 1",
            "step",
            {"epoch": 2, "batch": 50, "batches": 5225, "loss": 0.91},
        ),
        Sample("Start training for 12 epochs", "fact", {"epochs": 12}),
        Sample("Test: [4]  [10/23]  eta: 0:00:35  f1: 0.11 (0.11)  time: 0.18  data: 0.03", "chatter"),
        Sample("Namespace(data_path='/data/toy', model='resnet50', epochs=90, lr=0.1)", "fact", {"epochs": 90}),
        Sample("Resuming from checkpoint.pth", "resume"),
        Sample("Epoch: [0] Total time: 0:18:38 (0.5192 s / it)", "chatter"),
        Sample("Test:  [  0/193]  eta: 0:00:35  model_time: 0.11 (0.11)  time: 0.18  data: 0.03", "chatter"),
        Sample("Averaged stats: model_time: 0.1147 (0.1165)", "chatter"),
        *mllog.SAMPLES,
        Sample("| distributed init (rank 3): env://", "chatter"),
        Sample("/env/lib/torch/functional.py:504: UserWarning: torch.meshgrid", "chatter"),
        Sample("11% 10.4M/95.8M [00:00<00:02, 37.1MB/s]", "chatter"),
        Sample("Epoch: [3]  [ 140/2143]  eta: 0:14:25  lr: 0.000100  time: 0.42", None),  # cut mid-write
        Sample("Epoch: [3][ 140/2143]\tTime 0.421 (0.433)\tData 0.021 (0.030)", None),  # the ImageNet example
        *coco.SAMPLES,
    ),
)
