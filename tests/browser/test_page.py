"""The page opened from disk with the network off: every language, light and dark, phone, keyboard, hostile logs."""

from __future__ import annotations

import json
import re

import pytest

from stepscope.advice._whatif import what_if
from stepscope.i18n import Language, languages
from stepscope.report import html
from stepscope.report.build import explain
from tests.conftest import ROOT
from tests.unit.logs import report_of, run_of, training

DEMO = ROOT / "src" / "stepscope" / "demo"
CONFIG = {
    "max_steps": 20000,
    "eval_interval": 500,
    "eval_iters": 200,
    "batch_size": 16,
    "gradient_accumulation_steps": 4,
    "block_size": 512,
}


def demo_report():
    return explain(run_of((DEMO / "train.log").read_text()), flags=CONFIG)


def saved(tmp_path, report, code="en"):
    path = tmp_path / f"report-{code}.html"
    path.write_text(html.render(report, Language.load(code)), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("code", languages())
def test_opens_in_every_language(tmp_path, open_page, problems, code, scheme):
    page = open_page(saved(tmp_path, demo_report(), code), color_scheme=scheme)
    assert page.locator("html").get_attribute("lang") == code
    assert page.locator("#strip canvas").count() == 1
    assert page.locator("#loss canvas").count() == 1
    assert Language.load(code).text("section-change") in page.content()
    assert problems == []


def test_fits_a_phone(tmp_path, open_page, problems):
    page = open_page(saved(tmp_path, demo_report()), viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert problems == []


def test_the_first_screen_has_the_verdict_the_end_and_the_bar(tmp_path, open_page):
    page = open_page(saved(tmp_path, demo_report()), viewport={"width": 1000, "height": 500})
    for selector in (".verdict", ".finish", ".bar"):
        box = page.locator(selector).first.bounding_box()
        assert box["y"] + box["height"] < 500


def test_sliders_say_what_the_command_says(tmp_path, open_page, problems):
    report = demo_report()
    page = open_page(saved(tmp_path, report))
    start = float(page.locator("#whatif").get_attribute("data-remaining"))
    assert start == pytest.approx(report.forecast.remaining_s, rel=1e-6)
    for changes in (
        {"eval_interval": 1000},
        {"eval_iters": 50},
        {"eval_interval": 2500, "eval_iters": 100},
        {"max_steps": 10000},
    ):
        base = json.loads(page.locator("#data").inner_text())["whatif"]
        settings = {name: base[name] for name in ("max_steps", "eval_interval", "eval_iters")} | changes
        found = page.evaluate("([base, settings]) => stepscope.whatIf(base, settings)", [base, settings])
        wanted = what_if(report.run, report.ledger, report.forecast, changes)
        assert found["remaining_s"] == pytest.approx(wanted.after_s, rel=1e-6)
        assert found["evaluations"] == wanted.after["evaluation"].num
    slider = page.locator("#slide-eval_interval")
    slider.focus()
    slider.press("End")
    moved = float(page.locator("#whatif").get_attribute("data-remaining"))
    assert moved < start
    assert problems == []


def test_the_strip_is_zoomed_with_the_keyboard(tmp_path, open_page, problems):
    page = open_page(saved(tmp_path, report_of(training(2000, every=1, evaluate=200), max_steps=5000)))
    page.locator("#strip").focus()
    for key in ("+", "+", "ArrowRight", "-", "Home"):
        page.keyboard.press(key)
    assert problems == []


def test_pointing_at_a_slow_iteration_tells_its_parts(tmp_path, open_page):
    page = open_page(saved(tmp_path, demo_report()))
    box = page.locator("#strip .u-over").bounding_box()
    page.mouse.move(box["x"] + 1, box["y"] + 20)
    assert "warm-up" in page.locator("#strip-tip").inner_text()


def test_a_hostile_log_becomes_text(tmp_path, open_page, problems):
    bad = '<script>window.owned=1</script><img src=x onerror="window.owned=1">\u202egnorw'
    lines = training(300, every=10, evaluate=50)
    lines += ["Traceback (most recent call last):", f"RuntimeError: {bad} </script><!--", "\x1b[31m" + bad]
    report = explain(run_of(lines), flags={"max_steps": 5000})
    page = open_page(saved(tmp_path, report))
    assert page.evaluate("window.owned") is None
    assert page.locator("main script:not([type])").count() == 0
    assert "owned=1" in page.locator("main").inner_text()
    assert problems == []


def test_a_million_steps_stay_small_and_keep_their_spikes(tmp_path, open_page, problems):
    times = [100 + step % 3 for step in range(1_000_000)]
    times[654_321] = 9000
    lines = [f"iter {step}: loss 3.0000, time {took}.00ms" for step, took in enumerate(times)]
    report = explain(run_of(lines), flags={"max_steps": 2_000_000})
    address = saved(tmp_path, report)
    assert (tmp_path / "report-en.html").stat().st_size < 1_500_000
    page = open_page(address)
    assert 654_321 in json.loads(page.locator("#data").inner_text())["strip"]["step"]
    assert problems == []


def test_no_number_on_the_page_is_made_up_there():
    """The verdict, the end and the table are the words of the other reports."""
    report = demo_report()
    text = re.sub(r"<[^>]+>", " ", html.render(report, Language.load("en")))
    for total in report.ledger.phases:
        assert Language.load("en").duration(total.seconds) in text


def test_a_log_without_times_still_makes_a_page(tmp_path, open_page, problems):
    report = explain(run_of(["tokens per iteration will be: 32,768", "compiling the model... (takes a ~minute)"]))
    page = open_page(saved(tmp_path, report))
    assert page.locator("h2").count() >= 2
    assert problems == []
