"""Advice and what-if: directions are right, nothing saves more than there is, no change saves nothing."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.advice import together
from stepscope.advice._checkpoints import best_interval_s, disk, overhead, safety
from stepscope.advice._whatif import CLASSES, what_if
from stepscope.analysis.explain import explain
from stepscope.catalogue.detect import catalogue
from stepscope.cli import main
from stepscope.cli._changes import canonical_name
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
FORMATS = {fmt.name: fmt for fmt in catalogue()}
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


def past_its_best(losses):
    log = []
    for number, loss in enumerate(losses):
        first = 100 * number
        log += [f"step {first}: train loss 2.0000, val loss {loss:.4f}", f"iter {first}: loss 2.9, time 2100.00ms"]
        log += [f"iter {step}: loss 2.9, time {100 + step % 5:.2f}ms" for step in range(first + 1, first + 100)]
    return log


def test_a_run_past_its_best_should_stop_there():
    report = report_of(past_its_best([3.0, 2.0, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0]))
    first = report.advice[0]
    assert (first.code, first.proposed, first.changes_result) == ("A122", 200, True)
    assert first.saves_s == pytest.approx(report.best.seconds_after)
    goes_on = report_of(past_its_best([3.0, 2.0, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0]), max_steps=5000)
    (advice,) = (one for one in goes_on.advice if one.code == "A122")
    assert advice.saves_s == pytest.approx(goes_on.forecast.remaining_s)
    assert not [one for one in report_of(past_its_best([3.0, 2.5, 2.2, 2.0, 1.9])).advice if one.code == "A122"]


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


# -- saves: what may be lost, how often, how much disk -----------------------------------------------------


def megatron(num, *, save_s=9.0, every=50):
    """A log of our own in Megatron's words: a save shows in the stamps of the lines around it."""
    lines = ["------------------------ arguments ------------------------"]
    lines += [f"  save_interval ................................... {every}", "  bf16 ............ True"]
    now = dt.datetime(2026, 2, 3, 4, 5, 6)
    for step in range(1, num + 1):
        now += dt.timedelta(seconds=1)
        lines.append(
            f" [{now:%Y-%m-%d %H:%M:%S.%f}] iteration {step:8d}/   20000 | consumed samples: {step * 8} | elapsed time "
            f"per iteration (ms): {1000 + step % 7:.1f} | learning rate: 1.0E-04 | lm loss: {5 - step / 1000:.6E} |"
        )
        if step % every == 0:
            lines.append(f"saving checkpoint at iteration {step:7d} to out")
            now += dt.timedelta(seconds=save_s)
    return lines


def test_how_often_to_save_follows_the_stall_and_what_may_be_lost():
    """Daly's interval for 9 s and a crash a week is about 55 minutes: with 5 minutes at most, no longer than that."""
    free = advice_of(megatron(400))["A108"]
    assert free.proposed > free.now == 50
    assert free.paste == f"--save-interval {free.proposed}"
    careful = advice_of(megatron(400), may_lose_s=300.0)["A108"]
    assert careful.proposed * 1.0 <= 300 < free.proposed * 1.0
    assert "A108" not in advice_of(megatron(400), may_lose_s=40.0)


def test_a_run_that_keeps_crashing_should_save_more_often():
    lines = []
    for start in range(40):
        lines += megatron(20, every=10_000)
        lines.append(f"successfully loaded checkpoint from out [ t 0 ] at iteration {start}")
    rare = [
        line.replace(
            "save_interval ................................... 10000",
            "save_interval ................................... 5000",
        )
        for line in lines
    ]
    report = report_of(rare, parameters=1_000_000)
    found = safety(report.situation._replace(may_lose_s=600.0))
    assert found is not None
    assert found.needed * report.situation.level_s <= 600 < found.at_stake_s


@given(stall=st.floats(0.1, 600), between=st.floats(3600, 1e7))
def test_no_interval_loses_less_than_dalys(stall, between):
    """Within a per cent: the rule is an expansion for stalls that are short beside the time between crashes."""
    best = best_interval_s(stall, between)
    least = overhead(best, stall, between)
    for factor in (0.3, 0.5, 2.0, 4.0):
        if stall < between / 100:
            assert overhead(best * factor, stall, between) >= least * 0.99


def test_what_checkpoints_take_on_disk():
    lines = [*megatron(400)]
    report = report_of(lines, parameters=1_000_000_000, max_steps=20_000)
    found = disk(report.situation)
    assert found is not None
    assert found.each == pytest.approx(12e9)
    assert found.keeps_all
    assert {advice.code: advice for advice in report.advice}["A118"].saves_bytes == (found.num - 3) * found.each
    limited = report_of(lines, parameters=1_000_000_000, max_steps=20_000, keep_saves=2)
    assert "A118" not in {advice.code for advice in limited.advice}
    assert disk(limited.situation).total == pytest.approx(24e9)


def test_a_trainer_that_overwrites_its_checkpoint_needs_no_limit():
    report = report_of(training(1000, every=10, evaluate=100, save_ms=300.0), **SETTINGS, parameters=10**9)
    found = disk(report.situation)
    assert found is not None
    assert found.num_kept == 1
    assert "A118" not in {advice.code for advice in report.advice}


