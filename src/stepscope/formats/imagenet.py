"""PyTorch's ImageNet example and the many scripts that kept its meters: `Time 0.231 ( 0.317)`."""

from stepscope.lines.format import Clock, Controls, Format, Layout, Line, Sample

_PLACE = r"Epoch:? \[(?P<epoch>\d+)(?:/(?P<epochs>\d+))?\]\[ *(?P<batch>\d+)/(?P<batches>\d+)\]"
_TIME = r"(?:batch_|Batch )?[Tt]ime:? +(?P<dur_s>[\d.]+)s? *\( *(?P<mean_s>[\d.]+)s?\)"
_SPEED = r"(?:\s+Speed:? +[\d.]+ samples/s)?"  # of pose estimation's trainers
_DATA = (
    rf"(?:{_SPEED},?\s+(?:data_|Data )?[Dd]ata(?: [Tt]ime)?:? +(?P<data_s>[\d.]+)s? *"
    r"\( *(?P<data_mean_s>[\d.]+)s?\))?"
)
_NUMBER = r"(?:[-+]?[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"


def step_line(place: str, time: str, data: str) -> Line:
    """A line of the meters: where it is, what it took, what of that was a wait for data, and the loss."""
    return Line(
        "step",
        rf"{place}[:,]?\s+(?>(?:(?!Time)[\w:.,() -]{{1,60}}\s)?{time}){data}"
        rf"(?:.{{0,120}}?\bLoss:? +(?P<loss>{_NUMBER}))?",
    )


FORMAT = Format(
    title="PyTorch ImageNet example",
    url="https://github.com/pytorch/examples",
    lines=(
        step_line(_PLACE, _TIME, _DATA),
        # As many others print it, with other figures: `* MAE 9.18`, but not `* best MAE 9.17`.
        Line("evaluation", r" ?\* +(?!(?i:best)\b)[A-Za-z]\w{1,15}(?:@\d)?:? +[\d.]+", weak=True),
        Line("evaluation", r"(?:Validation|Test) (?:Summary|Results?)(?: Epoch: ?\[\d+\])?\s", weak=True),
        Line(
            "evaluation",
            r"(?:Test|Val(?:id(?:ation|ate)?)?)(?:: ?| )(?:\[\d+(?:/\d+)?\])?"
            r"\[ *(?P<took_batch>\d+)/(?P<took_batches>\d+)\][:,]?\s+(?:(?!Time)[\w:.,() -]{1,60}\s)?"
            r"(?:batch_|Batch )?[Tt]ime:? +[\d.]+s? *\( *(?P<took_mean_s>[\d.]+)s?\)",
        ),
        # The arguments, as many scripts print them.
        Line("fact", r"Namespace\((?!.{0,4000}?\bdata(?:set)?_path=).{0,4000}?\bepochs=(?P<epochs>\d+)", weak=True),
        Line("start", r"=> (?:creating model|using pre-trained model) '"),
        Line("resume", r"=> loaded checkpoint '(?P<path>[^']+)'"),
        Line(
            "chatter",
            r"=> (?!loaded checkpoint '|creating|using pre)\w"
            r"|Test: \[ *\d+/\d+\]\s(?!.{0,80}?[Tt]ime:? +[\d.]+s? *\( *[\d.]+)",
        ),
    ),
    clock=Clock(
        covers="step",
        includes=("data", "logging"),
        note="The time of one iteration, the printed one, waiting for its data included; the figure in brackets is the "
        "mean of the epoch so far, which tells what the unprinted ones took. The timer begins again with each epoch, "
        "so validation and saving are outside; validation prints the same means of its own batches. The line shows the "
        "batches of an epoch, not how many epochs there are, and no ETA.",
    ),
    layout=Layout(events_follow_step=True),
    controls=Controls(
        defaults={"num_workers": 4},
        settable={"num_workers": "workers", "log_interval": "print-freq"},
        syntax="--{dashed} {value}",
    ),
    samples=(
        Sample(
            "Epoch: [0][  21/5005]\tTime  0.231 ( 0.317)\tData  0.000 ( 0.081)\tLoss 6.9512e+00 (6.9987e+00)\t"
            "Acc@1   0.00 (  0.12)",
            "step",
            {
                "epoch": 0,
                "batch": 21,
                "batches": 5005,
                "dur_s": 0.231,
                "mean_s": 0.317,
                "data_s": 0.0,
                "data_mean_s": 0.081,
            },
        ),
        Sample(
            "Epoch: [3][40/391]\tTime 0.119 (0.140)\tData 0.002 (0.010)\tLoss 1.2040 (1.3110)\tPrec@1 57.031 (55.1)",
            "step",
            {"epoch": 3, "batch": 40, "dur_s": 0.119, "loss": 1.204},
        ),
        Sample(
            "Epoch: [3/90][40/391]  lr: 0.1 Time 0.119 (0.140) Loss 1.2040 (1.3110)",
            "step",
            {"epochs": 90, "dur_s": 0.119},
        ),
        Sample(
            "Epoch: [5][40/808]  Time 0.412s (0.520s)  Speed 58.3 samples/s  Data 0.301s (0.377s)  Loss 0.43 (0.41)",
            "step",
            {"dur_s": 0.412, "data_s": 0.301, "loss": 0.43},
        ),
        Sample("* Acc@1 55.120 Acc@5 78.900", "evaluation"),
        Sample("* Prec@1 55.120 Prec@5 78.900", "evaluation"),
        Sample("* MAE 9.184", "evaluation"),
        Sample("* best MAE 9.175", None),
        Sample("Validation Summary Epoch: [4]\tAverage WER 61.402\tAverage CER 31.110", "evaluation"),
        Sample("Namespace(arch='resnet18', batch_size=24, epochs=45, lr=0.01)", "fact", {"epochs": 45}),
        Sample("=> creating model 'resnet18'", "start"),
        Sample("=> loaded checkpoint 'checkpoint.pth.tar' (epoch 12)", "resume", {"path": "checkpoint.pth.tar"}),
        Sample("=> no checkpoint found at 'x'", "chatter"),
        Sample(
            "Test: [ 10/196]\tTime  0.190 ( 0.412)\tLoss 2.1",
            "evaluation",
            {"took_batch": 10, "took_batches": 196, "took_mean_s": 0.412},
        ),
        Sample("Test: [ 10/196]\tLoss 2.1 (2.3)\tAcc@1 40.0", "chatter"),
        Sample("Epoch: [0][  21/5005]\tTime  0.23", None),  # cut mid-write
        Sample("Epoch: [2] [2720/9143] eta: 0:10:00 time: 0.3 data: 0.1", None),  # torchvision's own
    ),
)
