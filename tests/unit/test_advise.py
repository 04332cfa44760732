"""Advice and what-if: directions are right, nothing saves more than there is, no change saves nothing."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.advice._whatif import CLASSES, what_if
from stepscope.cli import main
from stepscope.report.build import explain
from stepscope.source.nvidia_smi import Hardware
from tests.conftest import ROOT
from tests.unit.logs import report_of, run_of, training

DEMO = ROOT / "src" / "stepscope" / "demo"
SETTINGS = {
    "max_steps": 5000,
    "eval_iters": 200,
    "eval_interval": 100,
    "batch_size": 16,
    "gradient_accumulation_steps": 4,
    "block_size": 512,
    "always_save_checkpoint": True,
}
REPORT = report_of(training(1000, every=10, evaluate=100, save_ms=300.0), **SETTINGS)


def outcome(**changes):
    return what_if(REPORT.run, REPORT.ledger, REPORT.forecast, changes)


def test_no_change_saves_nothing():
    same = {name: SETTINGS[name] for name in ("eval_interval", "eval_iters", "batch_size", "max_steps")}
    found = outcome(**same)
    assert found.saves_s == pytest.approx(0, abs=1e-9)
    assert not found.changes_result
    assert found.after == found.before


@settings(max_examples=50, deadline=None)
@given(every=st.integers(1, 20), iters=st.integers(1, 400))
def test_savings_never_exceed_the_classes_they_touch(every, iters):
    found = outcome(eval_interval=100 * every, eval_iters=iters)
    most = math.fsum(found.before[name].seconds for name in ("evaluation", "checkpoint"))
    assert found.saves_s <= most + 1e-9
    assert found.after["step"] == found.before["step"]
    assert all(found.after[name].seconds >= 0 for name in CLASSES)
    parts = math.fsum(found.before[name].seconds - found.after[name].seconds for name in CLASSES)
    assert found.saves_s == pytest.approx(parts)


@settings(max_examples=30, deadline=None)
@given(low=st.integers(1, 300), more=st.integers(1, 300))
def test_more_batches_cost_more(low, more):
    assert outcome(eval_iters=low).saves_s >= outcome(eval_iters=low + more).saves_s


def test_a_larger_interval_means_fewer_evaluations():
    found = outcome(eval_interval=1000)
    assert found.after["evaluation"].num < found.before["evaluation"].num
    assert found.after["checkpoint"].num < found.before["checkpoint"].num
    assert found.saves_s > 0
    assert outcome(eval_interval=50).saves_s < 0


def test_half_the_batches_are_half_the_price_and_more_error():
    found = outcome(eval_iters=100)
    assert found.after["evaluation"].seconds == pytest.approx(found.before["evaluation"].seconds / 2)
    assert found.error_after == pytest.approx(found.error_before * 2**0.5)


def test_the_same_tokens_in_other_portions_cost_the_same():
    found = outcome(batch_size=32, gradient_accumulation_steps=2)
    assert found.after["step"].seconds == pytest.approx(found.before["step"].seconds)
    assert not found.changes_result
    assert outcome(batch_size=32).changes_result


def test_what_the_log_cannot_tell_is_said():
    found = outcome(learning_rate=0.1)
    assert found.unknown == ("learning_rate",)
    assert found.changes_result is None


def test_a_finished_run_is_asked_about_as_a_whole():
    report = report_of(training(1000, every=10, evaluate=100), **{**SETTINGS, "max_steps": 1000})
    found = what_if(report.run, report.ledger, report.forecast, {"eval_interval": 200})
    assert not found.is_future
    assert 0 < found.saves_s < report.ledger.seconds("evaluation") + report.ledger.seconds("checkpoint")


def test_half_empty_memory_invites_larger_micro_batches():
    run = run_of(training(1000, every=10, evaluate=100))
    half = Hardware(gpu="RTX 4070", memory_used=5 << 30, memory_total=12 << 30)
    full = Hardware(gpu="RTX 4070", memory_used=11 << 30, memory_total=12 << 30)
    codes = [
        {advice.code for advice in explain(run, flags=SETTINGS, hardware=hardware).advice} for hardware in (half, full)
    ]
    assert "A113" in codes[0]
    assert "A113" not in codes[1]


def test_bf16_on_a_card_without_it():
    run = run_of(training(1000, every=10, evaluate=100))
    flags = {**SETTINGS, "dtype": "bfloat16"}
    for gpu, expected in (("Tesla V100-SXM2-16GB", True), ("RTX 4090", False)):
        found = {advice.code for advice in explain(run, flags=flags, gpu=gpu).advice}
        assert ("A114" in found) == expected


def test_several_ranks_could_share_the_evaluation():
    lines = ["tokens per iteration will be: 491,520"] * 4 + training(1000, every=10, evaluate=100)
    found = {advice.code: advice for advice in report_of(lines, **SETTINGS).advice}
    assert found["A107"].proposed == 4


def test_saves_that_cost_much_could_be_asynchronous():
    lines = training(3000, every=10, evaluate=100, save_ms=4000.0)
    report = report_of(lines, **SETTINGS, parameters=300_000_000)
    found = {advice.code for advice in report.advice}
    assert "A109" in found
    assert "A109" not in {advice.code for advice in report_of(training(3000, every=10), **SETTINGS).advice}


def test_spare_memory_invites_larger_evaluation_batches():
    run = run_of(training(1000, every=10, evaluate=100))
    spare = Hardware(gpu="RTX 4070", memory_used=5 << 30, memory_total=12 << 30)
    found = {advice.code: advice for advice in explain(run, flags=SETTINGS, hardware=spare).advice}
    assert found["A106"].proposed == 64
    assert "A106" not in {advice.code for advice in explain(run, flags=SETTINGS).advice}


def test_starts_that_compile_again_could_keep_their_cache():
    first = training(100, every=1, compile_ms=20_000.0)
    again = ["tokens per iteration will be: 32,768", *training(200, first=100, every=1, compile_ms=20_000.0)]
    assert "A110" in {advice.code for advice in report_of([*first, *again], max_steps=1000).advice}
    assert "A110" not in {advice.code for advice in report_of(first, max_steps=1000).advice}


def test_short_steps_need_not_all_be_printed():
    assert "A115" in {advice.code for advice in report_of(training(300, step_ms=15.0), max_steps=50_000).advice}
    assert "A115" not in {advice.code for advice in report_of(training(300, step_ms=150.0), max_steps=50_000).advice}


def test_attention_that_is_not_fused():
    lines = ["WARNING: using slow attention. Flash Attention requires PyTorch >= 2.0", *training(300)]
    found = {advice.code for advice in report_of(lines, max_steps=5000).advice}
    assert "A116" in found
    assert "A116" not in {advice.code for advice in report_of(training(300), max_steps=5000).advice}


def test_advise_states_the_cards_utilisation(tmp_path, capsys):
    log = tmp_path / "train.log"
    lines = ["number of parameters: 123.59M", "tokens per iteration will be: 491,520"]
    lines += [f"iter {step}: loss 4.0000, time {4600 + step % 9}.00ms, mfu 28.90%" for step in range(100)]
    log.write_text("\n".join(lines) + "\n")
    assert main(["advise", str(log), "--gpu", "4090"]) == 0
    assert "55%" in capsys.readouterr().out


def test_advise_prints_the_paste_line_of_the_trainer(capsys):
    arguments = ["advise", str(DEMO / "train.log"), "--config", str(DEMO / "config.py")]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "--eval_interval=2000" in out
    assert "[A101]" in out


def test_change_on_the_reference_case(capsys):
    arguments = ["advise", str(DEMO / "train.log"), "--config", str(DEMO / "config.py"), "--format", "json"]
    assert main([*arguments, "--change", "eval_interval=1000", "--change", "eval_iters=50"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "stepscope.report/1"
    change = document["change"]
    assert change["after"]["evaluation"]["count"] == 19
    before = document["forecast"]["left"]["evaluation"]["seconds"]
    assert change["after"]["evaluation"]["seconds"] == pytest.approx(before / 8)
    assert change["remaining_s"] == pytest.approx(document["forecast"]["remaining_s"] - change["saves_s"])
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["change"] is None


def test_trainers_own_names_are_mapped(capsys):
    arguments = ["advise", str(DEMO / "train.log"), "--config", str(DEMO / "config.py"), "--change", "max_iters=10000"]
    assert main([*arguments, "--format", "json"]) == 0
    change = json.loads(capsys.readouterr().out)["change"]
    assert change["changes"]["max_steps"] == {"now": 20000, "proposed": 10000}
    assert change["changes_result"] is True
    assert change["after"]["step"]["count"] == 8700


@pytest.mark.parametrize("text", ["eval_interval", "=5", "eval_interval=", "eval_interval=0", "eval_iters=many"])
def test_a_change_that_is_none(text, capsys):
    assert main(["advise", str(DEMO / "train.log"), "--change", text]) == 2
    assert "bad-change" in capsys.readouterr().err


@pytest.mark.parametrize("code", ["en", "es", "de", "fr"])
@pytest.mark.parametrize("form", ["terminal", "markdown"])
def test_every_language(code, form, capsys):
    arguments = ["advise", str(DEMO / "train.log"), "--config", str(DEMO / "config.py"), "--lang", code]
    for change in ([], ["--change", "eval_interval=250"]):
        assert main([*arguments, "--format", form, *change]) == 0
        text = capsys.readouterr().out
        assert text.count("\n") >= 4
        if form == "terminal":
            assert max(len(line) for line in text.splitlines()) <= 80
