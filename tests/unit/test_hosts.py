"""Which requests are for us: names that another site could point here are refused, everything a user types works."""

from __future__ import annotations

import socket

import pytest

from stepscope.web.hosts import hosts_for, is_host, is_loopback, shown_host

OWN = socket.gethostname()
REFUSED = [
    "",
    "evil.example",
    "evil.example:8000",
    "127.0.0.1.evil.example:8000",
    "localhost:8001",
    "localhost",
    "localhost:8000@evil.example",
    "localhost:8000.evil.example",
    "evil.example#localhost:8000",
    "localhost:8000,evil.example",
    "localhost:8000 ",
    "[::1]:8000:8000",
    "127.0.0.1:08000",
    "é.example",
    "localhost.:8000",
]


@pytest.mark.parametrize("host", REFUSED)
def test_a_stranger_is_refused_on_loopback(host):
    assert not hosts_for("127.0.0.1", 8000, []).accept(host)


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000", "LOCALHOST:8000"])
@pytest.mark.parametrize("listening", ["127.0.0.1", "localhost", "::1", "0.0.0.0", "::"])
def test_this_machine_is_always_served(listening, host):
    assert hosts_for(listening, 8000, []).accept(host)


@pytest.mark.parametrize("listening", ["0.0.0.0", "::"])
def test_listening_everywhere_every_address_and_the_own_name_are_served(listening):
    hosts = hosts_for(listening, 8000, [])
    for host in ("10.1.2.3:8000", "192.168.0.7:9000", "[2001:db8::7]:8000", f"{OWN}:8000"):
        assert hosts.accept(host)
    for host in ("evil.example:8000", "10.1.2.3.evil.example:8000", "[::1", "10.1.2.3:8000:1", "10.1.2.300:8000"):
        assert not hosts.accept(host)


def test_one_address_is_served_under_itself():
    hosts = hosts_for("10.1.2.3", 8000, [])
    assert hosts.accept("10.1.2.3:8000")
    assert not hosts.accept("10.1.2.4:8000")
    assert not hosts.accept("localhost:8000")


def test_a_proxy_s_name_is_allowed():
    hosts = hosts_for("127.0.0.1", 8000, ["Logs.example.com", "localhost:9000"])
    for host in ("logs.example.com", "logs.example.com:443", "localhost:9000", "localhost:8000"):
        assert hosts.accept(host)
    for host in ("localhost:9001", "x.logs.example.com", "logs.example.com.evil.example"):
        assert not hosts.accept(host)


def test_what_can_be_allowed():
    assert all(is_host(text) for text in ("a", "a.b:1", "[::1]", "[::1]:80", "10.0.0.1", "my_host-1"))
    assert not any(is_host(text) for text in ("", "http://a", "a/b", "a b", "*", "a:b", ".a", "a."))


def test_only_loopback_is_loopback():
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.0.0.2", "::1", "localhost"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "", "localhost.evil.example"))


@pytest.mark.parametrize("listening", ["0.0.0.0", "::", "127.0.0.1", "::1", "localhost"])
def test_the_address_that_is_printed_is_served(listening):
    shown = shown_host(listening)
    assert shown not in {"0.0.0.0", "[::]", "::"}
    assert hosts_for(listening, 8000, []).accept(f"{shown}:8000")
