"""Comparing runs: the phases' differences add up, chance is called chance, and a real difference is found."""

from __future__ import annotations

import json
import random
import re
from html import escape

import pytest

from stepscope.analysis.compare import compare
from stepscope.cli import main
from stepscope.i18n import Language, languages
from stepscope.report import comparison, comparison_html
from tests.unit.logs import report_of, training


def noisy(seed: int, *, step_ms: float = 100.0, evaluation_ms: float = 2000.0, last: int = 600) -> list[str]:
    dice = random.Random(seed)
    lines = []
    for step in range(last + 1):
        took = dice.gauss(step_ms, 4.0)
        if step % 100 == 0:
            took += evaluation_ms
            lines.append(f"step {step}: train loss 3.0000, val loss 3.1000")
        lines.append(f"iter {step}: loss 3.0000, time {took:.2f}ms")
    return lines


def test_the_phases_add_up_to_the_difference():
    found = compare([report_of(noisy(1)), report_of(noisy(2, step_ms=130.0, evaluation_ms=5000.0, last=900))])
    other = found.others[0]
    assert sum(one.difference_s for one in other.phases) == pytest.approx(other.unit_s[1] - other.unit_s[0])
    assert sum(one.share for one in other.phases) == pytest.approx(1)


def test_chance_is_called_chance():
    """At 90 %, runs of one kind are told apart in no more than one case in ten, give or take."""
    told = [compare([report_of(noisy(seed)), report_of(noisy(seed + 500))]).others[0].is_noise for seed in range(40)]
    assert told.count(False) <= 9


def test_a_real_difference_is_found():
    other = compare([report_of(noisy(1)), report_of(noisy(2, step_ms=105.0))]).others[0]
    assert other.is_noise is False
    assert other.ratio_low < 1.05 < other.ratio_high


def test_the_phase_that_explains_it_comes_first():
    other = compare([report_of(noisy(1)), report_of(noisy(2, evaluation_ms=9000.0))]).others[0]
    assert other.phases[0].phase == "evaluation"
    assert other.phases[0].share > 0.9


def test_a_phase_that_others_make_up_for_is_no_134_percent_of_the_difference():
    found = compare([report_of(noisy(1)), report_of(noisy(2, step_ms=80.0, evaluation_ms=2700.0))])
    assert found.others[0].phases[0].share > 1.2
    lines = comparison.verdict(found, found.others[0], Language.load("en"))
    assert lines[1] == "Most of the difference is training; other phases offset part of it."
    shares = [row[4] for row in comparison.rows(found, found.others[0], Language.load("en"))]
    assert any(share.startswith("−") for share in shares)
    assert not any("-" in share for share in shares)


def test_settings_that_differ_are_named():
    first = report_of(training(300, every=10, evaluate=50), eval_iters=200)
    second = report_of(training(300, every=10, evaluate=100), eval_iters=50)
    found = compare([first, second]).others[0].settings
    assert found["eval_iters"] == (200, 50)
    assert found["eval_interval"] == (50, 100)


def test_by_tokens_a_larger_batch_is_not_slower():
    sizes = {"block_size": 256, "gradient_accumulation_steps": 1}
    small = report_of(training(300, step_ms=100.0), batch_size=16, **sizes)
    large = report_of(training(300, step_ms=200.0), batch_size=32, **sizes)
    assert compare([small, large]).others[0].unit_s[1] > 1.9 * compare([small, large]).others[0].unit_s[0]
    before, after = compare([small, large], align="tokens").others[0].unit_s
    assert after == pytest.approx(before, rel=0.02)


def test_without_tokens_it_is_compared_by_steps():
    assert compare([report_of(noisy(1)), report_of(noisy(2))], align="tokens").align == "step"


@pytest.mark.parametrize("code", languages())
@pytest.mark.parametrize("form", ["terminal", "markdown", "json"])
def test_the_command(tmp_path, capsys, code, form):
    paths = []
    for name, seed in (("a.log", 1), ("b.log", 2), ("c.log", 3)):
        path = tmp_path / name
        path.write_text("\n".join(noisy(seed, step_ms=100.0 + seed)) + "\n")
        paths.append(str(path))
    assert main(["compare", *paths, "--lang", code, "--format", form]) == 0
    out = capsys.readouterr().out
    if form == "json":
        document = json.loads(out)
        assert document["schema"] == "stepscope.compare/1"
        assert len(document["others"]) == 2
    else:
        assert "c.log" in out


def test_asked_wrongly(tmp_path, capsys):
    path = tmp_path / "a.log"
    path.write_text("\n".join(noisy(1)) + "\n")
    assert main(["compare", str(path)]) == 2
    assert main(["compare", str(path), str(tmp_path / "none.log")]) == 1
    assert "compare-needs-two" in capsys.readouterr().err


@pytest.mark.parametrize("code", languages())
def test_the_page_says_what_the_terminal_says(code):
    language = Language.load(code).unbroken()
    found = compare([report_of(training(300, every=10, evaluate=50, step_ms=took)) for took in (100.0, 150.0, 90.0)])
    page = comparison_html.render(found, language)
    plain = re.sub(r"<[^>]+>", " ", page.replace("</td>", " "))
    for other in found.others:
        for sentence in comparison.verdict(found, other, language):
            assert escape(sentence) in page
        for one in other.phases:
            assert escape(language.duration(one.after_s * 1000)) in plain
    held = page.partition('id="comparison">')[2].partition("</script>")[0]
    assert json.loads(held) == json.loads(comparison.render_json(found))


def test_the_page_is_asked_for_by_its_format_and_holds_no_markup_of_the_logs(tmp_path):
    names = [tmp_path / "<img src=x>.log", tmp_path / "b.log"]
    for path in names:
        path.write_text("\n".join(training(300, every=10, evaluate=50)) + "\n")
    target = tmp_path / "compare.html"
    assert main(["compare", *map(str, names), "--format", "html", "-o", str(target)]) == 0
    text = target.read_text()
    assert "<img" not in text
    assert "&lt;img src=x&gt;.log" in text
