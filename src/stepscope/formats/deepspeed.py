"""DeepSpeed's engine, and DeepSpeed-Chat around it. It prints rates, no step time: the timestamps are the clock."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_STAMP = r"(?:\[(?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:,\d+)?)\] )?"
_RANK0 = rf"{_STAMP}\[INFO\] \[logging\.py:\d+:log_dist\] \[Rank \d+\] "

FORMAT = Format(
    title="DeepSpeed",
    url="https://github.com/deepspeedai/DeepSpeed",
    lines=(
        Line(
            "step",
            rf"{_STAMP}\[INFO\] \[(?:logging\.py:\d+:log_dist\] \[Rank \d+\]"
            # Up to version 0.2 the engine has its own lines, and its timer counts micro-steps.
            r"|(?:deepspeed_light|engine)\.py:\d+:_report_progress\] rank:\d+) "
            r"step=(?P<step>\d+), skipped=\d+, lr=\[",
        ),
        Line(
            "step",
            rf"{_STAMP}\[INFO\] \[timer\.py:\d+:stop\] (?:\[Rank \d+\] )?epoch=\d+/micro_step=\d+/"
            r"global_step=(?P<step>\d+), RunningAvgSamplesPerSec=",
        ),
        # Version 0.1, whose first number is always 0.
        Line("step", r"\[INFO (?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\] \d+/(?P<step>\d+), SamplesPerSec=[\d.]+"),
        # An evaluation is announced without a time and ends with its result: the next timestamp comes after both.
        Line("evaluation", r"\*{5} Evaluating (?:perplexity|reward), Epoch \d+/\d+ \*{5}"),
        Line(
            "checkpoint",
            rf"{_RANK0}\[Torch\] Checkpoint global_step(?P<step>\d+) is (?:about|begin) to (?:be saved|save)",
        ),
        Line("checkpoint", r"saving (?:the final )?model \.\.\."),
        Line("fact", r"Beginning of Epoch \d+/(?P<epochs>\d+), Total (?:Micro|Generation) Batches (?P<batches>\d+)"),
        Line("start", r"\*{5} Running training \*{5}$"),
        Line("chatter", r"(?:ppl|perplexity): [\d.naif]+|average reward score: |chosen_last_scores"),
        Line("chatter", r"epoch: \d+\|step: \d+\|ppo_ep: |Epoch: \d+ \| Step: \d+ \| PPO Epoch: "),
        Line("chatter", r"\|?E2E latency=[\d.]+s \||-{40,}$|Model Parameters: [\d.]+ B, Latency: "),
        # Everything else its logger says; the two step lines and the checkpoint line differ in what follows.
        Line(
            "chatter",
            rf"{_STAMP}\[(?:INFO|WARNING|ERROR)\] \[(?:[\w./]+\.py|__init__\.py):\d+:\w+\] "
            r"(?!(?:\[Rank \d+\] |rank:\d+ )?(?:step=\d+, skipped|epoch=\d+/micro_step|"
            r"\[Torch\] Checkpoint global_step\d+ is (?:ab|be)))",
        ),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The time between the stamps of two lines, with everything that happened between them. The printed rates "
        "are samples per second of all ranks: RunningAvg since the start, Curr of the last steps. No ETA is printed.",
    ),
    layout=Layout(first_step=1),
    is_engine=True,
    samples=(
        Sample("[INFO 2020-08-01 11:12:40] 0/2650, SamplesPerSec=13.2214", "step", {"step": 2650}),
        Sample(
            "[2026-02-03 04:05:06,789] [INFO] [logging.py:96:log_dist] [Rank 0] step=120, skipped=4, lr=[1e-05], "
            "mom=[(0.9, 0.95)]",
            "step",
            {"step": 120},
        ),
        Sample(
            "[INFO] [timer.py:199:stop] epoch=1/micro_step=20/global_step=120, RunningAvgSamplesPerSec=171.2, "
            "CurrSamplesPerSec=170.9, MemAllocated=3.9GB, MaxMemAllocated=22.9GB",
            "step",
            {"step": 120},
        ),
        Sample(
            "[2020-05-03 04:05:06,789] [INFO] [deepspeed_light.py:742:_report_progress] rank:0 step=120, skipped=4, "
            "lr=[0.0001], mom=[[0.9, 0.999]]",
            "step",
            {"step": 120},
        ),
        Sample("[2020-05-03 04:05:06,789] [INFO] [deepspeed_timer.py:154:stop] 0/480, SamplesPerSec=81.2", "chatter"),
        Sample("step=120, skipped=4, lr=0.1", None),
        Sample("[INFO] [timer.py:199:stop] epoch=1/micro_step=20/global_st", None),  # cut
        Sample("***** Evaluating perplexity, Epoch 3/8 *****", "evaluation"),
        Sample(
            "[2026-02-03 04:09:06,789] [INFO] [logging.py:96:log_dist] [Rank 0] [Torch] Checkpoint global_step500 "
            "is about to be saved!",
            "checkpoint",
            {"step": 500},
        ),
        Sample("saving the final model ...", "checkpoint"),
        Sample("Beginning of Epoch 2/8, Total Micro Batches 230", "fact", {"epochs": 8, "batches": 230}),
        Sample("***** Running training *****", "start"),
        Sample("ppl: 12.8125", "chatter"),
        Sample("epoch: 0|step: 31|ppo_ep: 1|act_loss: 0.11|cri_loss: 0.05|unsuper_loss: 0.0", "chatter"),
        Sample("|E2E latency=3.10s |Gather latency=0.00s (0.00%) |Generate time=2.10s (67.7%) |", "chatter"),
        Sample(
            "[INFO] [loss_scaler.py:181:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale",
            "chatter",
        ),
    ),
)
