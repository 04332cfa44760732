"""Epochs whose length follows from the arguments, and whose total is printed at their end."""

from __future__ import annotations

import pytest

from tests.unit.logs import report_of

BATCH = 64


def fit(epochs, *, of=10, batches=230, each=0.2, examples=None, store="device", cost=True):
    """MXNet's fit: a rate every 50 batches, the epoch's time, a save and a validation that no line times."""
    lines = [
        f"INFO:root:start with arguments Namespace(batch_size={BATCH}, kv_store='{store}', num_epochs={of}, "
        f"num_examples={examples or batches * BATCH})"
    ]
    for epoch in range(epochs):
        rate = BATCH / each
        lines += [
            f"INFO:root:Epoch[{epoch}] Batch [{at}]\tSpeed: {rate * (0.98 + at % 100 / 2500):.2f} samples/sec\tacc=0.1"
            for at in range(50, batches, 50)
        ]
        if cost:
            lines.append(f"INFO:root:Epoch[{epoch}] Time cost={batches * each + 1:.3f}")
        lines += [
            f'INFO:root:Saved checkpoint to "m-{epoch:04}.params"',
            f"INFO:root:Epoch[{epoch}] Validation-acc=0.2",
        ]
    return lines


def test_an_epoch_has_its_examples_over_the_batch_size():
    run = report_of(fit(3)).run
    assert run.settings.count("max_steps") == 2300
    assert run.steps.step.tolist() == [50, 100, 150, 200, 230, 280, 330, 380, 430, 460, 510, 560, 610, 660, 690]


def test_its_total_holds_the_batches_after_the_last_row():
    report = report_of(fit(3))
    assert report.ledger.wall_s == pytest.approx(3 * 47, rel=0.01)
    assert report.ledger.step.typical_s == pytest.approx(0.2, rel=0.03)


def test_without_its_total_no_row_ends_an_epoch():
    run = report_of(fit(3, cost=False)).run
    assert run.steps.step.tolist() == [50, 100, 150, 200, 280, 330, 380, 430, 510, 560, 610, 660]


@pytest.mark.parametrize(("examples", "store"), [(9999 * BATCH, "device"), (230 * BATCH * 8, "horovod")])
def test_examples_that_the_rows_contradict_or_that_workers_share_do_not_count(examples, store):
    run = report_of(fit(3, examples=examples, store=store)).run
    assert run.settings.count("steps_per_epoch") == 200
    assert run.steps.step[-1] == 600


def test_validations_that_no_clock_shows_are_counted_and_not_timed():
    ledger = report_of(fit(4)).ledger
    found = {phase.phase: phase for phase in ledger.phases}
    assert (found["evaluation"].num, found["evaluation"].seconds) == (4, 0.0)
    assert found["evaluation"].is_unpriced


def test_a_long_end_of_an_epoch_is_no_evaluation_that_comes_after_it():
    lines = [line.replace("Time cost=47", "Time cost=53") for line in fit(4)]
    found = {phase.phase: phase.seconds for phase in report_of(lines).ledger.phases}
    assert found["evaluation"] == 0
    assert found["stall"] == pytest.approx(4 * 6, rel=0.2)


def test_the_end_of_the_range_leaves_room_for_them():
    """Six epochs of 47 s are left, and six validations of 9 s that nothing has shown."""
    end = report_of(fit(4)).forecast
    assert end.remaining_s == pytest.approx(6 * 47, rel=0.05)
    assert end.high_s > 6 * (47 + 9) > end.remaining_s
    assert end.low_s > 5 * 47
