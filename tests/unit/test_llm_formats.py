"""What the formats of language-model trainers make of whole logs; all lines invented."""

from __future__ import annotations

import pytest

from stepscope.analysis.explain import explain
from stepscope.catalogue.detect import load
from stepscope.reading.log_reader import LogReader
from tests.unit.logs import full, report_of, run_of


def report_as(name, lines, **flags):
    """The report of `lines` read as the format `name`, whichever format would win them."""
    reader = LogReader(paths=["hand.log"], format=load(name))
    reader.begin_file()
    reader.feed(("\n".join(lines) + "\n").encode())
    reader.end_file()
    return explain(reader.run(), flags=flags)


def phases(report):
    return {entry["phase"]: entry for entry in report.to_dict()["ledger"]}


def megatron_row(step, total, ms, before=""):
    return (
        f" {before}iteration {step:8d}/{total:8d} | consumed samples: {step * 32:12d} | "
        f"elapsed time per iteration (ms): {ms:.1f} | learning rate: 1.000E-05 | global batch size:    32 | "
        "lm loss: 2.512345E+00 | loss scale: 1.0 | number of skipped iterations:   0 |"
    )


def megatron(*, every, rows, evaluate, extra_ms, before=""):
    """Rows of `every` steps; the one after an evaluation holds its time in its mean."""
    lines, is_after = [], False
    for row in range(1, rows + 1):
        step = row * every
        lines.append(megatron_row(step, 9000, 400.0 + (extra_ms / every if is_after else 0), before))
        is_after = step % evaluate == 0
        if is_after:
            lines.append(f" validation loss at iteration {step} | lm loss value: 2.6E+00 | lm loss PPL: 1.3E+01 | ")
    return lines


def test_older_megatron_holds_an_evaluation_in_the_next_row():
    """Before 2024, and in Megatron-DeepSpeed, the timer of a row runs on while the model is evaluated."""
    report = report_as("megatron_2023", megatron(every=10, rows=62, evaluate=100, extra_ms=5000))
    assert phases(report)["evaluation"]["count"] == 6
    assert phases(report)["evaluation"]["seconds"] == pytest.approx(30, rel=0.02)
    assert report.ledger.step.typical_s == pytest.approx(0.4)


def test_the_arguments_of_gpt_neox_are_settings():
    """`250......updated`: the dots and the word behind a value are not part of it."""
    rows = [
        f" samples/sec: 80.000 | iteration {step:8d}/{700:8d} | elapsed time per iteration (ms): 400.0 | "
        "learning rate: 1.000E-05 | approx flops per GPU: 61.0TFLOPS | lm_loss: 2.5E+00 | loss scale: 1.0 |"
        for step in range(1, 41)
    ]
    header = [
        "-------------------- arguments --------------------",
        "  train_iters ..................... 700.........................updated",
        "  eval_interval ................... 250.........................updated",
        "  train_micro_batch_size_per_gpu .. 4...........................updated",
        "[2026-02-03 04:05:00,100] [INFO] [logging.py:96:log_dist] [Rank 0] step=0, skipped=0, lr=[0.0]",
    ]
    settings = report_as("gpt_neox", header + rows).run.settings
    assert [settings.count(name) for name in ("max_steps", "eval_interval", "batch_size")] == [700, 250, 4]


def verl_row(step, *, inside="", after="", seconds=9.4):
    return (
        f"(TaskRunner pid=625) step:{step} - critic/rewards/mean:0.1 - timing_s/gen:2.5 - {inside}"
        f"timing_s/step:{seconds:.2f} - {after}perf/throughput:100.0"
    )


@pytest.mark.parametrize("is_inside", [True, False])
def test_an_evaluation_that_a_step_times_itself_is_an_evaluation(is_inside):
    """verl's timers are printed in the order in which they ended: one before the step's own is inside it."""
    timers = "timing_s/testing:60.00 - timing_s/save_checkpoint:15.00 - "
    lines = []
    for step in range(1, 41):
        if step % 10:
            lines.append(verl_row(step))
        elif is_inside:
            lines.append(verl_row(step, inside=timers, seconds=84.4))
        else:
            lines.append(verl_row(step, after=timers))
    report = report_as("verl", lines)
    assert phases(report)["evaluation"]["seconds"] == pytest.approx(240, rel=0.01)
    assert phases(report)["checkpoint"]["seconds"] == pytest.approx(60, rel=0.01)
    assert phases(report)["evaluation"]["count"] == phases(report)["checkpoint"]["count"] == 4
    assert report.ledger.wall_s == pytest.approx(40 * 9.4 + 300, rel=0.001)
    assert [slow.step for slow in report.ledger.slow] == [10, 20, 30, 40]


