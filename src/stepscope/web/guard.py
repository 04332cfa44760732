"""Who may ask: only a browser on this machine that was given the token, for a page of ours.

- a random token in the address that is printed, in a cookie from then on;
- the Host must be the one we serve (else another site could point its name at us), and so must the Origin;
- every answer forbids frames, other sites' scripts and guessing of types.
"""

from __future__ import annotations

import secrets
from http.cookies import SimpleCookie

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "stepscope"
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class Guard:
    """Checks every request before the application sees it."""

    def __init__(self, app: ASGIApp, *, token: str, hosts: frozenset[str]) -> None:
        self._app = app
        self._token = token
        self._hosts = hosts

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

        await (refusal or self._app)(scope, receive, with_headers)

    def _refusal(self, request: Request) -> Response | None:
        if request.headers.get("host", "") not in self._hosts:
            return PlainTextResponse("this address is not served here\n", status_code=421)
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] not in self._hosts:
            return PlainTextResponse("requests from other sites are refused\n", status_code=403)
        given = request.query_params.get("token")
        if given is not None and secrets.compare_digest(given, self._token):
            # From here on the cookie counts; the token leaves the address bar and the history.
            response = RedirectResponse(str(request.url.remove_query_params("token")), status_code=303)
            response.set_cookie(COOKIE, self._token, httponly=True, samesite="strict", path="/")
            return response
        if secrets.compare_digest(_cookie(request), self._token):
            return None
        if _bearer(request) and secrets.compare_digest(_bearer(request), self._token):
            return None  # a scraper of /metrics
        return PlainTextResponse(
            "open the address that stepscope serve printed: it carries the token\n", status_code=401
        )


def _cookie(request: Request) -> str:
    morsel = SimpleCookie(request.headers.get("cookie", "")).get(COOKIE)
    return morsel.value if morsel else ""


def _bearer(request: Request) -> str:
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    return value if kind.lower() == "bearer" else ""
