"""The catalogue of causes on made-up runs: each is named for what it is, and nothing is named where nothing is."""

from __future__ import annotations

import pytest
from bench.causes import named

from stepscope.causes import SURE
from stepscope.i18n import Language
from stepscope.report.reasons import rhythm_lines
from tests.synthetic.causes import GENERATORS
from tests.synthetic.healthy import healthy
from tests.synthetic.text import nanogpt, run_of
from tests.unit.logs import report_of, training

SEEDS = range(10)


@pytest.mark.parametrize("name", GENERATORS)
def test_nine_in_ten_are_named_for_what_they_are(name):
    made = [GENERATORS[name](seed) for seed in SEEDS]
    right = sum(named(one)[0] == one.code for one in made)
    assert right >= 0.9 * len(made)


def test_healthy_runs_have_no_cause():
    """Outliers of every height may be slow, but no cause is named for more than one run in fifty."""
    called = 0
    for seed in range(100):
        _, seconds = healthy(seed, num=400)
        slow = report_of(nanogpt(seconds)).ledger.slow
        called += any(own.code is not None and own.confidence >= SURE and own.row for own in slow)
    assert called <= 2


def test_the_phases_still_add_up_when_seconds_move():
    made = GENERATORS["two_combs"](3)
    ledger = report_of(made.lines).ledger
    assert sum(total.ns for total in ledger.phases) == ledger.wall_ns
    assert ledger.seconds("data") == pytest.approx(
        sum(part.seconds for slow in ledger.slow for part in slow.parts if part.phase == "data"), rel=1e-6
    )
    assert ledger.seconds("stall") == pytest.approx(
        sum(part.seconds for slow in ledger.slow for part in slow.parts if part.phase == "stall"), abs=1e-6
    )


def test_a_single_stall_stays_unexplained_with_what_would_settle_it():
    from stepscope.analysis.settle import what_would_settle

    lines = training(400, every=10)
    lines[20] = "iter 200: loss 3.0, time 1900.00ms"
    report = report_of(lines)
    (slow,) = [own for own in report.ledger.slow if own.step == 200]
    assert (slow.cause, slow.code) == ("unexplained", None)
    assert {"settle-stamps", "settle-data", "settle-gpu"} <= {message.key for message in what_would_settle(report)}


def test_a_line_before_longer_evaluations_is_named():
    """Every third evaluation runs something else too, and says so on a line of its own."""
    lines = []
    for line in training(3000, every=10, evaluate=100, saves=False):
        number = int(line.split()[1].strip(":"))
        if line.startswith("step") and number and number % 300 == 0:
            lines.append("LINESEARCH!!!")
        is_longer = line.startswith("iter") and number and number % 300 == 0
        lines.append(f"iter {number}: loss 3.0, time 4100.00ms" if is_longer else line)
    report = report_of(lines)
    slow = next(own for own in report.ledger.slow if own.step == 900)
    assert slow.cause == "evaluation"
    announced = next(own for own in slow.candidates if own.code == "C36")
    assert [report.run.excerpts[line] for line in announced.lines] == ["LINESEARCH!!!"]


def test_a_line_before_an_evaluation_that_took_less_is_no_cause():
    """What is announced makes evaluations longer: this one it did not, and nothing costs less than no time."""
    lines = []
    for line in training(3000, every=10, evaluate=100, saves=False):
        number = int(line.split()[1].strip(":"))
        if line.startswith("step") and number and number % 300 == 0:
            lines.append("LINESEARCH!!!")
        seconds = 0.9 if number == 1500 else 4.1
        is_other = line.startswith("iter") and number and number % 300 == 0
        lines.append(f"iter {number}: loss 3.0, time {1000 * seconds:.2f}ms" if is_other else line)
    slow = report_of(lines).ledger.slow
    assert all(one.seconds >= 0 for own in slow for one in own.candidates)
    assert not any(one.code == "C36" for own in slow if own.step == 1500 for one in own.candidates)
    assert any(one.code == "C36" for own in slow if own.step == 900 for one in own.candidates)


def test_the_header_names_slow_attention_and_needless_accumulation():
    header = [
        "Overriding config with config/small.py:",
        "gradient_accumulation_steps = 40",
        "batch_size = 12",
        "WARNING: using slow attention. Flash Attention requires PyTorch >= 2.0",
        "number of parameters: 10.65M",
    ]
    findings = report_of([*header, *training(200)]).ledger.findings
    assert [own.code for own in findings] == ["C25", "C26"]
    assert report_of(training(200)).ledger.findings == ()


def test_the_card_decides_between_heat_and_full_memory():
    """The same abrupt change: memory is full, or there is room."""
    from stepscope.analysis.explain import explain
    from stepscope.source.nvidia_smi import Hardware

    lines = training(300) + training(600, first=301, step_ms=260)
    gib = 1 << 30
    full = Hardware(memory_used=int(11.9 * gib), memory_total=12 * gib, temperature=60.0)
    room = Hardware(memory_used=5 * gib, memory_total=12 * gib, temperature=60.0)
    levels = [explain(run_of(lines), hardware=card).ledger.levels[-1] for card in (full, room)]
    assert levels[0].candidates[0].code == "C17"
    assert "C17" not in {own.code for own in levels[1].candidates}
    assert "C18" not in {own.code for level in levels for own in level.candidates}


