"""The GAN examples of Paddle's model zoo (CycleGAN, SPADE): one record of two or three lines per batch."""

from stepscope.lines.format import Clock, Format, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"
_PLACE = r"epoch ?(?P<epoch>\d+)[;:] batch ?(?P<batch>\d+)[;:]"
_LOSS = rf"(?:.{{0,200}}?\bg_loss:? ?(?P<loss>{_NUMBER}))?"
_COST = r"Batch_time_cost: (?P<dur_s>[\d.]+)\s*$"

FORMAT = Format(
    title="Paddle GAN examples",
    url="https://github.com/PaddlePaddle/models",
    lines=(
        Line("step", rf"{_PLACE}(?=.{{0,2000}}?\b{_COST}){_LOSS}"),
        # The time comes last, on the record's second or third line.
        Line("fact", rf"{_PLACE}(?!.*\bBatch_time_cost: ){_LOSS}"),
        Line("step", rf"(?!epoch ?\d)(?:[\w ]{{1,30}}: *{_NUMBER}; *+){{0,12}}{_COST}"),
        Line("chatter", rf"[gd]_[\w ]{{1,30}}: *{_NUMBER};(?!.*Batch_time_cost)|epoch id: \d+, batch step: \d+, "),
    ),
    clock=Clock(
        covers="step",
        includes=("logging",),
        note="Batch_time_cost is the time of the one batch of the record, without waiting for its data. Neither the "
        "batches of an epoch nor an ETA is printed; tests and saving between epochs are outside.",
    ),
    samples=(
        Sample("epoch0; batch12; g_loss:19.31; d_A_loss: 0.41; d_B_loss:0.39 ;", "fact", {"epoch": 0, "batch": 12}),
        Sample(
            "g_A_loss: 3.1; g_A_cyc_loss: 5.2; g_B_loss: 2.2; g_B_idt_loss: 3.4;Batch_time_cost: 0.87",
            "step",
            {"dur_s": 0.87},
        ),
        Sample("Batch_time_cost: 0.87", "step", {"dur_s": 0.87}),
        Sample(
            "epoch1; batch40; d_A_loss: 0.31; g_A_loss: 2.2; g_loss: 7.5; Batch_time_cost: 0.42",
            "step",
            {"epoch": 1, "batch": 40, "dur_s": 0.42, "loss": 7.5},
        ),
        Sample("g_loss_gan: 0.51; g_loss_vgg: 7.1; g_loss_feat: 4.4", "chatter"),
        Sample("epoch id: 0, batch step: 12, g_loss: 19.31", "chatter"),
        Sample("epoch 1; loss 0.3", None),
    ),
)
