"""The web app with a real server and a real browser: list, open, live, paste, compare; and what it must refuse."""

from __future__ import annotations

import contextlib
import gzip
import os
import socket
import subprocess
import sys
from html import unescape
from urllib.parse import urlsplit

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from stepscope.web.app import UPLOAD_S
from tests.browser.server import enter, serving
from tests.unit.logs import training


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    (folder / "a.log").write_text("\n".join(training(300, every=10, evaluate=50)) + "\n")
    (folder / "b.log").write_text("\n".join(training(300, every=10, evaluate=50, step_ms=150.0)) + "\n")
    (folder / "notes.txt").write_text("nothing of the kind\n" * 20)
    (folder.parent / "outside.log").write_text("\n".join(training(100)) + "\n")
    (folder / "link.log").symlink_to(folder.parent / "outside.log")
    return folder


@pytest.fixture(scope="module")
def address(shelf):
    with serving(shelf) as found:
        yield found


@pytest.fixture
def client(address):
    with enter(address) as found:
        yield found


def test_the_token_opens_the_door_and_leaves_the_address(address, open_page, problems):
    page = open_page(address, offline=False)
    assert "token" not in page.url
    page.locator("#count", has_text="2 of 2 runs").wait_for()
    assert sorted(page.locator("#rows a").all_inner_texts()) == ["a.log", "b.log"]
    page.locator("#rows a", has_text="a.log").click()
    page.wait_for_selector("#strip canvas")
    assert problems == []


def test_a_run_is_called_by_its_name_below_the_folder(shelf, client):
    for route in ("/run", "/fragment"):
        text = client.get(route, params={"path": "a.log"}).text
        head = text.partition("<h1>")[2].partition("</h1>")[0]
        assert head == "a.log"
        assert str(shelf) not in head


def test_a_pasted_log_is_answered(address, open_page, problems):
    page = open_page(address, offline=False)
    page.locator("#new").click()
    page.locator("#text").fill("\n".join(training(200, every=10, evaluate=50)) + "\n")
    page.locator("#paste button[type=submit]").click()
    page.wait_for_selector("#answer #strip canvas")
    assert "evaluation" in page.locator("#answer").inner_text()
    assert problems == []


def test_runs_are_compared(address, open_page, problems):
    page = open_page(address, offline=False)
    for name in ("a.log", "b.log"):
        page.locator(f'input[value="{name}"]').check()
    page.locator("#compare").click()
    table = page.get_by_role("region", name="What explains the difference: A → B")
    assert "B − A" in table.inner_text()
    assert page.locator(".pair svg").count() == 2
    page.get_by_role("link", name="per million tokens").click()
    assert "Not every log gives its tokens" in page.locator("main").inner_text()
    assert problems == []


def test_one_run_alone_is_not_compared(client):
    answer = client.get("/compare", params={"path": "a.log"})
    assert answer.status_code == 422
    assert "two rows" in answer.text


def test_an_open_page_follows_its_log(tmp_path, open_page, problems):
    log = tmp_path / "train.log"
    lines = training(600, every=10, evaluate=100)
    log.write_text("\n".join(lines[:20]) + "\n")
    with serving(tmp_path) as address:
        page = open_page(address, offline=False)
        page.locator("#rows a", has_text="train.log").click()
        page.wait_for_selector("#strip canvas")
        before = page.locator(".verdict").inner_text()
        page.locator("#strip").focus()
        page.keyboard.press("+")
        zoomed = page.evaluate("stepscope.view()")
        with log.open("a") as file:
            file.write("\n".join(lines[20:]) + "\n")
        page.wait_for_function(
            "text => document.querySelector('.verdict').innerText !== text", arg=before, timeout=20_000
        )
        assert "600" in page.locator(".verdict").inner_text()
        page.wait_for_selector("#strip canvas")
        assert page.evaluate("stepscope.view()") == pytest.approx(zoomed)  # an update does not take the zoom away
        assert page.evaluate("document.activeElement.id") == "strip"
    assert [problem for problem in problems if "ERR_" not in problem] == []