def test_saving_on_improvement_counts_the_improvements_seen():
    """A loss that rises from one evaluation to the next saves nearly every save; one that falls saves none."""
    rising = training(3000, every=10, evaluate=100, save_ms=4000.0)
    number = itertools.count()
    lines = [re.sub(r"val loss [\d.]+", lambda _: f"val loss {2 + next(number) / 100:.4f}", line) for line in rising]
    found = advice_of(lines, **SETTINGS, parameters=300_000_000)["A104"]
    assert found.saves_s > 0.8 * found_total(lines)
    assert found.saves_low_s <= found.saves_s <= found.saves_high_s


def found_total(lines):
    return report_of(lines, **SETTINGS, parameters=300_000_000).situation.checkpoints_s


def advice_of(lines, may_lose_s=None, **flags):
    report = report_of(lines, **flags)
    report = report.asked(may_lose_s=may_lose_s)
    return {advice.code: advice for advice in report.advice}


def test_may_lose_is_a_duration(capsys):
    arguments = ["advise", str(DEMO / "train.log"), "--config", str(DEMO / "config.py"), "--may-lose"]
    assert main([*arguments, "3min", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    interval = {item["code"]: item for item in document["advice"]}["A101"]["proposed"]
    assert interval * document["step"]["typical_s"] <= 180
    assert document["saves"]["may_lose_s"] == 180
    assert document["saves"]["at_stake_s"] == pytest.approx(500 * document["step"]["typical_s"])
    assert main([*arguments, "1min"]) == 0
    assert "save a checkpoint at least every" in " ".join(capsys.readouterr().out.split())
    for wrong in ("soon", "0", "-5min", "1e30h", ""):
        assert main([*arguments[:-1], f"--may-lose={wrong}"]) == 2
        assert "bad-may-lose" in capsys.readouterr().err


# -- what the header shows ---------------------------------------------------------------------------------


def test_an_optimizer_that_is_not_fused():
    found = advice_of(["using fused AdamW: False", *training(300)], max_steps=50_000)
    assert found["A117"].effect == "rounding"
    assert found["A117"].assumed is not None
    assert "A117" not in advice_of(["using fused AdamW: True", *training(300)], max_steps=50_000)
    assert "A117" not in advice_of(training(300), max_steps=50_000)


def test_a_model_that_is_not_compiled():
    found = advice_of(["Overriding: compile = False", *training(300)], max_steps=50_000)
    assert found["A119"].paste == "--compile=True"
    assert "A119" not in advice_of(["Overriding: compile = True", *training(300)], max_steps=50_000)
    assert "A119" not in advice_of(["Overriding: compile = False", *training(300)], max_steps=50_000, device="cpu")


def test_float32_on_a_card_with_bfloat16():
    run = run_of(training(300))
    for gpu, dtype, expected in (("4090", "float32", True), ("V100", "float32", False), ("4090", "bfloat16", False)):
        found = explain(run, flags={"dtype": dtype, "max_steps": 50_000}, gpu=gpu).advice
        assert ("A121" in {advice.code for advice in found}) == expected


def test_new_shapes_that_compile_again():
    """Irregular slow steps that die out, as when each new length of sequence is compiled once."""
    slow = {37, 61, 74, 95, 121, 138, 167, 182, 223, 251, 290, 417}
    lines = []
    for step in range(1200):
        took = 4000.0 if step in slow else 100.0 + step % 7
        lines.append(f"iter {step}: loss {3 + step % 5 / 100:.4f}, time {took:.2f}ms")
    found = advice_of(lines, compile=True)
    assert 0 < found["A120"].saves_low_s < found["A120"].saves_s <= found["A120"].saves_high_s
    assert "A120" not in advice_of(lines, compile=False)


def test_published_gains_are_said_to_be_assumed(capsys, tmp_path):
    log = tmp_path / "train.log"
    log.write_text("\n".join(["using fused AdamW: False", *training(300)]) + "\n")
    assert main(["advise", str(log), "--max-steps", "50000"]) == 0
    assert "Assumed, from published cases: 3% for GPT-2" in " ".join(capsys.readouterr().out.split())
    assert main(["advise", str(log), "--max-steps", "50000", "--format", "json"]) == 0
    found = {item["code"]: item for item in json.loads(capsys.readouterr().out)["advice"]}
    assert found["A117"]["basis"] == "assumed"


def test_what_is_measured_comes_before_what_is_assumed():
    """An assumed gain counts half of the way down to its low end."""
    spare = Hardware(gpu="RTX 4070", memory_used=5 << 30, memory_total=12 << 30)
    report = explain(run_of(training(1000, every=10, evaluate=100)), flags=SETTINGS, hardware=spare)
    weights = [advice.weight_s for advice in report.advice]
    assert weights == sorted(weights, reverse=True)
    assert report.advice[0].assumed is None
    assumed = [advice for advice in report.advice if advice.assumed is not None]
    assert assumed
    assert all(advice.weight_s <= advice.saves_s for advice in assumed)


def test_all_at_once_save_no_more_than_there_is():
    report = report_of(training(1000, every=10, evaluate=100, save_ms=300.0), **SETTINGS)
    situation = report.situation
    saved = together(situation, report.advice)
    assert saved < sum(advice.saves_s for advice in report.advice)
    assert saved >= max(advice.saves_s for advice in report.advice)
    assert saved <= situation.evaluations_s + situation.checkpoints_s + situation.steps_left_s


def test_evaluation_settings_move_the_dice_of_nanogpt():
    found = advice_of(training(1000, every=10, evaluate=100), **SETTINGS)
    assert {found[code].effect for code in ("A101", "A102", "A103")} == {"draws"}
    assert outcome(eval_iters=100).effect == "draws"
    assert outcome(batch_size=32, gradient_accumulation_steps=2).effect == "rounding"


def test_a_trainer_without_the_setting_is_told_in_words(capsys, tmp_path):
    """build-nanogpt has no flag for its interval: nothing is there to type."""
    log = tmp_path / "log.txt"
    lines = []
    for step in range(1001):
        if step % 50 == 0:
            lines.append(f"validation loss: {4 - step / 1000:.4f}")
        took = 1500.0 if step % 50 == 0 else 300.0
        lines.append(
            f"step {step:5d} | loss: {4 - step / 1000:.6f} | lr 6.0000e-04 | norm: 0.3 | dt: {took:.2f}ms | "
            f"tok/sec: {1e6 / took:.2f}"
        )
    log.write_text("\n".join(lines) + "\n")
    assert main(["advise", str(log)]) == 0
    out = capsys.readouterr().out
    assert "type: eval_interval" not in out
    assert "eval_interval" not in out


# -- names of other trainers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trainer", "key", "name"),
    [
        ("hf_trainer", "eval_steps", "eval_interval"),
        ("hf_trainer", "save_steps", "checkpoint_interval"),
        ("hf_trainer", "per_device_train_batch_size", "batch_size"),
        ("lightning_bar", "val_check_interval", "eval_interval"),
        ("lightning_bar", "accumulate_grad_batches", "gradient_accumulation_steps"),
        ("megatron", "--eval-interval", "eval_interval"),
        ("megatron", "train-iters", "max_steps"),
        ("detectron2", "TEST.EVAL_PERIOD", "eval_interval"),
        ("detectron2", "eval_period", "eval_interval"),
        ("maxtext", "eval_steps", "eval_iters"),
        ("nanogpt", "eval_steps", "eval_interval"),
        ("nanogpt", "max_iters", "max_steps"),
        ("nanogpt", "beta2", "beta2"),
    ],
)
def test_settings_under_any_trainers_name(trainer, key, name):
    assert canonical_name(key, FORMATS[trainer]) == name


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        (["eval_interval=500", "eval_interval=1000"], "change-twice"),
        (["eval_interval=500", "eval_steps=1000"], "change-twice"),
        (["eval_intervall=500"], "unknown-change"),
        (["eval_interval=1e30"], "bad-change-value"),
        (["eval_interval=-1"], "bad-change-value"),
        (["batch_size=0"], "bad-change-value"),
        (["always_save_checkpoint=7"], "bad-change-switch"),
    ],
)
def test_changes_that_cannot_be(changes, code, capsys):
    flags = [part for change in changes for part in ("--change", change)]
    assert main(["advise", str(DEMO / "train.log"), *flags]) == 2
    assert f"[{code}]" in capsys.readouterr().err


