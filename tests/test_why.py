"""`stepscope why`: the story of one step, in every form and language, and sensible answers where there is none."""

from __future__ import annotations

import json

import pytest

from tests.unit.logs import training


@pytest.fixture
def log(tmp_path):
    lines = training(1000, every=10, evaluate=100, saves=False)
    at = next(index for index, line in enumerate(lines) if line.startswith("iter 550:"))
    lines[at] = "iter 550: loss 3.0, time 2100.00ms"
    path = tmp_path / "train.log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def story(cli, *args):
    status, out, _ = cli("why", *args, "--format", "json")
    assert status == 0
    return json.loads(out)


def test_a_slow_step_with_a_marker(cli, log):
    told = story(cli, log, "500")
    assert told["schema"] == "stepscope.why/1"
    assert (told["cause"], told["code"], told["slow"]) == ("evaluation", "C01", True)
    assert told["normal_s"] == pytest.approx(0.1, rel=0.05)
    assert [line["text"] for line in told["evidence_lines"]] == ["step 500: train loss 3.0000, val loss 3.1000"]


def test_an_unexplained_step_says_what_was_turned_down_and_what_would_settle_it(cli, log):
    told = story(cli, log, "550")
    assert (told["cause"], told["code"]) == ("unexplained", None)
    assert len(told["turned_down"]) >= 3
    assert any("nvidia-smi" in text for text in told["settle"])


def test_a_normal_step_and_one_without_a_line(cli, log):
    assert story(cli, log, "510")["slow"] is False
    told = story(cli, log, "515")
    assert (told["printed"], told["seconds"]) == (False, None)
    assert [near["step"] for near in told["neighbours"]] == [510, 520]


def test_a_step_inside_a_window(cli, tmp_path):
    path = tmp_path / "window.log"
    lines = [
        f" iteration {10 * (row + 1):8d}/ 900 | consumed samples: 1 | elapsed time per iteration (ms): 200.0 | "
        "learning rate: 1.0E-05 | lm loss: 2.0E+00 |"
        for row in range(90)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    told = story(cli, str(path), "447")
    assert (told["printed"], told["line_step"], told["covers"]) == (False, 450, 10)


@pytest.mark.parametrize("step", ["100000", "-3", "soon"])
def test_a_step_out_of_range_is_told(cli, log, step):
    status, _, err = cli("why", log, "--", step)
    assert status == 2
    assert "try" in err


@pytest.mark.parametrize("language", ["en", "es", "de", "fr"])
@pytest.mark.parametrize("form", ["terminal", "markdown"])
def test_every_form_in_every_language(cli, log, language, form):
    for step in ("500", "550", "510", "515"):
        status, out, _ = cli("why", log, step, "--lang", language, "--format", form)
        assert status == 0
        assert step in out
        assert "{ $" not in out


def test_a_log_without_times(cli, tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("\n".join(f"{step} train 3.{step:04d}" for step in range(300)) + "\n", encoding="utf-8")
    status, _, _ = cli("why", str(path), "3")
    assert status == 3