def test_a_cut_line_with_validation_metrics_is_an_evaluation():
    """wandb cuts lines at 4,096 characters: the time of such a step is lost, that it validated is not."""
    lines = [verl_row(step) for step in range(1, 31)]
    for step in (10, 20, 30):
        lines[step - 1] = (
            f"step:{step} - critic/rewards/mean:0.1 - val-core/math/acc/mean@8:0.31 - val-aux/math/acc/bes"
        )
    report = report_as("verl", lines)
    assert phases(report)["evaluation"]["count"] == 3
    assert report.run.steps.step[-1] == 29


def nanochat_rows(last, share):
    return [
        f"step {step:05d} ({share(step):.2f}%) | loss: 2.5{step % 7}0311 | lrm: 1.00 | dt: 500.00ms |"
        f" tok/sec: 1,048,576 | mfu: 41.20 | epoch: 1 | total time: 0.10m"
        for step in range(1, last + 1)
    ]


@pytest.mark.parametrize(("ranks", "is_false"), [(8, False), (None, False), (4, True)])
def test_tokens_of_all_ranks_contradict_nothing(ranks, is_false):
    """nanochat prints the batch and the accumulation of a rank, and the tokens of all: 8 x 16 x 2048 x 2."""
    header = [
        *([f"nanochat.common - INFO - Distributed world size: {ranks}"] if ranks else []),
        "Tokens / micro-batch / rank: 16 x 2048 = 32,768",
        "Total batch size 524,288 => gradient accumulation steps: 2",
        "Training mixture: 12,000 rows (MMLU x3)",
    ]
    report = report_as("nanochat", header + nanochat_rows(30, lambda step: step / 4))
    assert ("contradiction" in [alarm.code for alarm in report.alarms]) is is_false


@pytest.mark.parametrize(("last", "expected"), [(300, 733), (3, None), (733, 733)])
def test_the_total_follows_from_the_share_that_is_done(last, expected):
    """`step 00077 (9.31%)`: as many steps as the share grows by make the total, once it has grown enough."""
    report = report_as("nanochat", nanochat_rows(last, lambda step: min(100, 0.14 + step * 99.86 / 733)))
    assert report.run.settings.count("max_steps") == (None if expected is None else pytest.approx(expected, abs=2))
    assert (report.to_dict()["forecast"]["remaining_s"] is not None) is (expected is not None)


def test_a_printed_runtime_gives_the_mean_step():
    """No entry of trainer_state.json has a time, but the last says how long all took, evaluations included."""
    lines = ["trainer_state: max_steps = 400"]
    for step in range(5, 401, 5):
        lines.append(f'trainer_state: {{"epoch": 0.5, "learning_rate": 2e-05, "loss": 1.71, "step": {step}}}')
        if step % 100 == 0:
            lines.append(f'trainer_state: {{"epoch": 1.0, "eval_loss": 0.93, "eval_runtime": 50.0, "step": {step}}}')
    report = report_as("hf_trainer_state", [*lines, "trainer_state: train_runtime = 1000.0"])
    assert report.ledger.step.typical_s == pytest.approx(2.0)
    assert phases(report)["evaluation"]["seconds"] == pytest.approx(200)
    assert report.to_dict()["forecast"]["remaining_s"] == 0
    assert report_as("hf_trainer_state", lines).ledger.step is None


def swift(step, total, clock, kind="loss"):
    own = {
        "loss": '"loss": 0.2, "grad_norm": 1.0, ',
        "eval": '"eval_loss": 0.1, "eval_runtime": 150.0, ',
        "end": '"train_runtime": 2350.0, "train_loss": 0.28, ',
    }[kind]
    return (
        f'{{{own}"epoch": 0.5, "global_step/max_steps": "{step}/{total}", "percentage": "{step / total:.2%}", '
        f'"elapsed_time": "{clock // 60}m {clock % 60}s", "remaining_time": "1m"}}'
    )


