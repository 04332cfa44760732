"""NVIDIA's GNMT v2: the time of single iterations, which varies threefold because batches are bucketed by length."""

from stepscope.formats._shared import mllog
from stepscope.lines.format import Clock, Format, Layout, Line, Sample

FORMAT = Format(
    title="NVIDIA GNMT",
    url="https://github.com/NVIDIA/DeepLearningExamples",
    lines=(
        Line(
            "step",
            r"TRAIN \[(?P<epoch>\d+)\]\[(?P<batch>\d+)/(?P<batches>\d+)\]\s+Time (?P<dur_s>[\d.]+) \([\d.]+\)\s+"
            r"Data (?P<data_s>[\d.e+-]+) \([\d.e+-]+\)"
            r"(?:\s+Tok/s (?P<tokens_per_s>\d+) \(\d+\))?(?:\s+Loss/tok (?P<loss>[\d.]+|nan|inf))?",
        ),
        Line("evaluation", r"Running evaluation on test set"),
        Line("evaluation", r"VALIDATION \[\d+\]\[0/\d+\]\s+Time "),
        Line("checkpoint", r"Saving model to (?P<path>\S+)"),
        Line("start", r"Run arguments: Namespace\(.{0,4000}?\bepochs=(?P<epochs>\d+)"),
        Line("chatter", r"TEST \[\d+\]\[|VALIDATION \[\d+\]\[[1-9]"),
        Line("chatter", r"Gradient overflow\. +Skipping step"),
        Line(
            "chatter",
            r"(?:Starting|Finished) epoch \d+|Sampler for epoch|Executing preallocation|Saving (?:state|results)",
        ),
        Line(
            "chatter",
            r"Running (?:moses )?detokenizer|BLEU\(score=|Finished evaluation|(?:Summary|Performance): Epoch: ",
        ),
        *mllog.LINES,
        Line("chatter", r"\(\w+\): \w+\(|\)\s*$"),
    ),
    clock=Clock(
        covers="step",
        includes=("data",),
        note="The first figure is the iteration that is printed, one in print_freq; the one in brackets is the mean of "
        "the epoch so far. Batches are bucketed by sentence length, so a threefold spread is normal. Evaluation and "
        "saving are outside; there is no ETA.",
    ),
    layout=Layout(events_follow_step=True),
    samples=(
        *mllog.SAMPLES,
        Sample(
            "TRAIN [1][1570/2100]\tTime 0.232 (0.156)\tData 1.51e-04 (4.01e-04)\tTok/s 99012 (91022)\t"
            "Loss/tok 3.3112 (3.4021)\tLR 2.000e-03",
            "step",
            {"epoch": 1, "batch": 1570, "batches": 2100, "dur_s": 0.232, "loss": 3.3112},
        ),
        Sample("TRAIN [1][1570/2100]\tLoss/tok 3.3112", None),
        Sample("Running evaluation on test set", "evaluation"),
        Sample("VALIDATION [1][0/160]\tTime 0.039 (0.039)\tData 1.2e-03", "evaluation"),
        Sample("Saving model to results/gnmt/checkpoint_epoch_001.pth", "checkpoint"),
        Sample("Run arguments: Namespace(beam_size=5, epochs=8, lr=0.002)", "start", {"epochs": 8}),
        Sample("TEST [0][0/3]\tTime 0.512 (0.512)\tDecoder iters 101.0 (101.0)", "chatter"),
        Sample("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 3072.0", "chatter"),
        Sample("Starting epoch 41", "chatter"),
        Sample("BLEU(score=20.1, counts=[1, 2])", "chatter"),
        Sample(":::MLL 1571882734.718 seed: {}", "chatter"),
        Sample("(dropout): Dropout(p=0.35)", "chatter"),
    ),
)
