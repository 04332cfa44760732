"""How steps are counted in logs of no known format: pairs, batches of epochs that another line names, tables."""

from __future__ import annotations

import pytest

from stepscope.infer.infer import infer
from stepscope.lines.runtimes import parse_runtime
from stepscope.source.lines import BREAK
from tests.unit.logs import report_of, run_of


def batches(epochs, line, *, named=None, every=50, size=400, seconds=0.5):
    """Lines of batches whose clock starts again with each epoch; `named` is the line before each."""
    lines = []
    for epoch in range(1, epochs + 1):
        lines += [named.format(epoch=epoch, epochs=epochs)] if named else []
        for batch in range(every, size + 1, every):
            minutes, rest = divmod(int(batch * seconds), 60)
            lines.append(line.format(batch=batch, size=size, clock=f"0:{minutes:02d}:{rest:02d}", loss=3 - epoch / 50))
        lines.append(f"  Average training loss: {3 - epoch / 50:.2f}")
    return lines


def test_a_full_stop_ends_a_number_and_another_line_names_the_epoch():
    line, head = (
        "  Batch {batch:>5,}  of  {size:>5,}.    Elapsed: {clock}.",
        "======== Epoch {epoch} / {epochs} ========",
    )
    run = run_of(batches(12, line, named=head))
    assert int(run.steps.step[-1]) == 12 * 400
    assert run.settings.count("max_steps") == 12 * 400
    assert report_of(batches(12, line, named=head)).ledger.step.typical_s == pytest.approx(0.5, rel=0.05)


def test_epochs_that_no_line_names_are_told_apart_by_their_batches():
    run = run_of(batches(12, "step {batch}/{size} loss: {loss:.3f} elapsed {clock}"))
    assert int(run.steps.step[-1]) == 12 * 400
    assert run.num_trainings == 1


@pytest.mark.parametrize(
    "pair", ["[{e}, {b:5d}] loss: {l:.3f} ({ms} ms)", "[{e}, {b:5d}/ 900] loss: {l:.3f} ({ms} ms)"]
)
def test_two_numbers_in_brackets_are_epoch_and_batch(pair):
    lines = [
        pair.format(e=epoch, b=batch, l=3 / epoch, ms=120 + batch % 7)
        for epoch in (1, 2, 3)
        for batch in range(0, 900, 100)
    ]
    run = run_of(lines)
    assert int(run.steps.step[-1]) - int(run.steps.step[0]) == pytest.approx(2 * 900 + 800, abs=200)


def test_a_table_has_its_names_further_up_and_a_unit_behind_it():
    lines = ["Epoch    Train Loss   Test Acc     Time", "warming up the cache", "still warming up", "and on", "-" * 40]
    lines += [
        f"{epoch:<8d} {2 - epoch / 400:.4f}       0.2{epoch % 10}        0.4{epoch % 3}    s" for epoch in range(1, 60)
    ]
    report = report_of([*lines, "Training completed in 24.5 seconds"])
    assert int(report.run.steps.step[-1]) == 59
    assert report.ledger.step.typical_s == pytest.approx(0.41, abs=0.02)


def test_a_column_of_a_table_may_hold_a_count_and_its_total():
    head = "2021-01-28 11:58:08 [INFO]:    Epoch       Batch       box      total      time"
    lines = [head] + [
        f"2021-01-28 12:{minute:02d}:{second:02d} [INFO]: {n // 5}/29 {n % 5 * 40}/165 2 {9 - n / 40:.2f}  1.6{n % 9}"
        for n in range(100)
        for minute, second in [divmod(n * 30, 60)]
    ]
    run = run_of(lines)
    assert int(run.steps.step[-1]) == 19 * 165 + 160


def test_an_unrounded_time_without_a_unit_is_in_seconds():
    lines = [
        f"epoch : 0 [{n}/21279] Train loss: {2 - n / 500:.5f}, time : {12.1 + n % 7 / 9:.15f} lr : 0.96"
        for n in range(200)
    ]
    assert report_of(lines).ledger.step.typical_s == pytest.approx(12.4, rel=0.05)


def test_a_time_printed_once_an_epoch_is_that_of_all_its_steps():
    lines = []
    for step in range(4000):
        lines.append(f"Iteration: {step:07d}, Generator Loss : {1 + step % 7 / 9:.3f}, Discriminator Loss : 1.212")
        lines += ["Time Elapsed for This Epoch: 00:02:46"] if step % 146 == 145 else []
    report = report_of([*lines, "Training Time: 01:15:50"])
    assert report.ledger.step.typical_s == pytest.approx(166 / 146, rel=0.02)