@pytest.mark.parametrize("evaluates", [True, False])
def test_the_last_step_may_be_on_the_line_of_the_end_only(evaluates):
    """Every tenth step of 438 is logged; that the last is done stands on the evaluation's line or the summary's."""
    lines = [swift(step, 438, step * 5) for step in range(10, 431, 10)]
    end = 438 * 5 + (150 if evaluates else 0)
    lines += [swift(438, 438, end, "eval")] if evaluates else []
    report = report_as("ms_swift", [*lines, swift(438, 438, end, "end")])
    assert report.run.steps.step[-1] == 438
    assert report.ledger.wall_s == pytest.approx(end, rel=0.01)
    assert report.to_dict()["forecast"]["remaining_s"] == 0
    if evaluates:
        assert phases(report)["evaluation"]["seconds"] == pytest.approx(150, rel=0.03)


def hf_dicts(num, *, per_epoch, every, before=lambda _: ""):
    return [
        f"{before(index)}{{'loss': 1.4{index % 10}, 'grad_norm': 0.7, 'learning_rate': 1e-05, "
        f"'epoch': {round(index * every / per_epoch, 2)}}}"
        for index in range(1, num + 1)
    ]


def test_dicts_without_bars_are_counted_and_timed_by_the_summary():
    """No step, no time, no header: 60 dicts, and at the end 600 steps in 1,300 s with 100 s of evaluations."""
    evaluation = "{'eval_loss': 0.8, 'eval_runtime': 50.0, 'eval_samples_per_second': 40.5, 'epoch': 1.0}"
    end = (
        "{'train_runtime': 1300.0, 'train_samples_per_second': 5.1, 'train_steps_per_second': 0.462, "
        "'train_loss': 1.21, 'epoch': 2.0}"
    )
    dicts = hf_dicts(60, per_epoch=300, every=10)
    report = report_as("hf_trainer_dicts", [*dicts[:30], evaluation, *dicts[30:], evaluation, end])
    assert report.run.steps.step[-1] == 600
    assert report.ledger.step.typical_s == pytest.approx(2.0)
    assert report.ledger.wall_s == pytest.approx(1300)
    assert phases(report)["evaluation"]["seconds"] == pytest.approx(100)


@pytest.mark.parametrize("first", ["0.0", "0.003"])
def test_a_dict_of_the_first_step_is_not_one_of_a_whole_interval(first):
    """`logging_first_step`: a dict after step 1, then 30 of ten steps each, not 31."""
    start = f"{{'loss': 2.9, 'grad_norm': 0.7, 'learning_rate': 1e-07, 'epoch': {first}}}"
    end = (
        "{'train_runtime': 600.0, 'train_samples_per_second': 5.1, 'train_steps_per_second': 0.5, "
        "'train_loss': 1.21, 'epoch': 1.0}"
    )
    report = report_as("hf_trainer_dicts", [start, *hf_dicts(30, per_epoch=300, every=10), end])
    assert report.run.steps.step.tolist()[:3] == [1, 10, 20]
    assert report.run.steps.step[-1] == 300
    assert report.ledger.step.typical_s == pytest.approx(2.0, rel=0.01)


def test_dicts_without_bars_are_numbered_by_the_header():
    """Timestamps are the clock; the header's epochs and total say that there is a dict every 25 steps."""
    header = ["***** Running training *****", "  Num Epochs = 4", "  Total optimization steps = 2,000"]
    dicts = hf_dicts(40, per_epoch=500, every=25, before=lambda index: f"2026-02-03 04:{index:02d}:00,100 - INFO - ")
    report = report_as("hf_trainer_dicts", header + dicts)
    assert report.run.steps.step.tolist()[:2] == [25, 50]
    assert report.ledger.step.typical_s == pytest.approx(60 / 25)
    assert report.to_dict()["forecast"]["remaining_s"] == pytest.approx(1000 * 60 / 25, rel=0.05)


def test_dicts_that_two_loggers_print_are_counted_once():
    """A callback's line with its timestamp, then the Trainer's own dict; three checkpoints that have a step."""
    head = "[INFO|trainer.py:2369] 2026-02-03 04:00:00,100 >> "
    header = "***** Running training *****", "  Num Epochs = 2", "  Total optimization steps = 600"
    lines = [head + line for line in header]
    for index in range(1, 61):
        stamp = f"2026-02-03 04:{index // 2:02d}:{index % 2 * 30:02d}"
        fields = f"'loss': {2.5 - index / 100:.4f}, 'learning_rate': 1e-05, 'epoch': {index / 30:.2f}"
        lines.append(f"[INFO|{stamp}] factory.callbacks:143 >> {{{fields}, 'throughput': 7015.34}}")
        lines.append("{" + fields.replace("'learning", "'grad_norm': 0.7213, 'learning") + "}")
        if index % 20 == 0:
            lines.append(f"[INFO|trainer.py:3910] {stamp},700 >> Saving model checkpoint to out/checkpoint-{index}0")
    report = report_of(lines)
    assert report.run.format.name == "hf_trainer_dicts"
    assert report.run.steps.step.tolist()[-2:] == [590, 600]
    assert report.ledger.step.typical_s == pytest.approx(3.0)


