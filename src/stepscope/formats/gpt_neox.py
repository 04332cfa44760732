"""GPT-NeoX: the rows of Megatron with the samples a second before them, among the lines of DeepSpeed's engine."""

from stepscope.formats._shared.megatron import CHATTER, CONTROLS, EVENTS, HEADER, ITERATION, SAMPLES, TAG
from stepscope.lines.format import Clock, Format, Habits, Layout, Line, Sample

FORMAT = Format(
    title="GPT-NeoX",
    url="https://github.com/EleutherAI/gpt-neox",
    lines=(
        Line("step", rf"{TAG}samples/sec: [\d.]+ \|(?: [^|]{{1,60}}\|){{0,4}} {ITERATION}"),
        *EVENTS,
        *HEADER,
        Line("fact", r"Training for a total of (?P<total>\d+) iterations, corresponding to "),
        Line("resume", r"Loading checkpoint and starting from iteration (?P<resumed_step>\d+)"),
        # A name of 32 letters or more has no dots; behind the value it says whether that is the default.
        Line(
            "setting",
            rf"{TAG}(?P<key>[a-z][a-z0-9_]*) (?:\.{{1,}} |(?=\S{{1,60}}\.{{2,}}))"
            r"(?P<value>[^\[\s.].{0,400}?)\.*(?:updated|default)?\s*$",
        ),
        Line("chatter", r"rank: \d+ \| time: [\d: -]{10,30}\| exiting the program at iteration \d+"),
        Line("chatter", r"(?:test|validation) results at the end of training for (?:test|val) data \| (?!lm)"),
        *CHATTER,
    ),
    clock=Clock(
        covers="window",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The mean time of an iteration over the log interval. The timer runs on while the model is saved or "
        "evaluated, which comes after a line was printed: the next line's mean contains it. samples/sec is the same "
        "time, the other way round. DeepSpeed's own rate leaves all that out. No ETA is printed.",
    ),
    layout=Layout(first_step=1, events_follow_step=True),
    habits=Habits(kept_checkpoints=0, prints_checkpoints=True),
    controls=CONTROLS._replace(
        names={
            "train_iters": "max_steps",
            "checkpoint_factor": "checkpoint_interval",
            "train_micro_batch_size_per_gpu": "batch_size",
            "seq_length": "block_size",
        },
        settable={
            "eval_interval": "eval_interval",
            "eval_iters": "eval_iters",
            "checkpoint_interval": "checkpoint_factor",
            "log_interval": "log_interval",
            "max_steps": "train_iters",
            "batch_size": "train_micro_batch_size_per_gpu",
            "block_size": "seq_length",
            "num_workers": "num_workers",
            "keep_saves": "keep_last_n_checkpoints",
        },
        syntax='"{name}": {value}',
    ),
    samples=(
        Sample(
            "samples/sec: 31.207 | iteration     1200/  143000 | elapsed time per iteration (ms): 8203.5 | "
            "learning rate: 5.000E-04 | approx flops per GPU: 61.0TFLOPS | lm_loss: 3.401234E+00 | loss scale: 1.0 |",
            "step",
            {"step": 1200, "total": 143000, "dur_ms": 8203.5, "loss": 3.401234},
        ),
        Sample(
            "samples/sec: 31.207 | iteration     1200/  143000 | elapsed time per iteration (ms): 8203.5 | "
            "learning rate: 5.000E-04 | approx flops per GPU: 61.0TFLOPS | MFU: 19.55% | HFU: 24.10% | "
            "lm_loss: nan | number of skipped iterations:  10 |",
            "step",
            {"step": 1200, "dur_ms": 8203.5},
        ),
        Sample("Training for a total of 900 iterations, corresponding to 3 epochs.", "fact", {"total": 900}),
        Sample("Loading checkpoint and starting from iteration 600", "resume", {"resumed_step": 600}),
        Sample(
            "eval_interval ................... 250.........................updated",
            "setting",
            {"key": "eval_interval", "value": "250"},
        ),
        Sample(
            "data_impl ....................... infer.......................default",
            "setting",
            {"key": "data_impl", "value": "infer"},
        ),
        Sample(
            "train_micro_batch_size_per_gpu .. 8...........................updated",
            "setting",
            {"key": "train_micro_batch_size_per_gpu", "value": "8"},
        ),
        Sample("rank: 0 | time: 2026-02-03 04:05:06 | exiting the program at iteration 900", "chatter"),
        Sample("test results at the end of training for test data | ppl value: 3.1E+01 |", "chatter"),
        Sample("after 10 iterations memory (MB) | allocated: 4300.1 | max allocated: 43000.2", "chatter"),
        Sample("samples/sec: 31.207 | iteration     1200/  143000 | elapsed time per", None),
        *(sample for sample in SAMPLES if sample.kind is not None),
    ),
)
