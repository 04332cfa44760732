"""Show all runs of a folder in the browser, each live.

    stepscope serve runs/
    stepscope serve train.log --port 8000
    STEPSCOPE_TOKEN="$(openssl rand -hex 16)" stepscope serve runs/ --host 0.0.0.0

Open the address it prints: it carries a token. Only this machine can ask unless --host says otherwise; only files below
the path are read. The token is taken from --token, --token-file or the variable STEPSCOPE_TOKEN; other users of the
machine can see the first of these. Behind a proxy or a tunnel, --allow-host states the name in the browser's address
bar. Needs the extra `web`.
"""

from __future__ import annotations

import argparse
import os
import secrets
import socket
import sys
from pathlib import Path
from urllib.parse import quote

from stepscope.cli import _answer, _flags
from stepscope.core.errors import InputError, UsageError

_TOKEN_VARIABLE = "STEPSCOPE_TOKEN"
_MOST_TOKEN_BYTES = 4096


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to serve, and where."""
    parser.add_argument(
        "path", nargs="?", default=".", metavar="PATH", help="Folder of logs, or one log (default: the current folder)"
    )
    parser.add_argument(
        "--port",
        type=_flags.whole_number("--port", "bad-port", least=0, below=65536),
        default=0,
        metavar="N",
        help="Port to listen on (default: a free one)",
    )
    parser.add_argument("--host", default="127.0.0.1", metavar="H", help="Address to listen on (default: 127.0.0.1)")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME[:PORT]",
        help="Another host name or address that the page is opened under (several times for several)",
    )
    parser.add_argument(
        "--token", metavar="T", help="Token of the page's address (default: a random one; needed beyond loopback)"
    )
    parser.add_argument("--token-file", metavar="FILE", help="File that holds the token, instead of --token")
    _flags.add_language_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    language = _answer.chosen_languages(args)[0]
    root = Path(args.path)
    if not root.exists():
        raise InputError("no-such-file", place=args.path, nearby="none")
    stated = _stated_token(args)
    try:
        from stepscope.web import hosts
        from stepscope.web.app import make_app
        from stepscope.web.connections import make_server
    except ImportError:
        raise UsageError("needs-extra", place="stepscope serve", extra="web") from None
    if not hosts.is_loopback(args.host) and stated is None:
        raise UsageError("serve-needs-token", place=f"--host {args.host}")
    for name in args.allow_host:
        if not hosts.is_host(name):
            raise UsageError("bad-allow-host", place=f"--allow-host {name}")
    token = stated or secrets.token_urlsafe(24)
    listener = _listen(args.host, args.port)
    port = listener.getsockname()[1]
    print(f"http://{hosts.shown_host(args.host)}:{port}/?token={quote(token, safe='')}", flush=True)
    print(language.text("serve-hint"), file=sys.stderr)
    app = make_app(root, token=token, hosts=hosts.hosts_for(args.host, port, args.allow_host), language=language)
    make_server(app).run(sockets=[listener])
    return 0


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)  # before the address is printed, so that a browser opened at once waits instead of failing
    except (OSError, UnicodeError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError("cannot-listen", place=f"{host}:{port}", reason=reason) from None
    return listener


def _stated_token(args: argparse.Namespace) -> str | None:
    """The token that the user chose, by whichever way; None where a random one will do."""
    if args.token is not None:
        place, token = "--token", args.token
    elif args.token_file is not None:
        place, token = args.token_file, _read_token(args.token_file)
    elif _TOKEN_VARIABLE in os.environ:
        place, token = _TOKEN_VARIABLE, os.environ[_TOKEN_VARIABLE]
    else:
        return None
    if not token or not token.isprintable() or " " in token:
        raise UsageError("bad-token", place=place)
    return str(token)


def _read_token(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return file.read(_MOST_TOKEN_BYTES).decode("utf-8", errors="replace").strip()
    except OSError as problem:
        raise InputError("unreadable", place=path, reason=problem.strerror or str(problem)) from None
