"""build-nanogpt's train_gpt2.py. Its dt is one step; on every 250th it holds validation, HellaSwag and sampling too."""

from stepscope.lines.format import Clock, Format, Habits, Line, Sample

_NUMBER = r"[-+]?(?:\d[\d.]*+(?:[eE][-+]?\d++)?|nan|inf)"

FORMAT = Format(
    title="build-nanogpt",
    url="https://github.com/karpathy/build-nanogpt",
    lines=(
        Line(
            "step",
            # Earlier stages of the lecture print fewer fields, the first one with commas.
            rf"step +(?P<step>\d+)(?: \||,) loss: (?P<loss>{_NUMBER})(?: \||,)(?: [a-z]{{1,12}}:? {_NUMBER} \|){{0,4}}"
            r" dt: (?P<dur_ms>[\d.]+)ms(?: \||,) tok/sec: ",
        ),
        # Anchored, because after another trainer's words these would be that trainer's lines.
        Line("evaluation", r"^validation loss: (?P<val_loss>\d+\.\d{4}|nan|inf)\s*$"),
        Line("evaluation", r"^HellaSwag accuracy: \d+/\d+=[\d.]+"),
        Line("checkpoint", r"^writing checkpoint to (?P<path>.+)"),
        Line("fact", r"total desired batch size: (?P<tokens_per_step>\d+)"),
        Line("start", r"=> calculated gradient accumulation steps: (?P<gradient_accumulation_steps>\d+)"),
        Line("chatter", r"found \d+ shards for split (?:train|val)|loaded \d+ tokens|1 epoch = \d+ batches"),
        Line("chatter", r"using device: \w+|using fused AdamW: (?:True|False)"),
        # nanoGPT prints the same words: they cannot distinguish the two.
        Line("chatter", r"num (?:non-)?decayed parameter tensors: \d+, with [\d,]+ parameters"),
        Line("chatter", r"rank \d+ sample \d+: "),
    ),
    clock=Clock(
        covers="step",
        includes=("evaluation", "checkpoint", "data"),
        note="The time of one step, the printed one, with the GPU waited for; validation, HellaSwag, sampling and the "
        "checkpoint are inside on the steps that have them, every 250th and the last. Neither a total nor an ETA is "
        "printed.",
    ),
    habits=Habits(evaluates_at_first_step=True, evaluates_at_last_step=True, saves_at_first_step=False),
    samples=(
        Sample(
            "step   512 | loss: 5.104233 | lr 4.2979e-04 | norm: 0.7710 | dt: 371.42ms | tok/sec: 1411577.73",
            "step",
            {"step": 512, "loss": 5.104233, "dur_ms": 371.42},
        ),
        Sample(
            "step 19001 | loss: nan | lr 6.0000e-05 | norm: nan | dt: 20113.07ms | tok/sec: 26066.83",
            "step",
            {"step": 19001, "dur_ms": 20113.07},
        ),
        Sample("step    7 | loss: 9.412210 | dt: 94.10ms | tok/sec: 174113.60", "step", {"step": 7, "dur_ms": 94.1}),
        Sample(
            "step 3, loss: 9.718203544616699, dt: 1022.37ms, tok/sec: 4006.41",
            "step",
            {"step": 3, "loss": 9.718203544616699, "dur_ms": 1022.37},
        ),
        Sample("step 3, loss: 9.718203544616699", None),  # the first stage of the lecture had no clock
        Sample("step   512 | loss: 5.104233 | lr 4.2979e-04 | norm: 0.7710 | dt: 371.4", None),  # cut mid-write
        Sample("step 00512/05742 (8.92%) | loss: 3.104233 | dt: 371.42ms | tok/sec: 141,157", None),
        Sample("validation loss: 4.8120", "evaluation", {"val_loss": 4.812}),
        Sample("validation loss: 4.8 after 3 epochs", None),
        Sample("HellaSwag accuracy: 2611/10042=0.2600", "evaluation"),
        Sample("writing checkpoint to log/model_05000.pt", "checkpoint", {"path": "log/model_05000.pt"}),
        Sample("total desired batch size: 262144", "fact", {"tokens_per_step": 262144}),
        Sample("=> calculated gradient accumulation steps: 4", "start", {"gradient_accumulation_steps": 4}),
        Sample("found 12 shards for split train", "chatter"),
        Sample("loaded 338025 tokens", "chatter"),
        Sample("1 epoch = 82 batches", "chatter"),
        Sample("using device: cuda", "chatter"),
        Sample("num decayed parameter tensors: 38, with 84,934,656 parameters", "chatter"),
        Sample("rank 3 sample 1: Once upon a time there was a", "chatter"),
    ),
)