def test_a_resumed_process_is_named_as_one():
    lines = ["Resuming training from out", *training(700, first=500, every=1, compile_ms=9000)]
    first = next(own for own in report_of(lines).ledger.slow if own.step == 500)
    assert (first.cause, first.code) == ("warmup", "C28")


def test_more_allocation_retries_than_usual_are_the_cause_and_as_many_are_not():
    """The count is printed with every window; what counts is how much it grew."""

    def log(jump):
        lines = ["[titan] 2026-02-03 04:00:00,000 - root - INFO - Training starts at step 1"]
        total, clock = 0, 0
        for step in range(10, 1010, 10):
            slow = step == 600
            total += jump if slow else 20
            clock += 30 if slow else 12
            stamp = f"2026-02-03 {4 + clock // 3600:02d}:{clock // 60 % 60:02d}:{clock % 60:02d},500"
            lines += [
                f"[titan] {stamp} - root - WARNING - {total} CUDA memory allocation retries.",
                f"[titan] {stamp} - root - INFO - step: {step}  loss:  4.2  grad_norm:  0.4  "
                "memory: 29.90GiB(95.36%)  tps: 26,000  tflops: 18.10  mfu: 5.80%",
            ]
        return lines

    more = next(own for own in report_of(log(400)).ledger.slow if own.step == 600)
    assert (more.cause, more.code) == ("memory", "C16")
    usual = next(own for own in report_of(log(20)).ledger.slow if own.step == 600)
    assert usual.cause == "unexplained"
    assert usual.candidates[0].code == "C16"
    assert usual.candidates[0].confidence < SURE


def test_a_slow_answer_of_the_network_is_named():
    """Each window fetches a file; one answer takes four seconds."""
    lines, clock = ["[titan] 2026-02-03 04:00:00,000 - root - INFO - Training starts at step 1"], 0.0

    def stamp():
        whole = int(clock)
        return f"2026-02-03 {4 + whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d},{int(clock % 1 * 1000):03d}"

    for step in range(10, 610, 10):
        late = 9.0 if step == 400 else 0.08
        for wait in (0.0, late):
            clock += wait
            lines.append(
                f'[titan] {stamp()} - httpx - INFO - HTTP Request: GET https://example.org/a "HTTP/1.1 200 OK"'
            )
        clock += 12.0
        lines.append(
            f"[titan] {stamp()} - root - INFO - step: {step}  loss:  4.2  grad_norm:  0.4  "
            "memory: 29.90GiB(95.36%)  tps: 26,000  tflops: 18.10  mfu: 5.80%"
        )
    slow = next(own for own in report_of(lines).ledger.slow if own.step == 400)
    assert (slow.cause, slow.code) == ("data", "C14")
    assert len(slow.evidence_lines) == 2


def test_a_spacing_known_to_many_steps_only_is_no_exact_one():
    """One row of 100 steps in seven is slower: whether that comes every 700 steps, no line shows."""
    lines = []
    for row in range(1, 211):
        mean = 0.9 if row % 7 == 0 else 0.25 + 0.001 * (row * 7919 % 5)
        lines.append(
            f'{{"mode": "train", "epoch": 1, "iter": {100 * row}, "lr": 0.01, "time": {mean:.4f}, "loss": 0.5}}'
        )
    report = report_of(lines)
    assert [rhythm.guess.code for rhythm in report.ledger.rhythms] == ["C10"]
    assert report.ledger.rhythms[0].guess.confidence < SURE
    assert "nothing settles why" in " ".join(rhythm_lines(report, Language.load("en")))


def silent_rhythm(every, excess_ms, *, offset=0, **flags):
    lines = []
    for step in range(1, 3001):
        took = 100 + step * 7919 % 5 + (excess_ms if step % every == offset and step > every else 0)
        lines.append(f"iter {step}: loss 2.5, time {took:.2f}ms")
    return report_of(lines, **flags)


def test_long_stops_at_a_round_interval_are_not_the_optimizer_s_for_sure():
    """30 times a normal step, every 200: an evaluation or a checkpoint without a line fits as well."""
    for own in silent_rhythm(200, 3000).ledger.rhythms:
        assert own.guess is None or own.guess.code != "C10" or own.guess.confidence < SURE


def test_a_rhythm_at_a_stated_interval_is_that_interval_s():
    for setting, code in (("eval_interval", "C01"), ("checkpoint_interval", "C02"), ("test_freq", "C01")):
        report = silent_rhythm(200, 3000, **{setting: 200})
        assert {own.guess.code for own in report.ledger.rhythms} == {code}


def test_a_few_steps_worth_at_an_odd_place_is_the_optimizer():
    assert {own.guess.code for own in silent_rhythm(20, 300, offset=7).ledger.rhythms} == {"C10"}