def test_the_minutes_left_of_an_epoch_time_its_steps():
    """MiniMind: 9,000 steps of 0.3 s an epoch; 44 minutes are left at first, and 0 at its end."""
    lines = []
    for epoch in (1, 2):
        for batch in range(100, 9001, 100):
            left = (9000 - batch) * 0.3 // 60
            lines.append(f"Epoch:[{epoch}/2]({batch}/9000) loss:6.512 lr:0.000550000000 epoch_Time:{left}min:")
    report = report_as("minimind", lines)
    assert report.run.steps.step[-1] == 18000
    assert report.ledger.step.typical_s == pytest.approx(0.3, rel=0.03)
    assert report.ledger.wall_s == pytest.approx(18000 * 0.3, rel=0.05)


def test_a_short_epoch_is_timed_where_its_minutes_left_fall():
    """The first steps are slow, and 7 minutes are never 10: each fall of the figure tells the mean so far."""
    lines, done = [], 0.0
    for batch in range(1, 4001):
        done += 0.6 if batch <= 12 else 0.1
        if batch % 20 == 0:
            left = done / batch * (4000 - batch) // 60
            lines.append(f"Epoch:[1/1]({batch}/4000), loss: 0.69, lr: 0.00000002, epoch_time: {left}min")
    report = report_as("minimind", lines)
    assert report.ledger.step.typical_s == pytest.approx(0.1, rel=0.1)
    assert report.ledger.wall_s == pytest.approx(406, rel=0.1)


def test_a_bar_written_as_lines_is_a_running_clock():
    """tqdm-loggable writes three digits of the step; compiling, evaluations and a restart are on its clock."""
    lines = ["05:14:50.351 [I] Progress on: -/3000 rate:- remaining:? elapsed:00:00 postfix:- (24:tqdm_logging.py:145)"]
    for step in range(5, 2000, 5):
        seconds = 60 + step * 2
        count = f"{step}it" if step > 99 else f"{step:.1f}it" if step > 9 else f"{step:.2f}it"
        count = f"{step / 1000:.2f}kit" if step > 999 else count
        lines.append(
            f"05:{15 + seconds // 60:02d}:00.351 [I] Progress on: {count}/3.00kit rate:2.0s/it remaining:1:03:01 "
            f"elapsed:{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d} postfix:-"
        )
    report = report_as("tqdm_loggable", lines)
    assert report.ledger.step.typical_s == pytest.approx(2.0, rel=0.03)
    assert report.run.settings.count("max_steps") == 3000
    assert report.run.steps.step[-1] == pytest.approx(1995, abs=10)


def span(name, step, end_ms, ms):
    return (
        f'{{"delta_ms": 0.1, "tid": 61, "rank": 0, "source": "training", "step": {step}, "relative_step": {step}, '
        f'"time": {end_ms // 1000}, "time_ms": {end_ms}, "time_us": {end_ms}165, "log_type": "event", '
        f'"log_type_name": "{name}_end", "event_name": null, "value": {ms:.3f}, "caller": "trainer.py:1033:train"}}'
    )


def test_spans_of_torchtitan_time_steps_evaluations_and_checkpoints():
    """Each span is exact; the checkpoint of every tenth step comes before its evaluation, both after the step."""
    lines, now = [], 1794858537000
    for step in range(1, 41):
        now += 400
        lines.append(span("step", step, now, 400.0))
        if step % 10 == 0:
            lines += [span("checkpoint_save", step, now + 1500, 1500.0), span("eval", step, now + 4500, 3000.0)]
            now += 4500
    report = report_as("torchtitan_spans", lines)
    assert report.ledger.step.typical_s == pytest.approx(0.4)
    assert phases(report)["evaluation"]["seconds"] == pytest.approx(12.0, rel=0.01)
    assert phases(report)["checkpoint"]["seconds"] == pytest.approx(6.0, rel=0.01)
    assert report.ledger.wall_s == pytest.approx(16 + 18, rel=0.01)


