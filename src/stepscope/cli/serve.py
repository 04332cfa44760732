"""The same as a web page on this machine: all runs of a folder, each live; paste a log; compare

    stepscope serve runs/
    stepscope serve train.log --port 8000

Open the address it prints: it carries a token. Only this machine can ask unless --host says otherwise; only files below
the path are read. Needs the extra `web`.
"""

from __future__ import annotations

import argparse
import secrets
import socket
import sys
from pathlib import Path

from stepscope.cli import _answer, _flags
from stepscope.core.errors import InputError, UsageError

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


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
        "--token", metavar="T", help="Token of the page's address (default: a random one; needed beyond loopback)"
    )
    _flags.add_language_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    language = _answer.chosen_languages(args)[0]
    root = Path(args.path)
    if not root.exists():
        raise InputError("no-such-file", place=args.path, nearby="none")
    if args.host not in _LOOPBACK and not args.token:
        raise UsageError("serve-needs-token", place=f"--host {args.host}")
    try:
        import uvicorn

        from stepscope.web.app import make_app
    except ImportError:
        raise UsageError("needs-extra", place="stepscope serve", extra="web") from None
    token = args.token or secrets.token_urlsafe(24)
    family = socket.AF_INET6 if ":" in args.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((args.host, args.port))
        listener.listen(128)  # before the address is printed, so that a browser opened at once waits instead of failing
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise InputError("cannot-listen", place=f"{args.host}:{args.port}", reason=reason) from None
    port = listener.getsockname()[1]
    shown = f"[{args.host}]" if ":" in args.host else args.host
    names = {shown, "127.0.0.1", "localhost", "[::1]"} if args.host in _LOOPBACK else {shown}
    hosts = frozenset(f"{name}:{port}" for name in names)
    print(f"http://{shown}:{port}/?token={token}", flush=True)
    print(language.text("serve-hint"), file=sys.stderr)
    app = make_app(root, token=token, hosts=hosts, language=language)
    config = uvicorn.Config(
        app,
        log_level="warning",
        lifespan="off",
        server_header=False,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=1,  # pages that listen for changes never hang up by themselves
    )
    uvicorn.Server(config).run(sockets=[listener])
    return 0
