"""ssd.pytorch and detectors made from it: the time of a step on one line, its number and loss on the next."""

from stepscope.lines.format import Clock, Format, Line, Sample

_NUMBER = r"(?:[-+]?[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="ssd.pytorch",
    url="https://github.com/amdegroot/ssd.pytorch",
    lines=(
        Line("fact", r"[Tt]imer: (?P<dur_s>[\d.]+)(?: sec\.)?\s*$"),
        Line(
            "step",
            rf"(?:epoch: ?\d+ \|\| )?iter ?:?(?P<step>\d+) \|\| Loss: ?(?P<loss>{_NUMBER})"
            # The step's line ends without a line end, so the next printed step's time follows on it.
            r"(?: \|\| *[Tt]imer: (?P<dur_s>[\d.]+) sec\.\s*$)?",
        ),
        # Its time comes on the line before it, as that of a step does.
        Line("evaluation", rf"test epoch:\d+ \|\| Loss:(?P<val_loss>{_NUMBER})"),
        Line("checkpoint", r"Saving state, iter: ?(?P<step>\d+)"),
        Line(
            "chatter",
            r"(?:-?>> ?)?(?:lr|\w+ (?:conf|loc) loss|(?:conf|loc) loss): ?[\d.]|Loading base network|Training SSD on: ",
        ),
    ),
    clock=Clock(
        covers="step",
        includes=(),
        note="The time of one step, the printed one, from the forward pass to the end of the update; loading its batch "
        "is outside, and so are saving and testing. Neither a total nor an ETA is printed.",
    ),
    samples=(
        Sample("timer: 0.3120 sec.", "fact", {"dur_s": 0.312}),
        Sample("Timer: 0.6120", "fact", {"dur_s": 0.612}),
        Sample("iter 140 || Loss: 9.2210 ||", "step", {"step": 140, "loss": 9.221}),
        Sample("iter 150 || Loss: 8.7010 || timer: 0.2140 sec.", "step", {"step": 150, "dur_s": 0.214}),
        Sample("epoch:2 || iter:1400 || Loss:6.1120", "step", {"step": 1400, "loss": 6.112}),
        Sample("test epoch:3 || Loss:4.2107", "evaluation", {"val_loss": 4.2107}),
        Sample("Saving state, iter: 5000", "checkpoint", {"step": 5000}),
        Sample("->> conf loss:1.7548 || loc loss:1.4302", "chatter"),
        Sample("iter 140 | Loss: 9.2210", None),
    ),
)
