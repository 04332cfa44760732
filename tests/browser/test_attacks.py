"""Attacks on the app, through a real server: file names, requests, cookies, other sites, other programs' ports."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.browser.server import enter, serving
from tests.unit.logs import training

LOG = "\n".join(training(60, every=10, evaluate=20)) + "\n"


def own_log(number):
    """A log that is no copy of another: copies are one run."""
    return "\n".join(training(60, every=10, evaluate=20, step_ms=100.0 + number)) + "\n"


NAMES = [
    b"good.log",
    b"caf\xe9.log",
    b"new\nline.log",
    "turned \u202egol.exe.log".encode(),
    "tags \U000e0041\U000e0042.log".encode(),
    b"\x1b[31m\x07\x9b.log",
    b"<img src=x onerror=window.owned=1>.log",
    b'"><script>window.owned=1<!-- .log',
    b"' onclick=window.owned=1 x='.log",
    b"%2e%2e%2f &path=x#y?z=1+1.log",
    b"${7*7} {{7*7}} $(id).log",
    b"-rf --config=x.log",
    b"x" * 250 + b".log",
    b"javascript:window.owned=1.log",
]
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for number, name in enumerate(NAMES):
        path = os.fsencode(folder) + b"/" + name
        with open(path, "w") as file:  # noqa: PTH123 (a name of bytes)
            file.write(
                own_log(number) + f"Traceback (most recent call last):\nRuntimeError: {number} <b onclick=x>\u202e\n"
            )
    (folder.parent / "outside.log").write_text(LOG)
    return folder


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    return tmp_path_factory.mktemp("said") / "errors.txt"


@pytest.fixture(scope="module")
def address(shelf, errors):
    with serving(shelf, errors=errors) as found:
        yield found
    # After all that is asked here: nothing but the hint of the start.
    assert errors.read_text() == "Press Ctrl-C to stop. The link contains your access token.\n"


@pytest.fixture
def client(address):
    with enter(address) as found:
        yield found


def rows(client):
    """All rows of the list, once everything is read."""
    while True:
        answer = client.get("/rows")
        found = answer.json()
        progress = found["progress"]
        if progress["is_searched"] and progress["num_read"] == progress["num_found"]:
            return found["rows"], answer.text
        time.sleep(0.05)


def test_every_name_is_listed_and_opened(client, shelf):
    """And found again by whoever reads the document, though no page or document has a hidden character as it is."""
    found, text = rows(client)
    assert not HIDDEN.search(client.get("/").text + text)
    assert not any(HIDDEN.search(row["name"]) for row in found)
    keys = [row["key"] for row in found]
    assert len(set(keys)) == len(NAMES)
    paths = set()
    for key in keys:
        for route in ("/run", "/fragment", "/run.json"):
            answer = client.get(route, params={"path": key})
            assert answer.status_code == 200, (route, key)
            assert not HIDDEN.search(answer.text), (route, key)
        paths.add(os.fsencode(json.loads(answer.text)["source"]["paths"][0]))
    assert paths == {os.fsencode(shelf) + b"/" + name for name in NAMES}
    for one, other in itertools.pairwise(keys):
        assert client.get("/compare", params={"path": [one, other]}).status_code == 200


def test_every_name_is_in_the_metrics(client):
    families = text_string_to_metric_families(client.get("/metrics").text)
    runs = {one.labels["run"] for family in families for one in family.samples if "run" in one.labels}
    assert len(runs) == len(NAMES)
    assert {"caf⟨E9⟩.log", "turned ⟨U+202E⟩gol.exe.log", "new\nline.log"} <= runs


def test_names_run_nothing_in_a_browser(address, open_page, problems):
    """The list, a page of each, and a comparison of those that a form would change on its way."""
    page = open_page(address, offline=False)
    first = page.url
    page.locator("#count", has_text=f"{len(NAMES)} of {len(NAMES)} runs").wait_for()
    links = page.locator("#rows a").evaluate_all("all => all.map((one) => one.href)")
    assert len(links) == len(NAMES)
    odd = [link for link in links if re.search("onerror|script|onclick|%25E9|%250A", link)]
    assert len(odd) >= 5
    for link in odd:
        page.goto(link)
        page.wait_for_selector("#strip canvas")
        assert page.evaluate("window.owned") is None
    page.goto(first)
    page.locator("#count", has_text=f"{len(NAMES)} of {len(NAMES)} runs").wait_for()
    for box in page.locator("#rows input[type=checkbox]").all():
        if re.search("%E9|%0A", box.get_attribute("value")):
            box.check()
    page.locator("#compare").click()
    assert page.locator(".pair svg").count() == 2
    assert "caf⟨E9⟩.log" in page.locator("main").inner_text()
    assert page.evaluate("window.owned") is None
    assert problems == []


def test_what_is_pasted_or_asked_for_runs_nothing(address, open_page, problems):
    """A pasted log, a pasted text that is none, and the page that says that there is no such file."""
    page = open_page(address, offline=False)
    inside = page.url
    bad = "</script><script>window.owned=1</script><img src=x onerror=window.owned=1>\u202e"
    for text in (f"{LOG}Traceback (most recent call last):\nRuntimeError: {bad}\n", bad * 5):
        page.locator("#new").click()
        page.locator("#text").fill(text)
        page.locator("#paste button[type=submit]").click()
        page.wait_for_selector("#answer h1, #answer .alarm")
        assert page.evaluate("window.owned") is None
        assert page.locator("#answer script:not([type])").count() == 0
        page.goto(inside)
    problems.clear()  # that a text is no log is an answer of the 400s, which the console repeats
    page.goto(f"{inside}run?path={quote(bad)}")
    assert "not below the folder" in page.locator("main").inner_text()
    assert page.evaluate("window.owned") is None
    assert not [problem for problem in problems if "404" not in problem]


TRAVERSALS = [
    "../outside.log",
    "..\\outside.log",
    "./../outside.log",
    "good.log/../../outside.log",
    "....//outside.log",
    "..%2foutside.log",
    "%2e%2e/outside.log",
    "..%252foutside.log",
    "..;/outside.log",
    "/outside.log",
    "/../outside.log",
    "/%2e%2e%2foutside.log",
    "/..%2Foutside.log",
    "//etc/passwd",
    "/etc/passwd",
    "file:///etc/passwd",
    "/proc/self/environ",
    "/dev/zero",
    "/dev/stdin",
    "-",
    ".",
    "..",
    "/",
    "",
    "~/.bashrc",
    "good.log\0",
    "good.log\0/../../outside.log",
    "\udcff",
    "a" * 300,
    "a/" * 3000,
    "/" + "%00" * 10,
    "/" + "a" * 5000,
    "//",
    "\\\\server\\share",
    "\ufeffgood.log",
    "\uff0e\uff0e/outside.log",
]


@pytest.mark.parametrize("route", ["/run", "/run.json", "/fragment", "/events", "/compare"])
def test_no_path_leads_out(client, route):
    for path in TRAVERSALS:
        params = {"path": [path.encode("utf-8", "surrogatepass"), "good.log"]}
        answer = client.get(route, params={**params, "path": params["path"][: 2 if route == "/compare" else 1]})
        assert answer.status_code in {400, 404}, (path, answer.status_code)
        assert "root:" not in answer.text


def send(address, data, *, wait=True):
    """The first line of what a server answers to these bytes; what it says after them is read to the end."""
    parts = urlsplit(address)
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as connection:
        connection.sendall(data)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while b"\r\n" not in answer and (more := connection.recv(1 << 16)):
                answer += more
        return answer.partition(b"\r\n")[0].decode("latin-1") if wait else ""


def requests(host, token):
    """Requests that are none, or that nobody may make."""
    own = f"Host: {host}\r\n".encode()
    bearer = f"Authorization: Bearer {token}\r\n".encode()
    yield b"GET /?token=%C3%A9 HTTP/1.1\r\n" + own + b"\r\n"
    yield b"GET /?token=\xc3\xa9 HTTP/1.1\r\n" + own + b"\r\n"
    yield b"GET /?token=%ED%A0%80 HTTP/1.1\r\n" + own + b"\r\n"
    yield b"GET /?token=%00 HTTP/1.1\r\n" + own + b"\r\n"
    yield b"GET /?token= HTTP/1.1\r\n" + own + b"\r\n"
    for value in (b"Bearer \xc3\xa9", b"Bearer \xe9", b"Bearer", b"Bearer ", b"Basic eDp5", b"\xff\xfe", b"x" * 9000):
        yield b"GET / HTTP/1.1\r\n" + own + b"Authorization: " + value + b"\r\n\r\n"
    for value in (b"stepscope=\xe9", b"stepscope", b"=;;=", b'a="', b"\xff" * 100, b"a=" + b"x" * 9000):
        yield b"GET / HTTP/1.1\r\n" + own + b"Cookie: " + value + b"\r\n\r\n"
    for value in (b"null", b"http://evil.example", b"http://localhost:1", b"", b"\xe9", f"{host}".encode()):
        yield b"POST /explain HTTP/1.1\r\n" + own + bearer + b"Origin: " + value + b"\r\nContent-Length: 0\r\n\r\n"
    for value in (b"evil.example", b"", b"\xe9", b"localhost", b"127.0.0.1:1", b"127.0.0.1.evil.example", b"[::1"):
        yield b"GET / HTTP/1.1\r\nHost: " + value + b"\r\n" + bearer + b"\r\n"
    yield b"GET / HTTP/1.0\r\n" + bearer + b"\r\n"
    yield b"GET / HTTP/1.1\r\n" + bearer + b"\r\n"
    yield b"GET / HTTP/1.1\r\n" + own + b"Host: evil.example\r\n" + bearer + b"\r\n"
    yield b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n" + bearer + b"\r\n"
    yield b"GET /../../etc/passwd HTTP/1.1\r\n" + own + bearer + b"\r\n"
    yield b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + own + bearer + b"\r\n"
    yield b"GET /run/ HTTP/1.1\r\n" + own + bearer + b"\r\n"
    yield b"GET //evil.example/?token=x HTTP/1.1\r\n" + own + b"\r\n"
    yield b"GET /\xff HTTP/1.1\r\n" + own + bearer + b"\r\n"
    yield b"GET /%ff%00 HTTP/1.1\r\n" + own + bearer + b"\r\n"
    yield b"GET /run?path=%ff HTTP/1.1\r\n" + own + bearer + b"\r\n"
    yield b"GET /run?" + b"path=a&" * 5000 + b" HTTP/1.1\r\n" + own + bearer + b"\r\n"
    yield b"DELETE /run?path=good.log HTTP/1.1\r\n" + own + bearer + b"\r\n"
    yield b"PUT /explain HTTP/1.1\r\n" + own + bearer + b"Content-Length: 0\r\n\r\n"
    yield b"CONNECT evil.example:80 HTTP/1.1\r\n" + own + bearer + b"\r\n"
    yield b"GET / HTTP/1.1\r\n" + own + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n"
    yield b"POST /explain HTTP/1.1\r\n" + own + bearer + b"Content-Length: -1\r\n\r\n"
    yield b"POST /explain HTTP/1.1\r\n" + own + bearer + b"Content-Length: 1e9\r\n\r\n"
    yield b"POST /explain HTTP/1.1\r\n" + own + bearer + b"Content-Length: 99999999999999999999\r\n\r\n"
    yield (
        b"POST /explain HTTP/1.1\r\n" + own + bearer + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
    )
    yield b"GET / HTTP/9.9\r\n" + own + b"\r\n"
    yield b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n" + own + b"\r\n"
    yield b"GET / HTTP/1.1\r\n" + own + b"X: " + b"a" * 70_000 + b"\r\n\r\n"
    yield b"GET / HTTP/1.1\r\n" + own + b"X: a\r\n b\x00\r\n\r\n"
    yield b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 200
    yield b"\r\n\r\n\r\n"
    yield b"\0" * 100 + b"\r\n\r\n"
    yield b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def test_requests_that_are_none_are_refused(address, client):
    """By a status of the 400s, or by hanging up; and the server goes on."""
    parts = urlsplit(address)
    token = parse_qs(parts.query)["token"][0]
    for request in requests(parts.netloc, token):
        answer = send(address, request)
        assert re.match(r"HTTP/1\.1 4\d\d ", answer) or not answer, (request[:200], answer)
    assert client.get("/").status_code == 200


def test_names_for_headers_do_no_harm(address, client):
    """A name that ends a header in the middle, in what the address is redirected to."""
    token = address.partition("token=")[2]
    answer = client.get(
        address.partition("?")[0] + f"x%0d%0aSet-Cookie:%20a=b?token={token}&path=%0d%0aX:1", follow_redirects=False
    )
    assert answer.status_code == 303
    assert list(answer.headers.get_list("set-cookie")) == [answer.headers["set-cookie"]]
    assert "x" not in answer.headers
    assert answer.headers["location"].startswith(client.base_url.path)


@contextlib.contextmanager
def other_program(body=b""):
    """Somebody else's server on this machine: what it was sent."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append((self.path, self.headers.get("Cookie")))
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", seen
        finally:
            server.shutdown()
            thread.join()


