"""A real server in this process, asked over raw sockets by clients that never finish."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time

import httpx
import pytest

from stepscope.i18n import Language
from stepscope.web import app as web_app
from stepscope.web import connections
from stepscope.web.connections import TimedProtocol, make_server
from stepscope.web.hosts import hosts_for
from tests.unit.logs import training

PATIENCE_S = 20  # far more than any limit set here: the test fails, the machine may be slow
HEAD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@contextlib.contextmanager
def listening(app=None, folder=None):
    """The port of a server for an application, or for the logs of a folder."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        if app is None:
            hosts = hosts_for("127.0.0.1", port, [])
            app = web_app.make_app(folder, token="t", hosts=hosts, language=Language.load("en"))
        server = make_server(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield port
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def shelf(tmp_path):
    (tmp_path / "a.log").write_text("\n".join(training(100, every=10)) + "\n")
    return tmp_path


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)


def is_closed(client):
    """Whether the other side hangs up within the time that a test waits."""
    try:
        while client.recv(1 << 16):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize("begun", [b"", b"GET", HEAD, b"POST /explain HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "])
def test_a_request_that_does_not_come_is_ended(shelf, monkeypatch, begun):
    monkeypatch.setattr(connections, "HEADERS_S", 0.2)
    with listening(folder=shelf) as port, connect(port) as client:
        client.sendall(begun)
        assert is_closed(client)


def test_bytes_now_and_then_do_not_buy_time(shelf, monkeypatch):
    monkeypatch.setattr(connections, "HEADERS_S", 0.3)
    with listening(folder=shelf) as port, connect(port) as client:
        client.sendall(HEAD + b"X-Slow: ")
        begin = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - begin < PATIENCE_S:
                client.sendall(b"a")
                time.sleep(0.05)
        assert time.monotonic() - begin < PATIENCE_S


@pytest.mark.parametrize("token", [b"t", b"wrong"])
def test_a_body_that_does_not_come_is_ended(shelf, monkeypatch, token):
    """Also where the request was refused already, and the rest of it is waited for."""
    monkeypatch.setattr(connections, "BODY_S", 0.3)
    with listening(folder=shelf) as port, connect(port) as client:
        host = f"Host: 127.0.0.1:{port}".encode()
        lines = [b"POST /explain HTTP/1.1", host, b"Authorization: Bearer " + token, b"Content-Length: 999", b"", b"x"]
        client.sendall(b"\r\n".join(lines))
        assert is_closed(client)


def test_an_answer_that_is_not_read_is_ended(monkeypatch):
    monkeypatch.setattr(connections, "READING_S", 0.3)
    ended = threading.Event()

    async def endless(_scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(1000):
            await send({"type": "http.response.body", "body": b"x" * (1 << 20), "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
        ended.set()

    with listening(endless) as port, connect(port) as client:
        client.sendall(HEAD + b"\r\n")
        assert ended.wait(PATIENCE_S)


def test_many_half_open_connections_lock_nobody_out(shelf, monkeypatch):
    """The oldest of them make way; those that listen for changes stay."""
    monkeypatch.setattr(TimedProtocol, "_most", 8)
    monkeypatch.setattr(connections, "HEADERS_S", 600.0)
    with listening(folder=shelf) as port, contextlib.ExitStack() as stack:
        page = {"base_url": f"http://127.0.0.1:{port}", "headers": {"authorization": "Bearer t"}}
        client = stack.enter_context(httpx.Client(**page, timeout=PATIENCE_S))
        events = stack.enter_context(client.stream("GET", "/events", params={"path": "a.log"}))
        lines = events.iter_lines()
        assert next(lines) == ": listening"
        waiting = []
        for _ in range(40):
            waiting.append(stack.enter_context(connect(port)))
            waiting[-1].sendall(b"GET / HTTP/1.1\r\nX: ")
        assert httpx.get(page["base_url"] + "/run.json?path=a.log", headers=page["headers"]).status_code == 200
        begin, closed = time.monotonic(), []
        while len(closed) < 33 and time.monotonic() - begin < PATIENCE_S:
            closed, _, _ = select.select(waiting, [], [], 0.1)
        assert len(closed) >= 33
        with (shelf / "a.log").open("a") as log:
            log.write("iter 110: loss 3.0, time 100.00ms\n")
        assert "data: changed" in (next(lines), next(lines))


def test_a_page_that_listens_is_not_cut_off(shelf, monkeypatch):
    """However short the limits for requests are: its own has come."""
    for name in ("HEADERS_S", "BODY_S"):
        monkeypatch.setattr(connections, name, 0.3)
    monkeypatch.setattr(web_app, "_LOOK_S", 0.05)
    with listening(folder=shelf) as port:
        url, headers = f"http://127.0.0.1:{port}", {"authorization": "Bearer t"}
        with httpx.stream("GET", f"{url}/events?path=a.log", headers=headers, timeout=PATIENCE_S) as events:
            lines = events.iter_lines()
            assert next(lines) == ": listening"
            time.sleep(0.8)
            (shelf / "a.log").write_text("changed\n")
            assert "data: changed" in (next(lines), next(lines))


def test_one_connection_serves_several_requests(shelf):
    with listening(folder=shelf) as port, connect(port) as client:
        for _ in range(3):
            host = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer t\r\n\r\n"
            client.sendall(b"GET /none HTTP/1.1\r\n" + host.encode())
            answer = b""
            while not answer.endswith(b"Not Found"):
                answer += client.recv(1 << 16)
            assert answer.startswith(b"HTTP/1.1 404")


def test_there_are_never_more_connections_than_files(monkeypatch):
    resource = pytest.importorskip("resource")
    for files, most in {(128, 24), (1024, 400), (resource.RLIM_INFINITY, 400), (20, 8)}:
        monkeypatch.setattr(resource, "getrlimit", lambda _, files=files: (files, files))
        assert connections.most_connections() == most
        backlog = make_server(lambda *_: None).config.backlog
        assert backlog <= 128
        assert most + backlog < max(files, 64) or files < 0  # a burst is accepted before any of it is counted
