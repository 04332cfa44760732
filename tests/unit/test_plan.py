"""The plan before a run: counting is exact, predictions keep their order, and what is not known is said."""

from __future__ import annotations

import importlib.util
import json
import math
import statistics
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.cli import main
from stepscope.core.configfile import read_config
from stepscope.core.errors import UsageError
from stepscope.plan import calibrate
from stepscope.plan.build import Known, plan_gpu
from stepscope.plan.derive import derive_shape
from stepscope.plan.gpus import GPUS, find_gpu, known_gpu
from stepscope.plan.memory import largest_micro_batch, memory
from stepscope.plan.model_shape import gpt, shape_from_flags, shape_of
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
    found = known_gpu(text)
    assert found is not None
    assert found.name == name


def test_an_unknown_card_names_close_ones():
    with pytest.raises(UsageError) as caught:
        find_gpu("RTX 4075")
    assert "RTX 4070" in str(caught.value.args_for_text["known"])


def test_there_are_many_cards_and_each_is_found_by_its_name():
    assert len(GPUS) >= 33
    for card in GPUS:
        assert find_gpu(card.name) == card


@settings(max_examples=60, deadline=None)
@given(
    batch=st.integers(1, 64),
    layers=st.integers(1, 48),
    hidden=st.sampled_from([64, 384, 768, 1600]),
    card=st.sampled_from(GPUS),
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
@given(card=st.sampled_from(GPUS), batch=st.integers(1, 64), accumulation=st.integers(1, 40))
def test_a_proposal_keeps_the_tokens_and_fits(card, batch, accumulation):
    training = training_of({"batch_size": batch, "gradient_accumulation_steps": accumulation})
    plan = plan_gpu(GPT2, training, card)
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
    plain = plan_gpu(GPT2, training, find_gpu("4090"))
    known = plan_gpu(GPT2, training, find_gpu("4090"), known=Known(calibration=2.0, log_sd=0.05))
    assert math.isclose(known.asked.step.seconds, 2 * plain.asked.step.seconds)
    low, high = known.asked.step.span()
    assert high / low < 1.2


def test_larger_memory_fits_a_larger_batch():
    assert largest_micro_batch(GPT2, find_gpu("4090"), is_compiled=True) > largest_micro_batch(
        GPT2, find_gpu("4070"), is_compiled=True
    )


def test_bf16_on_an_old_card_is_slow_and_told():
    """Before Ampere bf16 is emulated: the proposal is float16."""
    training = training_of({"dtype": "bfloat16"})
    plan = plan_gpu(GPT2, training, find_gpu("V100"))
    assert plan.proposed is not None
    assert plan.proposed.training.dtype == "float16"
    assert plan.proposed.step.seconds < plan.asked.step.seconds / 2


def test_the_size_of_a_model_from_its_step_time():
    """A shape that is timed by the formula itself is found again."""
    training = training_of({"batch_size": 16, "gradient_accumulation_steps": 4})
    shape = gpt(layers=8, heads=8, hidden=512, context=512, vocabulary=50304)
    card = find_gpu("4070")
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


def test_a_written_config_keeps_what_the_plan_does_not_change(tmp_path):
    """It is run as it is: the model, the data and the rates of the config it came from must be in it."""
    config = tmp_path / "config.py"
    config.write_text(
        "dataset = 'words'\nn_layer = 4\nn_embd = 128\nlearning_rate = 1e-3\nbatch_size = 4\neval_iters = 200\n"
    )
    assert main(["plan", "--gpu", "4090", "--config", str(config), "--write", str(tmp_path)]) == 0
    written = read_config(tmp_path / "train_rtx_4090.py")
    assert {name: written[name] for name in ("dataset", "n_layer", "n_embd", "learning_rate")} == {
        "dataset": "words",
        "n_layer": 4,
        "n_embd": 128,
        "learning_rate": 1e-3,
    }
    assert written["batch_size"] > 4
    assert written["batch_size"] * written["gradient_accumulation_steps"] == 4 * 40
    assert written["eval_iters"] < 200


def test_published_figures_are_all_listed_and_predicted():
    """The rows of the bench: each in one place, half of the scored within 20 %, nine in ten inside their band."""
    spec = importlib.util.spec_from_file_location("bench_plan", ROOT / "bench" / "plan.py")
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    bench.check_rows()
    scored = [(row, bench.predicted(row)) for row in bench.ROWS if not row.is_fitted]
    errors = [abs(said.seconds / row.seconds - 1) for row, said in scored]
    assert statistics.median(errors) <= 0.20
    inside = [said.span()[0] <= row.seconds <= said.span()[1] for row, said in scored]
    assert sum(inside) >= 0.9 * len(inside)


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


def test_this_machine_is_measured_instead(monkeypatch, tmp_path, capsys):
    """Products, memory and disk of the machine at hand; no figure of the table is used."""
    monkeypatch.setattr("stepscope.plan.calibrate._SECONDS", 0.01)
    monkeypatch.setattr("stepscope.plan.calibrate._CPU_SIZE", 64)
    monkeypatch.setattr("stepscope.plan.calibrate._COPY_BYTES", 1 << 20)
    monkeypatch.setattr("stepscope.plan.calibrate._DISK_BYTES", 1 << 22)
    monkeypatch.setattr("stepscope.plan.calibrate._cuda", lambda: None)
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "--calibrate", "--params", "10M", "--max-steps", "100", "--format", "json"]) == 0
    card = json.loads(capsys.readouterr().out)["cards"][0]
    assert card["gpu"] == "CPU"
    assert card["peak_tflops"] > 0
    assert card["memory"]["context"] == 0
    assert list(tmp_path.iterdir()) == []


