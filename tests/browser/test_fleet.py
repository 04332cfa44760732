"""A fleet's page in a real browser, opened from disk with the network off: its filter, and the way to a run's page."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("duckdb")

from stepscope.cli import main
from tests.fleet.logs import nanogpt_log


@pytest.fixture
def address(tmp_path):
    for name in ("alpha", "beta"):
        (tmp_path / "logs" / name).mkdir(parents=True)
        (tmp_path / "logs" / name / "job.out").write_text(nanogpt_log(seed=len(name)))
    store = str(tmp_path / "store")
    assert main(["fleet", "scan", str(tmp_path / "logs"), "--store", store, "--workers", "1"]) == 0
    assert main(["fleet", "report", "--store", store, "--format", "html", "-o", f"{tmp_path}/page/"]) == 0
    return (tmp_path / "page" / "index.html").as_uri()


@pytest.mark.usefixtures("capsys")
def test_the_filter_keeps_the_rows_with_all_words_and_a_row_leads_to_its_run(open_page, address, problems):
    page = open_page(address)
    runs = page.locator("section[data-filter]").last
    assert runs.locator("tr:has(a)").count() == 2
    page.fill("#filter", "BETA job")
    assert runs.locator("tr:has(a):visible").count() == 1
    assert page.locator("details[data-filter][open]").count() > 0
    assert json.loads(page.locator("#report").text_content())["schema"] == "stepscope.fleet/1"
    assert "schema" not in page.locator("main").inner_text()  # the document is in the page, and not shown
    page.fill("#filter", "")
    assert runs.locator("tr:has(a):visible").count() == 2
    runs.locator("a").first.click()
    page.wait_for_selector("text=nanoGPT")
    page.click("a[href='../index.html']")
    page.wait_for_selector("#filter")
    assert problems == []
