"""The reference case, point by point: nanoGPT on an RTX 4070, asked about at 02:30."""

from __future__ import annotations

import json

import pytest

from stepscope.i18n import languages
from tests.conftest import DEMO
from tests.schemas import check


@pytest.fixture
def document(cli, case):
    status, out, _ = cli(*case, "--now", "02:30", "--format", "json")
    assert status == 0
    return json.loads(out)


def by_step(document):
    return {slow["step"]: {part["phase"]: part for part in slow["parts"]} | {"_": slow} for slow in document["slow"]}


def test_every_key_of_the_document_is_in_the_schema(document):
    check(document, strict=True)


def test_a_normal_iteration(document):
    step = document["step"]
    assert (step["typical_s"], step["low_s"], step["high_s"]) == pytest.approx((0.170, 0.168, 0.186))


def test_slow_are_0_500_and_1000_and_no_others(document):
    assert sorted(by_step(document)) == [0, 500, 1000]
    assert document["slow_count"] == 3
    assert document["slow_s"] == pytest.approx(12.543 + 5.985 + 5.726)


@pytest.mark.parametrize("step", [500, 1000])
def test_evaluation_and_checkpoint_are_intervals(document, step):
    """Forward passes at a third of a micro-step are 5.7 s, all of the excess: a save of nothing must be possible."""
    parts = by_step(document)[step]
    assert parts["_"]["cause"] == "evaluation"
    evaluation, checkpoint = parts["evaluation"], parts["checkpoint"]
    assert evaluation["low_s"] < evaluation["seconds"] < evaluation["high_s"]
    assert evaluation["seconds"] == pytest.approx(5.6, abs=0.4)
    assert checkpoint["low_s"] < 0.1
    assert checkpoint["high_s"] > 0.8
    assert {evaluation["basis"], checkpoint["basis"]} == {"assumed"}
    assert document["split"] == "model"
    total = sum(part["seconds"] for phase, part in parts.items() if phase != "_")
    assert total == pytest.approx(parts["_"]["seconds"])


def test_iteration_0_is_evaluation_and_warm_up_without_a_checkpoint(document):
    parts = by_step(document)[0]
    assert parts["evaluation"]["seconds"] == pytest.approx(5.6, abs=0.3)
    assert parts["warmup"]["seconds"] == pytest.approx(12.543 - 0.17 - parts["evaluation"]["seconds"], abs=0.02)
    assert "checkpoint" not in parts


def test_the_forecast(document):
    forecast = document["forecast"]
    assert forecast["steps_left"] == 18_700
    assert forecast["left"]["evaluation"]["count"] == 38
    assert forecast["remaining_s"] == pytest.approx(3400, rel=0.01)
    assert 50 * 60 < forecast["low_s"] < forecast["remaining_s"] < forecast["high_s"] < 65 * 60
    assert forecast["finish_at"][11:16] in {"03:26", "03:27"}
    left = sum(item["seconds"] for item in forecast["left"].values())
    assert left == pytest.approx(forecast["remaining_s"])


def test_advice_goes_the_right_way(document):
    advice = {item["setting"]: item for item in document["advice"]}
    assert advice["eval_interval"]["proposed"] > advice["eval_interval"]["now"] == 500
    assert advice["eval_iters"]["proposed"] < advice["eval_iters"]["now"] == 200
    assert advice["estimate_loss"]["proposed"] == "['val']"
    for item in document["advice"]:
        assert 0 < item["saves_low_s"] <= item["saves_s"] <= item["saves_high_s"]
        assert item["costs"]
    saves = [item["saves_s"] for item in document["advice"]]
    assert saves == sorted(saves, reverse=True)


def test_the_phases_add_up(document):
    assert sum(phase["seconds"] for phase in document["ledger"]) == pytest.approx(document["wall_s"], abs=1e-6)
    assert sum(phase["share"] for phase in document["ledger"]) == pytest.approx(1)


