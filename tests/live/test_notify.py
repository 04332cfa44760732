"""Alarms that are sent: for real through Apprise to a server of our own, and to addresses that fail or never answer."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from stepscope.live.notify import Notifier
from tests.unit.logs import training


@pytest.fixture
def webhook():
    """A server that keeps what is posted to it."""
    posted: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing on the tests' own output."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield posted, server.server_port
    server.shutdown()
    server.server_close()


def watched(path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stepscope", "watch", str(path), "--plain", "--interval", "0.2", *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_alarms_reach_a_webhook(tmp_path, webhook):
    posted, port = webhook
    log = tmp_path / "train.log"
    crash = ["Traceback (most recent call last):", '  File "train.py", line 3, in <module>', "RuntimeError: boom"]
    log.write_text("\n".join([*training(300, every=10), *crash]) + "\n")
    done = watched(log, "--notify", f"json://127.0.0.1:{port}/alarm")
    assert done.returncode == 4, done.stderr
    assert [one["title"] for one in posted] == ["stepscope: crash"]  # one death, one message
    assert any("boom" in one["message"] for one in posted)
    assert "could not be sent" not in done.stderr


def test_a_finished_run_is_told(tmp_path, webhook):
    posted, port = webhook
    log = tmp_path / "train.log"
    log.write_text("\n".join(training(1000, every=10)) + "\n")
    done = watched(log, "--max-steps", "1000", "--notify", f"json://127.0.0.1:{port}/")
    assert done.returncode == 0
    assert [one["title"] for one in posted] == ["stepscope: finished"]


def test_an_address_that_refuses_disturbs_nothing_and_is_said(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("\n".join(training(1000, every=10)) + "\n")
    done = watched(log, "--max-steps", "1000", "--notify", "json://127.0.0.1:9/")
    assert done.returncode == 0
    assert "could not be sent" in done.stderr


def test_an_address_that_never_answers_holds_nothing_up():
    release = threading.Event()

    def send(_title: str, _body: str) -> bool:
        release.wait(60)
        return True

    notifier = Notifier(send)
    for number in range(300):
        notifier.tell("title", str(number))
    assert notifier.num_failed >= 190  # no more than a hundred wait
    notifier.close(0.05)
    assert notifier.num_failed == 300
    release.set()


def test_a_plugin_that_raises_counts_as_failed():
    notifier = Notifier(lambda *_: 1 / 0)
    notifier.tell("title", "body")
    notifier.close(10)
    assert notifier.num_failed == 1


def test_what_is_sent_arrives_in_order():
    arrived: list[str] = []

    def send(_title: str, body: str) -> bool:
        time.sleep(0.001)
        arrived.append(body)
        return True

    notifier = Notifier(send)
    for number in range(20):
        notifier.tell("title", str(number))
    notifier.close(10)
    assert arrived == [str(number) for number in range(20)]
    assert notifier.num_failed == 0
