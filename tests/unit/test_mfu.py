"""The printed MFU is a running mean of numbers that settings alone decide: taken apart, it checks them."""

from __future__ import annotations

import pytest

from stepscope.run.mfu import operations
from tests.unit.logs import report_of, run_of

PEAK = 312e12


def parameters_of(layers, width, words=65, block=256):
    return (words + block) * width + layers * (12 * width * width + 2 * width) + width


def log(*, layers=6, width=384, batch=64, block=256, accumulation=1, ranks=1, steps=400, every=5, step_s=0.04):
    """nanoGPT's lines as it computes them: operations of one rank, a running mean over printed lines."""
    tokens = accumulation * batch * block / ranks
    per_token = 6 * (parameters_of(layers, width) - block * width) + 12 * layers * width * block
    lines, mean = [], -1.0
    for step in range(0, steps, every):
        took = step_s * (1 + 0.1 * ((step * 37) % 11) / 11) + (2.0 if step % 100 == 0 else 0.0)
        if step % 100 == 0:
            lines.append(f"step {step}: train loss 2.0, val loss 2.1")
        if step >= 5:
            own = per_token * tokens / took / PEAK
            mean = own if mean < 0 else 0.9 * mean + 0.1 * own
        lines.append(f"iter {step}: loss 2.0, time {1000 * took:.2f}ms, mfu {100 * mean:.2f}%")
    return lines, per_token * tokens


def config(*, layers=6, width=384, batch=64, block=256, accumulation=1):
    return {
        "n_layer": layers,
        "n_embd": width,
        "batch_size": batch,
        "block_size": block,
        "gradient_accumulation_steps": accumulation,
        "parameters": parameters_of(layers, width),
    }


def contradictions(report):
    alarms = [alarm for alarm in report.alarms if alarm.code == "contradiction"]
    return {alarm.message.args["setting"]: alarm.message.args["seen"] for alarm in alarms}


def test_the_operations_of_a_step_come_out_to_a_percent():
    """Whatever the steps took, evaluations among them."""
    lines, true = log()
    assert operations(run_of(lines)).per_step == pytest.approx(true, rel=0.01)


def test_settings_that_fit_raise_nothing():
    lines, _ = log()
    assert contradictions(report_of(lines, **config())) == {}


def test_ranks_are_found():
    """Eight ranks share 40 micro-steps; no line says so."""
    lines, _ = log(accumulation=40, ranks=8, step_s=0.2)
    report = report_of(lines, **config(accumulation=40))
    assert report.run.settings["world_size"] == (8, "detected")
    assert contradictions(report) == {}


def test_a_model_of_another_size_is_told():
    lines, _ = log(layers=12, width=704, step_s=0.3)
    assert set(contradictions(report_of(lines, **config()))) == {"parameters"}
    seen = float(contradictions(report_of(lines, **config()))["parameters"])
    assert seen == pytest.approx(parameters_of(12, 704), rel=0.1)


def test_accumulation_that_was_set_otherwise_is_told():
    """A config for one micro-step, a run with forty."""
    lines, _ = log(accumulation=40, step_s=1.6)
    assert contradictions(report_of(lines, **config())) == {"gradient_accumulation_steps": "40"}


def test_printed_tokens_against_the_config():
    lines, _ = log(accumulation=40, step_s=1.6)
    report = report_of(["tokens per iteration will be: 655,360", *lines], **config())
    assert contradictions(report) == {"tokens_per_step": "655360"}


def test_an_mfu_of_a_few_hundredths_says_nothing():
    """A CPU's MFU is all rounding."""
    lines, _ = log(layers=2, width=64, batch=4, step_s=0.5)
    assert operations(run_of(lines)) is None
    assert contradictions(report_of(lines, **config())) == {}


def test_an_interval_that_the_log_disproves_is_told():
    """Evaluations every 100 beat a config that says 70."""
    lines, _ = log()
    report = report_of(["Overriding: eval_interval = 70", *lines])
    assert report.run.settings["eval_interval"] == (100, "detected")
    assert contradictions(report) == {"eval_interval": "100"}