def test_two_servers_do_not_disturb_each_other_and_no_other_port_gets_a_cookie(address, tmp_path, open_page):
    (tmp_path / "b.log").write_text(LOG)
    with serving(tmp_path) as second, other_program() as (elsewhere, seen):
        page = open_page(address, offline=False)
        one = page.url
        page.goto(second)
        other = page.url
        for url in (one, other, one):
            assert page.goto(url).status == 200
            page.locator("#rows a").first.wait_for()
        for path in ("/", "/run?path=good.log", "/x/"):
            page.goto(elsewhere + path)
        assert {cookie for _, cookie in seen} == {None}
        cookies = page.context.cookies()
        tokens = [parse_qs(urlsplit(found).query)["token"][0] for found in (address, second)]
        assert len(cookies) == 2
        assert len({cookie["name"] for cookie in cookies}) == 2
        assert not any(token in json.dumps(cookies) for token in tokens)
        assert all(cookie["httpOnly"] and cookie["sameSite"] == "Strict" for cookie in cookies)


def test_the_cookie_alone_is_no_token(address, client):
    """Not in the address, not as a bearer, not outside its path: it is good for its pages only."""
    (cookie,) = client.cookies.jar
    base = address.partition("/?")[0]
    assert httpx.get(base, params={"token": cookie.value}).status_code == 401
    assert httpx.get(base, headers={"authorization": f"Bearer {cookie.value}"}).status_code == 401
    assert httpx.get(base, headers={"cookie": f"{cookie.name}={cookie.value}"}).status_code == 401
    assert httpx.get(client.base_url, headers={"cookie": f"{cookie.name}={cookie.value}"}).status_code == 200