def test_settings_say_where_they_came_from(document):
    settings = document["settings"]
    assert settings["eval_interval"] == {"value": 500, "from": "config"}
    assert settings["parameters"] == {"value": None, "from": None}
    assert document["clock"]["covers"] == "step"
    assert set(document["clock"]["includes"]) >= {"evaluation", "checkpoint"}


def test_without_a_config_the_intervals_are_detected(cli):
    _, out, _ = cli(DEMO / "train.log", "--format", "json")
    document = json.loads(out)
    assert document["settings"]["eval_interval"] == {"value": 500, "from": "detected"}
    assert document["settings"]["log_interval"] == {"value": 100, "from": "detected"}
    assert "max-steps" in document["forecast"]["reason"]


def test_the_time_comes_from_the_nvidia_smi_table(cli, case):
    _, out, _ = cli(*case, "--nvidia-smi", DEMO / "nvidia-smi.txt", "--format", "json")
    document = json.loads(out)
    assert document["hardware"]["gpu"] == "RTX 4070"
    assert document["hardware"]["memory_used"] == 6656 << 20
    assert document["hardware"]["utilisation"] == 1.0
    assert document["forecast"]["now_from"] == "nvidia-smi"
    assert document["forecast"]["finish_at"][:16] in {"2025-11-15T03:26", "2025-11-15T03:27"}


EXCERPT = """\
iter 0: time 12543ms
iter 100: time 168ms
iter 200: time 170ms
...
step 500: train loss..., val loss...
saving checkpoint
iter 500: loss..., time 5985ms
...
iter 900: time 168ms
step 1000: train loss..., val loss...
saving checkpoint
iter 1000: loss..., time 5726ms
"""


def test_a_pasted_excerpt_is_enough(cli, tmp_path, case):
    """A person pastes a dozen lines, losses and the first evaluation's line left out."""
    log = tmp_path / "excerpt.txt"
    log.write_text(EXCERPT)
    _, out, _ = cli(log, *case[1:], "--now", "02:30", "--format", "json")
    document = json.loads(out)
    assert document["source"]["lines_unread"] == 0
    assert sorted(by_step(document)) == [0, 500, 1000]
    assert by_step(document)[0]["evaluation"]["seconds"] == pytest.approx(5.6, abs=0.3)
    assert document["forecast"]["left"]["evaluation"]["count"] == 38
    assert document["forecast"]["steps_left"] == 19_000


@pytest.mark.parametrize("code", languages())
def test_the_answer_is_the_same_in_every_language(cli, code, case):
    """JSON is never translated; the terminal says the same figures."""
    _, english, _ = cli(*case, "--now", "02:30", "--format", "json")
    _, other, _ = cli(*case, "--now", "02:30", "--format", "json", "--lang", code)
    assert english == other
    status, line, _ = cli("eta", *case, "--now", "02:30", "--lang", code)
    assert status == 0
    assert "57 min" in line
    assert "3:27" in line
    assert line.count("\n") == 1


def test_one_note_per_language(cli, case, tmp_path):
    status, out, _ = cli(*case, "--now", "02:30", "--format", "note", "--lang", "es,en,de,fr", "-o", tmp_path)
    assert (status, out) == (0, "")
    heads = {}
    for path in tmp_path.iterdir():
        text = path.read_text(encoding="utf-8")
        _, head, body = text.split("---\n", 2)
        heads[path.name] = dict(line.split(": ", 1) for line in head.splitlines())
        assert body.strip()
    assert sorted(heads) == ["train-de.md", "train-en.md", "train-es.md", "train-fr.md"]
    keys = {"layout", "title", "lang", "type", "generated", "translated", "model", "audio", "image"}
    for name, head in heads.items():
        assert set(head) == keys
        assert head["translated"] == ("false" if name == "train-es.md" else "true")
        assert head["model"].startswith("stepscope ")
