"""Under which names and addresses the app answers, and the one to print.

Another site can point a name of its own at this machine, and a browser then takes us for that site (DNS rebinding). It
cannot do that with a name that is ours, nor with an address.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import NamedTuple

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?)(?::(?P<port>\d{1,5}))?", re.ASCII)
# Addresses for documentation: nobody has them, and nothing is sent there.
_NOBODY = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))


class Hosts(NamedTuple):
    """What the Host of a request may be: `names` are exact, with their port; `any_port` are names with any port."""

    names: frozenset[str]
    any_port: frozenset[str] = frozenset()
    any_address: bool = False

    def accept(self, host: str) -> bool:
        """Whether a request for this host is for us."""
        host = host.lower()
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = found["name"]
        return host in self.names or name in self.any_port or (self.any_address and _is_address(name))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address to listen on."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def hosts_for(host: str, port: int, allowed: list[str]) -> Hosts:
    """What is accepted when listening on `host`, plus what the user allows: `name` or `name:port`.

    Listening on all addresses of the machine, any address will do: it may be reached through ones that it does not know
    (a container's).
    """
    names, is_everywhere = [in_address(host).lower()], _is_everywhere(host)
    if is_loopback(host) or is_everywhere:
        names += _LOOPBACK
    if is_everywhere:
        own = socket.gethostname().lower()
        names += [own, f"{own.partition('.')[0]}.local"]
    stated = [name.lower() for name in allowed]
    has_port = [name for name in stated if re.search(r":\d+\Z", name)]
    return Hosts(
        frozenset([*(f"{name}:{port}" for name in names), *has_port]),
        frozenset(stated) - frozenset(has_port),
        is_everywhere,
    )


def is_host(text: str) -> bool:
    """Whether a text is a name or an address as in an address bar, with or without a port."""
    return _HOST.fullmatch(text.lower()) is not None


def shown_host(host: str) -> str:
    """The host of the address to print: one that works in a browser on another machine, too."""
    if not _is_everywhere(host):
        return in_address(host)
    for family, nobody in _NOBODY:
        if family is socket.AF_INET or ":" in host:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                try:
                    probe.connect((nobody, 9))
                    return in_address(probe.getsockname()[0])
                except OSError:
                    continue  # no network of that kind
    return "127.0.0.1"


def in_address(host: str) -> str:
    """A host as an address bar has it: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def _is_everywhere(host: str) -> bool:
    return not host or (_is_address(host) and ipaddress.ip_address(host).is_unspecified)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
