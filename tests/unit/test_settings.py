"""Settings are taken from the strongest source, and the log's own lines disprove a wrong one."""

from __future__ import annotations

import pytest

from stepscope.core.configfile import parse_python
from stepscope.core.settings import Settings, parse_value
from stepscope.run.intervals import with_settings
from tests.unit.logs import report_of, run_of, training


def test_flag_beats_config_beats_log_beats_detection_beats_default():
    run = run_of(["Overriding: log_interval = 10", "Overriding: eval_iters = 7", *training(400, every=10, evaluate=50)])
    settings = with_settings(run, config={"eval_iters": 8, "batch_size": 16}, flags={"batch_size": 32}).settings
    found = {name: (settings[name].value, settings[name].origin) for name in settings}
    assert found["batch_size"] == (32, "flag")
    assert found["eval_iters"] == (8, "config")
    assert found["log_interval"] == (10, "log")
    assert found["eval_interval"] == (50, "detected")
    assert found["block_size"] == (1024, "default")


def test_the_trainers_own_names_work():
    run = with_settings(run_of(training(50)), flags={"max_iters": 500})
    assert run.settings["max_steps"].value == 500


def test_a_weaker_layer_never_replaces_a_stronger_one():
    settings = Settings().with_layer({"a": 1}, "flag").with_layer({"a": 2, "b": 3}, "log")
    assert (settings["a"].value, settings["b"].value) == (1, 3)


def test_a_config_that_the_log_disproves_is_overruled_and_told():
    lines = ["Overriding: eval_interval = 700", *training(1000, every=10, evaluate=100)]
    report = report_of(lines)
    assert report.run.settings["eval_interval"].value == 100
    report = report_of(training(1000, every=10, evaluate=100), eval_interval=700)
    assert report.run.settings["eval_interval"].origin == "flag"
    assert [alarm.code for alarm in report.alarms] == ["contradiction"]


def test_no_default_is_assumed_for_a_log_that_shows_no_settings():
    """A fork may differ: only a run that prints its settings is taken to use nanoGPT's own defaults for the rest."""
    settings = report_of(training(100)).run.settings
    assert "eval_iters" not in settings
    assert "max_steps" not in settings


def test_code_in_a_traceback_is_no_setting():
    lines = [
        *training(50),
        "Traceback (most recent call last):",
        '  File "train.py", line 3',
        "    max_iters = 7",
        "KeyError: 'x'",
    ]
    assert "max_steps" not in report_of(lines).run.settings


def test_accumulation_is_worked_out_from_tokens():
    head = ["tokens per iteration will be: 32,768"]
    settings = report_of([*head, *training(50)], batch_size=16, block_size=512).run.settings
    assert (settings["gradient_accumulation_steps"].value, settings["gradient_accumulation_steps"].origin) == (
        4,
        "detected",
    )


@pytest.mark.parametrize(
    ("text", "value"), [("500", 500), ("1e-3", 1e-3), ("True", True), ("false", False), ("cuda", "cuda"), ("5 * 8", 40)]
)
def test_values_as_people_type_them(text, value):
    assert parse_value(text) == value


def test_a_config_is_constants_and_arithmetic():
    text = "a = 5 * 8\nb = a // 3\nc = 'x'\nd = open('/etc/passwd').read()\ne: int = -2\nf = [1]\ng = 1 / 0\n"
    assert parse_python(text, "c.py") == {"a": 40, "b": 13, "c": "x", "e": -2}
