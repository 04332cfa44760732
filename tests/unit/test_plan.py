"""The plan before a run: counting is exact, predictions keep their order, and what is not known is said."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.cli import main
from stepscope.errors import UsageError
from stepscope.plan.build import Known, plan_card
from stepscope.plan.cards import CARDS, find_card, known_card
from stepscope.plan.derive import derive_shape
from stepscope.plan.memory import largest_micro_batch, memory
from stepscope.plan.shape import gpt, shape_from_flags, shape_of
from stepscope.plan.speed import step
from stepscope.plan.training import training_of
from tests.conftest import ROOT

DEMO = ROOT / "src" / "stepscope" / "demo"
GPT2 = gpt(layers=12, heads=12, hidden=768, context=1024, vocabulary=50304)


def test_parameters_of_gpt2():
    """nanoGPT prints 123.59M for its default model: all of them without the positions."""
    assert GPT2.parameters - 1024 * 768 == 123_587_328
    assert GPT2.flops_per_token == 6 * 123_587_328 + 12 * 12 * 768 * 1024


def test_parameters_of_published_models():
    gpt2, _ = shape_of(
        {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "vocab_size": 50257}
    )
    assert gpt2.parameters == 124_439_808
    llama, _ = shape_of(
        {
            "model_type": "llama",
            "hidden_size": 4096,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "intermediate_size": 11008,
            "vocab_size": 32000,
            "tie_word_embeddings": False,
        }
    )
    assert llama.parameters == 6_738_415_616


def test_a_size_alone_gives_usual_proportions():
    shape = shape_from_flags(parameters=124e6, layers=None, hidden=None, vocabulary=None, context=None)
    assert abs(shape.parameters / 124e6 - 1) < 0.02
    assert 8 <= shape.layers <= 20


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("4070", "RTX 4070"),
        ("rtx 4070 ti", "RTX 4070 Ti"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB"),
        ("NVIDIA A100-PCIE-40GB", "A100 40GB"),
        ("a100", "A100 40GB"),
        ("Tesla V100-SXM2-32GB", "V100 32GB"),
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada"),
        ("Tesla T4", "T4"),
        ("H100 SXM", "H100 SXM"),
    ],
)
def test_cards_by_what_people_call_them(text, name):
    found = known_card(text)
    assert found is not None
    assert found.name == name


def test_an_unknown_card_names_close_ones():
    with pytest.raises(UsageError) as caught:
        find_card("RTX 4075")
    assert "RTX 4070" in str(caught.value.args_for_text["known"])


def test_there_are_many_cards_and_each_is_found_by_its_name():
    assert len(CARDS) >= 33
    for card in CARDS:
        assert find_card(card.name) == card


@settings(max_examples=60, deadline=None)
@given(
    batch=st.integers(1, 64),
    layers=st.integers(1, 48),
    hidden=st.sampled_from([64, 384, 768, 1600]),
    card=st.sampled_from(CARDS),
)
def test_more_work_takes_longer_and_more_memory(batch, layers, hidden, card):
    shape = gpt(layers=layers, heads=1, hidden=hidden, context=256, vocabulary=1000)
    deeper = shape._replace(layers=layers + 1)
    for larger, more in ((deeper, batch), (shape, batch + 1)):
        before = step(shape, card, micro_batch=batch, accumulation=4)
        after = step(larger, card, micro_batch=more, accumulation=4)
        assert after.seconds >= before.seconds
        assert memory(larger, more, is_compiled=True).total > memory(shape, batch, is_compiled=True).total
    low, high = before.span()
    assert low < before.seconds < high


@settings(max_examples=60, deadline=None)
@given(card=st.sampled_from(CARDS), batch=st.integers(1, 64), accumulation=st.integers(1, 40))
def test_a_proposal_keeps_the_tokens_and_fits(card, batch, accumulation):
    training = training_of({"batch_size": batch, "gradient_accumulation_steps": accumulation})
    plan = plan_card(GPT2, training, card)
    if plan.largest == 0:
        assert plan.proposed is None
        return
    assert plan.proposed is not None
    proposed = plan.proposed.training
    assert proposed.sequences == training.sequences
    assert proposed.batch_size <= plan.largest
    assert plan.proposed.memory.total <= card.memory
    assert proposed.eval_interval >= training.eval_interval
    assert proposed.eval_iters <= training.eval_iters


def test_a_measured_run_replaces_the_formula():
    training = training_of({})
    plain = plan_card(GPT2, training, find_card("4090"))
    known = plan_card(GPT2, training, find_card("4090"), known=Known(calibration=2.0, log_sd=0.05))
    assert math.isclose(known.asked.step.seconds, 2 * plain.asked.step.seconds)
    low, high = known.asked.step.span()
    assert high / low < 1.2


def test_larger_memory_fits_a_larger_batch():
    assert largest_micro_batch(GPT2, find_card("4090"), is_compiled=True) > largest_micro_batch(
        GPT2, find_card("4070"), is_compiled=True
    )


def test_bf16_on_an_old_card_is_slow_and_told():
    """Before Ampere bf16 is emulated: the proposal is float16."""
    training = training_of({"dtype": "bfloat16"})
    plan = plan_card(GPT2, training, find_card("V100"))
    assert plan.proposed is not None
    assert plan.proposed.training.dtype == "float16"
    assert plan.proposed.step.seconds < plan.asked.step.seconds / 2


def test_the_size_of_a_model_from_its_step_time():
    """A shape that is timed by the formula itself is found again."""
    training = training_of({"batch_size": 16, "gradient_accumulation_steps": 4})
    shape = gpt(layers=8, heads=8, hidden=512, context=512, vocabulary=50304)
    card = find_card("4070")
    took = step(shape, card, micro_batch=16, accumulation=4).seconds
    held = memory(shape, 16, is_compiled=True).total
    found = derive_shape(training, card, step_s=took, context=512, first_loss=10.8, memory_used=held)
    assert found is not None
    assert found.vocabulary_from_loss
    assert found.low <= shape.parameters <= found.high
    assert derive_shape(training, card, step_s=1e-9, context=512) is None


def test_the_reference_case_on_three_cards(capsys):
    """Larger micro-batches, less accumulation, fewer evaluation batches; a 4090 is about twice as fast as a 4070."""
    arguments = ["plan", "--gpu", "4070,4080,4090", "--from", str(DEMO / "train.log"), "--format", "json"]
    arguments += ["--config", str(DEMO / "config.py"), "--nvidia-smi", str(DEMO / "nvidia-smi.txt")]
    assert main(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "stepscope.plan/1"
    assert document["model"]["is_derived"]
    assert document["model"]["parameters_low"] < document["model"]["parameters_high"]
    first, second, third = document["cards"]
    assert math.isclose(first["step_s"], 0.170, rel_tol=0.01)
    assert first["step_s"] > second["step_s"] > third["step_s"]
    assert 1.5 < first["step_s"] / third["step_s"] < 3
    for card in document["cards"]:
        proposed = card["proposed"]["settings"]
        assert proposed["batch_size"] > 16
        assert proposed["gradient_accumulation_steps"] < 4
        assert proposed["eval_iters"] < 200
        assert proposed["eval_interval"] >= 500
        assert card["proposed"]["total_s"] < card["total_s"]


def test_config_files_are_written(tmp_path, capsys):
    assert main(["plan", "--gpu", "4070,4090", "--params", "124M", "--write", str(tmp_path / "out")]) == 0
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["train_rtx_4070.py", "train_rtx_4090.py"]
    assert "batch_size = " in (tmp_path / "out" / "train_rtx_4090.py").read_text()
    assert "124" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--gpu", "4711", "--params", "124M"], "unknown-card"),
        (["--gpu", "4070"], "plan-needs-model"),
        (["--gpu", "4070", "--params", "many"], "bad-parameters"),
        (["--gpu", "4070", "--params", "124M", "--price", "cheap"], "bad-price"),
        (["--gpu", "4070", "--params", "124M", "--devices", "0"], "bad-devices"),
        (["--gpu", "4070", "--layers", "0", "--hidden", "64"], "plan-bad-shape"),
        (["--gpu", "4070", "--from", str(DEMO / "train.log")], "plan-from-needs-card"),
    ],
)
def test_asked_wrongly(arguments, code, capsys):
    assert main(["plan", *arguments]) == 2
    assert f"[{code}]" in capsys.readouterr().err


@pytest.mark.parametrize("code", ["en", "es", "de", "fr"])
@pytest.mark.parametrize("form", ["terminal", "markdown"])
def test_every_language(code, form, capsys):
    arguments = ["plan", "--gpu", "4070,4080,4090,A100,H100", "--params", "350M", "--price", "0.4/h"]
    assert main([*arguments, "--lang", code, "--format", form]) == 0
    text = capsys.readouterr().out
    assert "RTX 4090" in text
    if form == "terminal":
        assert max(len(line) for line in text.splitlines()) <= 80