def test_rounds_of_boosting_are_steps():
    lines = [
        f"[11:30:{n // 4:02d}] INFO: src/cli_main.cc:205: boosting round {n}, {n * 0.25:.4f} sec elapsed"
        for n in range(200)
    ]
    run = run_of(lines)
    assert int(run.steps.step[-1]) == 199


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("[Finished in 1928.4s]", 1928.4),
        ("After Train 1000 Iterations Needs Time: Time passes 22.1424 seconds", 22.1424),
        ("Время обучения: 0:42:27", 2547),
        ("训练总耗时：3.5小时", 12600),
        ("After 1000 iterations the loss is 0.3", None),
        ("Total gradient descent training time: 1 hours 5 mins 15 secs", 3915),
        ("Total time: 4:44:57.845147", 17097.845147),
        ("INFO: Complete Training loop time: 165.764 sec", 165.764),
        ("Epoch: [3] Total time: 0:41:46 (0.1987 s / it)", None),
        ("Test: Total time: 0:00:17 (0.78 s / it)", None),
    ],
)
def test_totals_of_a_run(text, seconds):
    found = parse_runtime(text)
    assert (None if found is None else found[1]) == (None if seconds is None else pytest.approx(seconds))


def test_the_count_of_an_evaluation_is_no_time():
    lines = [line for n in range(600) for line in ([f"s:{n} tel:3.{n}"] if n % 25 == 0 else []) + [f"s:{n} trl:3.{n}"]]
    fmt = infer(lines)
    assert fmt is None or not fmt.is_timed


def test_a_number_that_turns_with_the_batches_is_the_epoch_and_evaluations_between_are_seen():
    lines, second = [], 0
    for epoch in range(1, 6):
        for batch in range(8, 656, 16):
            second += 2
            moment = f"2018-10-20 15:{second // 60:02d}:{second % 60:02d},100 - log\\train.log - INFO -"
            lines.append(f"{moment} iteration:{epoch} step:{batch}/652, NER loss: {4 / epoch:.5f}")
        lines.append(f"{moment} evaluate:dev")
        second += 30
        moment = f"2018-10-20 15:{second // 60:02d}:{second % 60:02d},100 - log\\train.log - INFO -"
        lines.append(f"{moment} new best dev f1 score:7{epoch}.64")
    report = report_of(lines)
    assert int(report.run.steps.step[-1]) == 4 * 652 + 648
    assert report.run.num_trainings == 1
    assert report.ledger.seconds("evaluation") == pytest.approx(5 * 30, rel=0.1)


def test_a_word_that_changes_from_line_to_line_does_not_hide_the_rate_behind_it():
    sets = ("CITY", "RURAL", "COAST")
    lines = [
        f"[{step:06d}/20000] {sets[step // 250 % 7 % 3]:6} | loss {0.5 - step / 90000:.4f} | GPU 97% | 4.00 it/s"
        f" | ETA {(20000 - step) / 240:.1f} min"
        for step in range(250, 20001, 250)
    ]
    report = report_of(lines)
    assert int(report.run.steps.step[-1]) == 20000
    assert report.ledger.step.typical_s == pytest.approx(0.25, rel=0.05)


def twice(num, *, every=5000, seconds=70):
    """Lines that two handlers print, only one of them with a timestamp, among another library's dated lines."""
    lines = ["2025-03-04 10:00:00.100000: I some/runtime/device.cc:99] device found"]
    lines.append("I0304 10:00:01.000000 140001 fit.py:12] ")
    for row in range(1, num + 1):
        minutes, rest = divmod(row * seconds, 60)
        text = f"[{row * every:>6}] | gnorm  1.19 lr  0.000165 | loss  {6 - row / 100:.2f}"
        lines += [
            f"INFO:somelib:{text}",
            f"I0304 {10 + minutes // 60}:{minutes % 60:02}:{rest:02}.250000 140001 fit.py:31] {text}",
        ]
    return lines


def test_lines_printed_twice_are_counted_once_and_keep_the_timestamp_of_either():
    report = report_of(twice(60))
    assert int(report.run.steps.step[-1]) == 300_000
    assert report.ledger.step.typical_s == pytest.approx(70 / 5000, rel=0.05)
    assert report.ledger.wall_s == pytest.approx(60 * 70, rel=0.03)


