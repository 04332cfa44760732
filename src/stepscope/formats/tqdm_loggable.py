"""tqdm-loggable, which writes bars as lines of a log: openpi, Levanter and other JAX trainers use it."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:\d[\d.]*+(?:[eE][-+]?\d++)?|nan|inf)"
# 7.00it, 42.0it, 310it, 12.3kit: three digits, the others are lost
_COUNT = r"\d+(?=(?:\.0+)?it)|[\d.]+[kMG](?=it)"
_OTHERS = r"(?i:eval|valid|test|load|cach|token|download|convert|build|map|filter)"

FORMAT = Format(
    title="openpi, Levanter (tqdm-loggable)",
    url="https://github.com/tradingstrategy-ai/tqdm-loggable",
    lines=(
        Line(
            "step",
            rf"Progress on:(?![^/]{{0,60}}{_OTHERS})[\w ():-]{{0,60}}? ?(?P<step>{_COUNT})(?:\.0+)?it/"
            rf"(?P<total>{_COUNT})(?:\.0+)?it rate:\S+ remaining:[\d:?]+ elapsed:(?P<elapsed_clock>[\d:]+) postfix:"
            rf"(?:[^\s=]{{0,40}}\bloss=(?P<loss>{_NUMBER}))?",
        ),
        Line(
            "evaluation",
            r"Progress on:(?=[^/]{0,60}(?i:eval|valid|test))[\w ():-]{0,60}? ?[\d.]+k?it/[\d.]+k?it "
            r"rate:\S+ remaining:[\d:?]+ elapsed:(?P<took_clock>[\d:]+) postfix:",
        ),
        # Levanter's results, by the name of the data
        Line("evaluation", rf"(?:[\w./-]{{1,60}} )?(?:validation|eval(?:/\S{{1,60}})?) loss: (?P<val_loss>{_NUMBER})"),
        Line("checkpoint", r"Saving checkpoint at step (?P<step>\d+)"),
        # Orbax, once the step may go on: the rest is written next to the training.
        Line("checkpoint", r"(?:\[process=\d+\])?.{0,60}Finished blocking save in (?P<took_s>[\d.]+) seconds"),
        Line("start", r"Running on: [\w.-]+(?:\s|$)"),
        Line(
            "resume",
            r"(?:Resuming training from step|(?:Loading|Restoring) checkpoint from) ?(?P<path>\S*)",
        ),
        # The exact step of openpi, without a time: the next bar's line is more than it needs.
        Line("chatter", r"Step \d+: [\w/]+=\S+(?: [\w/]+=\S+){0,11}\s*$"),
        Line("chatter", r"Progress on:[^/]{0,60}(?:-|\d[^\s/]*)/\S+ rate:-"),
        Line("chatter", r"Progress on:(?=[^/]{0,60}(?i:load|cach|token|download|convert|build|map|filter))"),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The bar's elapsed time, in whole seconds, since this process began to train; evaluation and saving are "
        "inside, compiling too. A line is written every few seconds; beyond 999 the step has three digits only, so "
        "most lines repeat it. The rate is smoothed, and the remaining time follows from it.",
        restarts_with="process",
    ),
    layout=Layout(first_step=1),
    samples=(
        Sample(
            "Progress on:train 34.0it/10.0kit rate:1.2s/it remaining:3:12:33 elapsed:01:02 postfix:loss=5.67",
            "step",
            {"step": 34, "loss": 5.67},
        ),
        Sample(
            "Progress on: 12.3kit/200kit rate:1.9it/s remaining:27:26:14 elapsed:2:03:04 postfix:-",
            "step",
            {"loss": None},
        ),
        Sample("Progress on:eval 10.0it/50.0it rate:2.0it/s remaining:00:20 elapsed:00:05 postfix:-", "evaluation"),
        Sample("eval loss: 3.213", "evaluation", {"val_loss": 3.213}),
        Sample("wiki/en validation loss: 3.213", "evaluation", {"val_loss": 3.213}),
        Sample("Saving checkpoint at step 2000 to runs/a/step-2000", "checkpoint", {"step": 2000}),
        Sample("Finished blocking save in 12.50 seconds. Continuing to write.", "checkpoint", {"took_s": 12.5}),
        Sample("Running on: node-17", "start"),
        Sample("Resuming training from step 2000", "resume"),
        Sample("Step 300: grad_norm=0.4530, loss=0.1514, param_norm=1377.8650", "chatter"),
        Sample("Progress on: -/200000 rate:- remaining:? elapsed:00:00 postfix:-", "chatter"),
        Sample("Progress on:Loading weights 3.00it/7.00it rate:1.0it/s remaining:00:04 elapsed:00:03", "chatter"),
        Sample("Progress on: 12.3kit/200kit rate:1.9it/s remaining:27:26:14 elap", None),  # cut
        Sample("Progress on the training: 12 of 200", None),
    ),
)