def test_another_site_s_page_sees_nothing(address, open_page):
    """Frames, scripts, fetches and forms of a page on another port, by a browser that is let in here."""
    page = open_page(address, offline=False)
    inside = page.url
    attack = f"""<iframe id=f src="{inside}"></iframe><script src="{inside}run.json?path=good.log"></script>
      <script>
      window.got = [];
      Promise.allSettled([fetch("{inside}"), fetch("{inside}run.json?path=good.log", {{credentials: "include"}}),
        fetch("{inside}explain", {{method: "POST", body: "x", credentials: "include"}})])
        .then((all) => {{ window.got = all.map((one) => one.status); window.done = true; }});
      </script>"""
    with other_program(attack.encode()) as (elsewhere, _):
        page.goto(elsewhere)
        page.wait_for_function("window.done")
        assert page.evaluate("window.got") == ["rejected"] * 3
        frame = next(frame for frame in page.frames if frame != page.main_frame)
        assert "good.log" not in frame.content()


@pytest.mark.parametrize("way", ["file", "variable"])
def test_the_token_need_not_be_on_the_command_line(tmp_path, way):
    (tmp_path / "a.log").write_text(LOG)
    secret = "s3cret-of-mine"
    (tmp_path / "token").write_text(secret + "\n")
    arguments = ["--token-file", str(tmp_path / "token")] if way == "file" else []
    variables = {"STEPSCOPE_TOKEN": secret} if way == "variable" else {}
    with serving(tmp_path, *arguments, **variables) as found:
        assert found.endswith(f"token={secret}")
        with enter(found) as client:
            assert client.get("/").status_code == 200
        commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if os.access(path, os.R_OK)]
        assert not any(secret.encode() in command for command in commands)


def test_beyond_loopback_the_printed_address_works(tmp_path):
    """And so do this machine's other names; no name of anybody else's."""
    (tmp_path / "a.log").write_text(LOG)
    with serving(tmp_path, "--host", "0.0.0.0", "--allow-host", "logs.example.com", STEPSCOPE_TOKEN="abc") as found:
        port = urlsplit(found).port
        with enter(found) as client:
            assert client.get("/").status_code == 200
        for host in ("127.0.0.1", "localhost"):
            with enter(f"http://{host}:{port}/?token=abc") as client:
                assert client.get("/run.json", params={"path": "a.log"}).status_code == 200
        for host, status in {
            f"{socket.gethostname()}:{port}": 200,
            "logs.example.com": 200,
            "10.9.8.7:80": 200,
            "evil.example": 421,
        }.items():
            headers = {"host": host, "authorization": "Bearer abc"}
            assert httpx.get(f"http://127.0.0.1:{port}/", headers=headers).status_code == status