def test_a_card_is_measured_through_torch():
    """The card's own rate replaces the table's; its name and power are still looked up."""
    torch = SimpleNamespace(
        bfloat16="bf16",
        float16="fp16",
        uint8="u8",
        randn=lambda *_, **__: FakeTensor(),
        empty=lambda *_, **__: FakeTensor(),
        empty_like=lambda tensor: tensor,
        cuda=SimpleNamespace(
            get_device_capability=lambda: (7, 0),
            synchronize=lambda: None,
            get_device_properties=lambda _: SimpleNamespace(name="Tesla V100-SXM2-16GB", total_memory=16 << 30),
        ),
    )
    found = calibrate._measure_cuda(torch)
    assert found.name == "V100"
    assert found.watts == 300
    assert not found.has_bf16
    assert found.gb == 16


class FakeTensor:
    def __matmul__(self, other):
        return other

    def copy_(self, other):
        return other


def test_a_log_that_no_such_card_can_have_written(capsys):
    """170 ms for 32,768 tokens of a model of a billion parameters is ten times what a 4070 can do."""
    arguments = ["plan", "--gpu", "4090", "--from", str(DEMO / "train.log"), "--config", str(DEMO / "config.py")]
    assert main([*arguments, "--from-gpu", "4070", "--params", "1B", "--context", "512"]) == 2
    assert "[plan-from-impossible]" in capsys.readouterr().err
    assert main([*arguments, "--from-gpu", "4070", "--params", "20M", "--context", "512"]) == 0


def test_llama_from_its_config(tmp_path, capsys):
    config = tmp_path / "config.json"
    config.write_text(
        json.dumps(
            {
                "model_type": "llama",
                "hidden_size": 2048,
                "num_hidden_layers": 16,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "intermediate_size": 8192,
                "vocab_size": 128256,
                "max_position_embeddings": 4096,
                "tie_word_embeddings": True,
            }
        )
    )
    assert main(["plan", "--gpu", "A100 80GB", "--config", str(config), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["model"]["parameters"] == 1_235_814_400


@pytest.mark.parametrize(
    "arguments",
    [
        ["--gpu", "4070", "--params", "0"],
        ["--gpu", "4070", "--params=-5M"],
        ["--gpu", "4070", "--params", "1e30"],
        ["--gpu", "4070", "--params", "124M", "--context", "0"],
        ["--gpu", "4070", "--params", "124M", "--context", "-1"],
        ["--gpu", "4070", "--params", "124M", "--vocab", "0"],
        ["--gpu", "4070", "--params", "124M", "--context", "999999999999"],
        ["--gpu", "4070", "--params", "124M", "--max-steps", "0"],
        ["--gpu", "4070", "--params", "124M", "--set", "batch_size=0"],
        ["--gpu", "4070", "--params", "124M", "--set", "batch_size=-4"],
        ["--gpu", "4070", "--params", "124M", "--set", "eval_interval=many"],
        ["--gpu", "4070", "--params", "124M", "--price", "-1"],
        ["--gpu", "4070", "--params", "124M", "--now", "soon"],
        ["--gpu", ",", "--params", "124M"],
        ["--gpu", "4070", "--config", "no-such-file.py"],
        ["--gpu", "4070", "--from", "no-such.log", "--from-gpu", "4090"],
        ["--gpu", "4070", "--layers", "12"],
    ],
)
def test_what_cannot_be_is_told(arguments, capsys):
    assert main(["plan", *arguments]) in {1, 2}
    err = capsys.readouterr().err
    assert err.startswith("error[")
    assert "  try: " in err