def test_a_run_that_is_past_its_new_end(capsys):
    assert (
        main(["advise", str(DEMO / "train.log"), "--config", str(DEMO / "config.py"), "--change", "max_iters=9"]) == 0
    )
    assert "past 9" in capsys.readouterr().out


# -- laws of what-if ---------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(["eval_iters", "batch_size", "block_size", "gradient_accumulation_steps", "max_steps"]),
    low=st.integers(1, 40),
    more=st.integers(1, 40),
)
def test_more_of_anything_never_takes_less(name, low, more):
    scale = 200 if name == "max_steps" else 1
    assert outcome(**{name: low * scale}).saves_s >= outcome(**{name: (low + more) * scale}).saves_s - 1e-9


@settings(max_examples=40, deadline=None)
@given(low=st.integers(1, 40), more=st.integers(1, 40))
def test_a_longer_interval_never_takes_more(low, more):
    assert outcome(eval_interval=10 * low).saves_s <= outcome(eval_interval=10 * (low + more)).saves_s + 1e-9


@settings(max_examples=40, deadline=None)
@given(every=st.integers(1, 20), iters=st.integers(1, 200))
def test_two_changes_save_no_more_than_each_alone(every, iters):
    """Both touch the evaluations: what one has saved, the other cannot save again."""
    both = outcome(eval_interval=100 * every, eval_iters=iters).saves_s
    alone = [outcome(eval_interval=100 * every).saves_s, outcome(eval_iters=iters).saves_s]
    assert both <= sum(alone) + 1e-9
    assert both >= max(alone) - 1e-9