def test_a_hostile_log_stays_text_in_the_app(tmp_path, open_page, problems):
    bad = "<img src=x onerror=window.owned=1><script>window.owned=1</script>"
    lines = [*training(100, every=10), "Traceback (most recent call last):", f"RuntimeError: {bad}"]
    (tmp_path / "<b>x.log").write_text("\n".join(lines) + "\n")
    with serving(tmp_path) as address:
        page = open_page(address, offline=False)
        page.locator("#rows a").first.click()
        page.wait_for_selector("#strip canvas")
        assert page.evaluate("window.owned") is None
    assert [problem for problem in problems if "ERR_" not in problem] == []


@pytest.mark.parametrize(
    "path", ["../outside.log", "/etc/passwd", "link.log", "a.log/../../outside.log", "a\0.log", "", "."]
)
@pytest.mark.parametrize("route", ["/run", "/run.json", "/fragment", "/events"])
def test_nothing_outside_the_folder_is_read(client, route, path):
    answer = client.get(route, params={"path": path})
    assert answer.status_code == 404
    assert "root:" not in answer.text


def test_without_the_token_nobody_gets_in(address):
    base = address.partition("/?")[0]
    for headers in ({}, {"cookie": "stepscope=wrong"}, {"authorization": "Bearer wrong"}):
        for route in ("/", "/run?path=a.log", "/metrics", "/?token=wrong"):
            answer = httpx.get(base + route, headers=headers)
            assert answer.status_code == 401
            assert "token" in answer.text


def test_another_host_or_origin_is_refused(client):
    """A name that somebody points at us (DNS rebinding), and requests from another site's page."""
    assert client.get("/", headers={"host": "evil.example"}).status_code == 421
    assert client.get("/", headers={"origin": "http://evil.example"}).status_code == 403
    assert client.post("/explain", content=b"x", headers={"origin": "null"}).status_code == 403


def test_every_answer_forbids_frames_and_foreign_scripts(client):
    answer = client.get("/")
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["x-content-type-options"] == "nosniff"
    policy = unescape(answer.text.partition('Content-Security-Policy" content="')[2].partition('"')[0])
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


def test_too_large_an_upload_is_refused(client):
    def endless():
        for _ in range(70):
            yield b"x" * (1 << 20)

    with contextlib.suppress(httpx.WriteError):  # the door may be shut before all of it is said
        assert client.post("/explain", content=endless()).status_code == 413
    assert client.get("/").status_code == 200


def test_a_bomb_is_no_log(client):
    answer = client.post("/explain", content=gzip.compress(b"iter 1: loss 1, time 1.00ms\n" * 3_000_000))
    assert answer.status_code == 422


def test_a_slow_upload_does_not_hold_the_others_up(address, client):
    parts = urlsplit(address)
    token = address.partition("token=")[2]
    with socket.create_connection((parts.hostname, parts.port)) as slow:
        lines = [f"Host: {parts.netloc}", f"Authorization: Bearer {token}", "Content-Length: 1000", "", "x"]
        slow.sendall("\r\n".join(["POST /explain HTTP/1.1", *lines]).encode())
        # Had it to wait for the slow one, the client would give up before the server does.
        assert client.get("/run.json", params={"path": "a.log"}, timeout=UPLOAD_S / 2).status_code == 200


def test_the_document_is_the_report(client):
    document = client.get("/run.json", params={"path": "a.log"}).json()
    assert document["schema"] == "stepscope.report/1"


def test_metrics_are_what_prometheus_reads(client):
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = [sample for family in text_string_to_metric_families(answer.text) for sample in family.samples]
    assert {"run": "a.log", "phase": "evaluation"} in [sample.labels for sample in samples]
    assert all(sample.value >= 0 for sample in samples)


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [
        (["--host", "0.0.0.0"], 2, "serve-needs-token"),
        (["--port", "99999"], 2, "bad-port"),
        (["--allow-host", "http://logs.example.com"], 2, "bad-allow-host"),
        (["--token", ""], 2, "bad-token"),
        (["--token-file", os.devnull], 2, "bad-token"),
        (["--token-file", "none-such-file"], 1, "unreadable"),
        (["none-such-folder"], 1, "no-such-file"),
    ],
)
def test_asked_wrongly(arguments, status, word):
    command = [sys.executable, "-m", "stepscope", "serve", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status
    assert word in done.stderr
