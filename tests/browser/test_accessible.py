"""Contrast, labels, roles and order, as axe-core sees them: the page and the app, light and dark, wide and narrow."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe

from stepscope.analysis.compare import compare
from stepscope.analysis.explain import explain
from stepscope.i18n import Language
from stepscope.report import comparison_html, html
from tests.browser.server import serving
from tests.unit.logs import report_of, run_of, training

SCHEMES = ("light", "dark")
SIZES = {"wide": {"width": 1100, "height": 900}, "phone": {"width": 360, "height": 740}}


def complaints(page):
    """What axe-core finds against WCAG 2.2 AA and its own best practices, in a line each."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [f"{one['id']}: {node['html'][:160]} {node['failureSummary']}" for one in found for node in one["nodes"]]


def rich_report():
    """A report with everything in it: alarms, levels, slow steps, backtests, advice, sliders, unread lines."""
    lines = training(1000, every=10, evaluate=100, save_ms=300.0, compile_ms=4000.0)
    lines += training(2000, first=1001, every=10, evaluate=100, step_ms=160.0, save_ms=300.0)
    lines += ["some words that nobody knows", "Traceback (most recent call last):", "RuntimeError: CUDA out of memory."]
    flags = {"max_steps": 5000, "eval_iters": 200, "batch_size": 12, "block_size": 1024}
    return explain(run_of(lines), flags=flags)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_page(tmp_path, open_page, scheme, size):
    path = tmp_path / "report.html"
    path.write_text(html.render(rich_report(), Language.load("en")), encoding="utf-8")
    page = open_page(path.as_uri(), color_scheme=scheme, viewport=SIZES[size], bypass_csp=True)
    page.wait_for_selector("#strip canvas")
    page.locator("#strip").press("n")
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    assert complaints(page) == []
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = false))")
    for tab in page.get_by_role("tab").all()[1:]:
        tab.click()
        assert complaints(page) == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_comparison(tmp_path, open_page, scheme):
    reports = [report_of(training(300, every=10, evaluate=50, step_ms=took)) for took in (100.0, 150.0)]
    path = tmp_path / "compare.html"
    path.write_text(comparison_html.render(compare(reports), Language.load("de")), encoding="utf-8")
    assert complaints(open_page(path.as_uri(), color_scheme=scheme, bypass_csp=True)) == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_app(tmp_path, open_page, scheme):
    for name, took in (("a.log", 100.0), ("b.log", 150.0)):
        (tmp_path / name).write_text("\n".join(training(300, every=10, evaluate=50, step_ms=took)) + "\n")
    with serving(tmp_path) as address:
        page = open_page(address, offline=False, color_scheme=scheme, bypass_csp=True)
        page.locator("#count", has_text="2 of 2 runs").wait_for()
        for name in ("a.log", "b.log"):
            page.locator(f'input[value="{name}"]').check()
        assert complaints(page) == []
        page.locator("#new").click()
        assert complaints(page) == []
        page.locator("#text").fill("no log at all")
        page.locator("#paste button[type=submit]").click()
        page.wait_for_selector("#answer .alarm")
        assert complaints(page) == []
        page.locator("#compare").click()
        page.wait_for_selector("#overlay canvas")
        assert complaints(page) == []
        page.go_back()
        page.locator("#rows a", has_text="a.log").click()
        page.wait_for_selector("#strip canvas")
        assert complaints(page) == []


def test_axe_is_awake(tmp_path, open_page):
    """A page with faint words and a nameless field is complained about."""
    path = tmp_path / "bad.html"
    path.write_text('<html><body><p style="color:#ccc;background:#fff">faint</p><input></body></html>')
    found = complaints(open_page(path.as_uri()))
    assert any(one.startswith("color-contrast") for one in found)
    assert any(one.startswith("label") for one in found)