def hf_bar(step, total, seconds):
    clock = f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{step / total:4.0%}|#         | {step}/{total} [{clock}<15:44:25,  7.03s/it]"


@pytest.mark.parametrize("place", ["behind its bar", "late", "never"])
def test_a_bar_inside_the_training_is_an_evaluation(place):
    """Its result may be printed much later, through a buffer: it is one evaluation of 600 s all the same."""
    result = "{'eval_loss': 0.5, 'eval_runtime': 600.5, 'eval_samples_per_second': 4.5, 'epoch': 0.05}"
    before = [hf_bar(step, 8000, step * 7) for step in range(1, 201)]
    inside = [hf_bar(batch, 2900, batch * 600 // 2900) for batch in range(1, 2900, 50)]
    after = [hf_bar(step, 8000, step * 7 + 600) for step in range(201, 240)]
    lines = [*before, *inside, *([result] if place == "behind its bar" else []), *after]
    report = report_as("hf_trainer", [*lines, *([result] if place == "late" else [])])
    assert phases(report)["evaluation"]["count"] == 1
    assert phases(report)["evaluation"]["seconds"] == pytest.approx(600, rel=0.02)
    assert report.ledger.wall_s == pytest.approx(239 * 7 + 600, rel=0.01)
    assert "stall" not in phases(report)


def test_two_loggers_that_state_the_whole_time_are_one_training():
    """A callback prints the same dict again, and the last bar comes behind both."""
    end = "{'train_runtime': 700.25, 'train_samples_per_second': 5.1, 'train_loss': 1.2, 'epoch': 3.0}"
    bars = [hf_bar(step, 100, step * 7) for step in range(1, 100)]
    report = report_as("hf_trainer", [*bars, end, end, hf_bar(100, 100, 700)])
    assert len(report.run.segments) == 1
    assert report.ledger.wall_s == pytest.approx(700, rel=0.01)


def test_a_bar_that_an_evaluations_own_time_confirms_is_no_training():
    """A notebook shows the training's bar only where an evaluation comes; the first bar of all is an evaluation's."""

    def drawn(n, total, seconds):
        return f"{100 * n // total:3}% {n}/{total} [{seconds // 60:02}:{seconds % 60:02}<00:07,  3.50it/s]"

    def evaluation(epoch):
        bars = [drawn(n, 30, n * 9 // 30) for n in range(2, 31)]
        return [*bars, f"{{'eval_loss': 0.69, 'eval_runtime': 9.1, 'eval_steps_per_second': 3.3, 'epoch': {epoch}.0}}"]

    lines = [*evaluation(0)[:-1]]
    for epoch in range(1, 6):
        at = 169 * epoch + 9 * (epoch - 1)
        lines += [drawn(266 * epoch, 1330, at), *evaluation(epoch), drawn(266 * epoch, 1330, at + 9)]
    lines.append("{'train_runtime': 890.9, 'train_samples_per_second': 23.7, 'train_loss': 0.69, 'epoch': 5.0}")
    report = report_of(lines)
    phases = {phase.phase: phase for phase in report.ledger.phases}
    assert (int(report.run.steps.step[-1]), report.run.num_trainings) == (1330, 1)
    assert report.ledger.wall_s == pytest.approx(890.9, rel=0.01)
    assert phases["evaluation"].seconds == pytest.approx(45, rel=0.1)


def test_a_bar_of_texts_without_a_label_is_not_the_training_behind_it():
    """The dicts of a buffered standard output come late: until then, only the bars say which is the training's."""
    lines = ["  0%|          | 0/9000 [00:00<?, ?it/s]", " 60%|######    | 5400/9000 [00:01<00:00, 4200.00it/s]"]
    lines += ["100%|##########| 9000/9000 [00:02<00:00, 4300.00it/s]", "  0%|          | 0/400 [00:00<?, ?it/s]"]
    for n in range(1, 61):
        at = f"{n * 7 // 60:02}:{n * 7 % 60:02}"
        lines.append(f"  {n // 4}%|#         | {n}/400 [{at}<39:00,  7.00s/it]")
    lines[-1] += "{'loss': 2.31, 'grad_norm': 1.5, 'learning_rate': 7e-05, 'epoch': 0.01}"
    lines += [f"{{'loss': 2.1, 'grad_norm': 1.5, 'learning_rate': 7e-05, 'epoch': 0.{n}}}" for n in range(2, 7)]
    run = run_of(lines)
    assert run.steps.step.tolist() == list(range(1, 61))
    assert run.steps.dur_ns[1:].tolist() == [7 * 10**9] * 59


def example_script(*, every=50, steps=500, with_losses=False):
    """A script of 2019 on a machine without a terminal: a logger, checkpoints, and dicts only if asked for."""

    def stamp(step):
        return (
            f"05/09/2022 {9 + step * 20 // 3600:02}:{step * 20 // 60 % 60:02}:{step * 20 % 60:02} - INFO - __main__ - "
        )

    lines = [stamp(0) + "***** Running training *****", stamp(0) + "  Num Epochs = 2"]
    lines.append(stamp(0) + f"  Total optimization steps = {steps + 10}")
    for step in range(every, steps + 1, every):
        if with_losses:
            epoch = step * 2 / (steps + 10)
            lines.append(
                stamp(step) + f"{{'loss': {3 - step / 400:.3f}, 'learning_rate': 1e-05, 'epoch': {epoch:.2f}}}"
            )
        lines.append(stamp(step) + f"  Saving model checkpoint to out/checkpoint-{step}")
    return [*lines, stamp(steps + 10) + f" global_step = {steps + 10}, average loss = 0.5131"]


def test_checkpoints_are_the_steps_of_a_script_that_prints_nothing_else():
    report = report_of(example_script())
    assert report.run.format.name == "hf_trainer_saves"
    assert report.run.steps.step[-1] == 510
    assert report.ledger.step.typical_s == pytest.approx(20)
    assert report.ledger.wall_s == pytest.approx(510 * 20, rel=0.01)


def test_losses_printed_as_often_as_checkpoints_are_kept():
    report = report_of(example_script(with_losses=True))
    assert report.run.steps.step[-1] == 510
    assert report.run.steps.loss[0] == pytest.approx(2.75)  # printed before the checkpoint of its own step
    assert report.ledger.step.typical_s == pytest.approx(20)


def test_losses_printed_more_often_than_checkpoints_are_the_rows():
    lines = example_script(every=10, with_losses=True)
    lines = [line for line in lines if "checkpoint-" not in line or line.endswith("00")]
    report = report_of(lines)
    assert report.run.format.name != "hf_trainer_saves"
    assert len(report.run.steps.step) == 50


def litgpt(*, total_s, printed_ms=400, evaluations=2):
    """A pretraining that prints the last of every four micro-batches, which also steps the optimizer."""
    lines = ["Time to instantiate model: 0.31 seconds.", "Total parameters: 1,100,048,384"]
    for step in range(1, 201):
        lines.append(
            f"Epoch 1 | iter {4 * step} step {step} | loss train: {9 - step / 50:.3f}, val: n/a | "
            f"iter time: {printed_ms + step % 3:.2f} ms (step) remaining time: 0:0{4 - step // 50}:00"
        )
        if evaluations and step % (200 // evaluations) == 0:
            lines.append(f"iter {4 * step}: val loss {6.0:.4f}, val time: 10000.00 ms")
    return [*lines, "| Performance", f"| - Training Time : {total_s:.2f} s", "| - Tok/sec       : 9000.00 tok/s"]


def test_a_total_says_that_the_unprinted_steps_are_shorter():
    """200 printed of 0.4 s, 600 unprinted of 0.3 s, 20 s of evaluations."""
    report = report_of(litgpt(total_s=280.2))
    assert report.ledger.wall_s == pytest.approx(280.2, rel=0.01)
    assert report.ledger.step.typical_s == pytest.approx(0.3, rel=0.02)
    assert "those take longer" in full(report)


def test_a_total_that_fits_leaves_the_printed_steps_a_sample():
    report = report_of(litgpt(total_s=341))
    assert report.ledger.step.typical_s == pytest.approx(0.401, rel=0.01)
    assert "those take longer" not in full(report)


def test_a_total_of_something_else_is_held_against_the_reading():
    report = report_of(litgpt(total_s=90))
    assert report.ledger.step.typical_s == pytest.approx(0.401, rel=0.01)
    assert next(check for check in report.reading.checks if check.code == "R01").verdict == "disagrees"