def stamped(second, text):
    """A line with a date and a time of day."""
    hours, rest = divmod(int(second), 3600)
    return f"2024-03-0{1 + hours // 24} {hours % 24:02d}:{rest // 60:02d}:{rest % 60:02d} {text}"


def test_pieces_of_a_long_log_that_lie_in_one_epoch_each_still_count_epochs():
    """The head and the end of the file are looked at: in neither do the batches start again."""
    head = [stamped(12 * at, f"Epoch [3/40][{10 * at}/900] loss: {2 - at / 99:.3f}") for at in range(1, 40)]
    tail = [stamped(9000 + 12 * at, f"Epoch [11/40][{10 * at}/900] loss: {1 - at / 99:.3f}") for at in range(50, 89)]
    found = infer([*head, BREAK, *tail])
    assert found is not None
    assert found.lines[0].regex.match("Epoch [11/40][500/900] loss: 0.3")["epoch"] == "11"


def test_an_index_of_batches_behind_a_percentage_is_the_step():
    lines = [stamped(20 * at, f"[{at * 0.4:.2f}%] batch_index={64 * at} loss={9 - at / 30:.4f}") for at in range(1, 90)]
    report = report_of(lines)
    assert int(report.run.steps.step[-1]) == 64 * 89
    assert report.ledger.step.typical_s == pytest.approx(20 / 64, rel=0.05)


@pytest.mark.parametrize("left", ["", " (- {left}m 3s)"])
def test_a_number_with_its_percentage_in_parentheses_counts_the_steps(left):
    """`1m 16s (- 3m 3s) (15000 20%) 2.74`: no word says what is what."""
    lines = []
    for at in range(1, 21):
        second = 25 * at
        rest = left.format(left=(500 - second) // 60)
        lines.append(f"{second // 60}m {second % 60}s{rest} ({at * 4000} {at * 5}%) {4 - at / 9:.4f}")
    report = report_of(lines)
    assert int(report.run.steps.step[-1]) == 80_000
    assert report.ledger.step.typical_s == pytest.approx(25 / 4000, rel=0.03)


def test_numbers_whose_percentages_belong_to_no_total_are_no_steps():
    lines = [f"{at}m 2s ({at * 4000} {(at * 37) % 100}%) {4 - at / 9:.4f}" for at in range(1, 21)]
    assert infer(lines) is None


def test_epochs_that_stand_on_several_lines_each_are_counted_as_epochs():
    lines = []
    for epoch in range(1, 13):
        for row in range(5):
            minutes = (epoch - 1) * 35 + row * 7
            lines.append(
                f"Time: {minutes // 60}h {minutes % 60}m, Epoch [{epoch}/12], Loss: {2 / epoch + row / 99:.4f}"
            )
        lines.append(f"Test: Epoch [{epoch}/12], Loss: {1 / epoch:.4f}")
    report = report_of(lines)
    assert int(report.run.steps.step[-1]) == 12
    assert report.ledger.step.typical_s == pytest.approx(35 * 60, rel=0.05)


def test_a_bare_number_behind_the_time_that_has_passed_counts():
    lines = [
        f"INFO - 03/05/24 10:{n // 3:02d}:{n % 3 * 20:02d} - 0:{n // 3:02d}:{n % 3 * 20:02d} - {n * 200:7d} -  "
        f"31{n % 5}.22 equations/s -  560{n % 9}.22 words/s - TASK:  {0.6 - n / 200:.4f} - LR: 1.0000e-04"
        for n in range(1, 60)
    ]
    report = report_of(lines)
    assert int(report.run.steps.step[-1]) == 200 * 59
    assert report.ledger.step.typical_s == pytest.approx(0.1, rel=0.02)


def test_the_number_behind_the_word_loss_is_the_step_and_the_next_one_the_loss():
    """`Train loss 12 33.118 Grad Norm 1.17 1.44s/it`, as Tacotron 2 prints it; a loss of NaN is an alarm."""
    lines = [
        f"Train loss {step} {40 / (step + 1):.6f} Grad Norm {0.5 + step % 7 / 10:.6f} 1.{step % 9}0s/it"
        for step in range(60)
    ]
    lines += [f"Train loss {step} nan Grad Norm nan 1.50s/it" for step in range(60, 80)]
    report = report_of(lines)
    assert report.run.steps.step[-1] == 79
    assert report.ledger.step.typical_s == pytest.approx(1.4, abs=0.15)
    assert {alarm.code for alarm in report.alarms} >= {"nan"}
