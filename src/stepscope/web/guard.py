"""Who may ask: only a browser that was given the token, for a page of ours.

- a random token in the address that is printed, once; from then on a cookie that is derived from it, and not the token;
- the Host must be one that we serve (else another site could point its name at us), and the Origin the same;
- every answer forbids frames, other sites' scripts and guessing of types.

Browsers send cookies to every port of a machine, so that any program on it could collect ours, and use it. Therefore it
is for one path only, which nobody can guess: pages are below it, and links between them are relative.
"""

from __future__ import annotations

import hashlib
import hmac

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepscope.web.hosts import Hosts

_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class Guard:
    """Checks every request before the application sees it."""

    def __init__(self, app: ASGIApp, *, token: str, hosts: Hosts) -> None:
        self._app = app
        self._token = token
        self._hosts = hosts
        self._cookie = _derived(token, "cookie")
        self._folder = f"/{_derived(token, 'path')[:24]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a permitted request on, refuse any other."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(Request(scope))

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        if refusal is None and self._is_inside(scope["path"]):
            scope = {**scope, "path": scope["path"].removeprefix(self._folder)}
        await (refusal or self._app)(scope, receive, with_headers)

    def _refusal(self, request: Request) -> Response | None:
        host = request.headers.get("host", "")
        if not self._hosts.accept(host):
            return PlainTextResponse(
                "this address is not served here (stepscope serve --allow-host adds one)\n", status_code=421
            )
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            return PlainTextResponse("requests from other sites are refused\n", status_code=403)
        path, given = request.url.path, request.query_params.get("token")
        is_inside = self._is_inside(path)
        if given is not None and _is_same(given, self._token):
            # From here on the cookie counts; the token leaves the address bar and the history.
            query = request.url.remove_query_params("token").query
            address = (path if is_inside else self._folder + path) + (f"?{query}" if query else "")
            response = RedirectResponse(address, status_code=303)
            response.set_cookie(
                _cookie_name(host), self._cookie, httponly=True, samesite="strict", path=f"{self._folder}/"
            )
            return response
        if is_inside and _is_same(request.cookies.get(_cookie_name(host), ""), self._cookie):
            return None
        if _is_same(_bearer(request), self._token):
            return None  # a program, such as a scraper of /metrics
        return PlainTextResponse(
            "open the address that stepscope serve printed: it carries the token\n", status_code=401
        )

    def _is_inside(self, path: str) -> bool:
        return path.startswith(f"{self._folder}/")


def _cookie_name(host: str) -> str:
    """By the port as the browser sees it: two servers behind one name have a cookie each."""
    return f"stepscope-{host.rpartition(':')[2] if host[-1:].isdigit() and ':' in host else 'web'}"


def _derived(token: str, purpose: str) -> str:
    """A secret that follows from the token and does not give it away."""
    return hmac.new(_bytes(token), purpose.encode(), hashlib.sha256).hexdigest()


def _is_same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(_bytes(given), _bytes(wanted))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", errors="surrogatepass")


def _bearer(request: Request) -> str:
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    return value if kind.lower() == "bearer" else ""
