"""torchtune's recipes: a bar per epoch whose description holds the epoch, the step of the run and the loss."""

from stepscope.lines.format import Clock, Controls, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="torchtune",
    url="https://github.com/pytorch/torchtune",
    lines=(
        Line(
            "step",
            rf"(?P<epoch>\d+)\|(?P<step>\d+)\|Loss: (?P<loss>{_NUMBER}): +\d+%\|[^|]{{0,400}}\| \d+/(?P<batches>\d+) "
            r"\[(?P<elapsed_clock>[\d:]+)<",
        ),
        Line("checkpoint", r"(?:\w+:[\w.]+:)?Model checkpoint (?:of size [\d.]+ \w+ )?saved to (?P<path>\S+)"),
        Line(
            "chatter",
            r"(?:\w+:[\w.]+:)?(?:Adapter|Recipe) checkpoint |Step \d+ \| loss:|(?:\w+:[\w.]+:)?Memory stats after",
        ),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("data", "logging"),
        note="The bar's elapsed time, whole seconds since its epoch began; the epochs are added up, saving between "
        "them is not in it. The step counts through the run, the bar's total is that of the epoch, and so is the time "
        "left on it.",
        restarts_with="epoch",
    ),
    layout=Layout(first_step=1, first_epoch=1),
    controls=Controls(
        settable={
            "eval_interval": "run_val_every_n_steps",
            "log_interval": "log_every_n_steps",
            "batch_size": "batch_size",
            "gradient_accumulation_steps": "gradient_accumulation_steps",
        },
        syntax="{name}={value}",
    ),
    samples=(
        Sample(
            "1|14|Loss: 1.3120912313461304:   2%|▏         | 14/808 [00:31<29:31,  2.23s/it]",
            "step",
            {"epoch": 1, "step": 14, "loss": 1.3120912313461304, "batches": 808},
        ),
        Sample("INFO:torchtune.utils.logging:Model checkpoint of size 4.98 GB saved to /out/a.pt", "checkpoint"),
        Sample("Model checkpoint saved to /out/epoch_0", "checkpoint", {"path": "/out/epoch_0"}),
        Sample("Recipe checkpoint of size 0.16 GB saved to /out/r.pt", "chatter"),
        Sample("Step 14 | loss:1.312 lr:2e-05 tokens_per_second_per_gpu:1401.2", "chatter"),
        Sample("1|14|Loss: 1.31: 2%|▏    | 14/8", None),  # cut mid-write
    ),
)
