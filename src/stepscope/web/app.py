"""The application: a list of runs, a page for each that keeps itself up to date, pasted logs, comparisons, metrics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from stepscope.analysis.compare import Align, compare
from stepscope.analysis.report import Report
from stepscope.core.errors import StepscopeError, UsageError
from stepscope.i18n import Language
from stepscope.report import html, json
from stepscope.web import metrics, pages
from stepscope.web.guard import Guard
from stepscope.web.hosts import Hosts
from stepscope.web.run_folder import RunFolder, explain_bytes

MOST_UPLOAD_BYTES = 64 << 20
UPLOAD_S = 30.0
_LOOK_S = 1.0
_MOST_COMPARED = 6


def make_app(root: Path, *, token: str, hosts: Hosts, language: Language) -> ASGIApp:
    """The application for the logs below `root`, behind its guard."""
    app = _App(RunFolder(root), language)
    routes = [
        Route("/", app.list),
        Route("/run", app.run),
        Route("/run.json", app.document),
        Route("/fragment", app.fragment),
        Route("/events", app.events),
        Route("/compare", app.compare),
        Route("/explain", app.explain, methods=["POST"]),
        Route("/metrics", app.metrics),
    ]
    inside = Starlette(routes=routes)
    inside.router.redirect_slashes = False  # to an address without the guard's path
    return Guard(inside, token=token, hosts=hosts)


class _App:
    def __init__(self, folder: RunFolder, language: Language) -> None:
        self._folder = folder
        self._language = language

    async def _open(self, request: Request) -> tuple[str, Report]:
        key = request.query_params.get("path", "")
        return self._folder.name(key), await anyio.to_thread.run_sync(self._folder.open, key)

    def _refuse(self, problem: StepscopeError, status: int = 404) -> Response:
        content = pages.error_text(problem, self._language)
        return HTMLResponse(pages.page("Stepscope", content, self._language), status_code=status)

    async def list(self, request: Request) -> Response:
        """All runs."""
        del request
        entries = await anyio.to_thread.run_sync(self._folder.entries)
        return HTMLResponse(pages.list_page(entries, self._language))

    async def run(self, request: Request) -> Response:
        """One run's page."""
        try:
            name, report = await self._open(request)
        except StepscopeError as problem:
            return self._refuse(problem)
        key = request.query_params.get("path", "")
        return HTMLResponse(pages.run_page(key, name, report, self._language))

    async def document(self, request: Request) -> Response:
        """One run as JSON."""
        try:
            _, report = await self._open(request)
        except StepscopeError as problem:
            return PlainTextResponse(str(problem) + "\n", status_code=404)
        return Response(json.render(report, self._language), media_type="application/json")

    async def fragment(self, request: Request) -> Response:
        """The content of a run's page, to replace what the browser shows."""
        try:
            name, report = await self._open(request)
        except StepscopeError as problem:
            return self._refuse(problem)
        return HTMLResponse(html.body(report, self._language, name=name))

    async def events(self, request: Request) -> Response:
        """A line whenever the log has changed, until the browser disconnects."""
        try:
            path = self._folder.path(request.query_params.get("path", ""))
        except StepscopeError as problem:
            return self._refuse(problem)
        return StreamingResponse(_changes(path, request), media_type="text/event-stream")

    async def compare(self, request: Request) -> Response:
        """Two runs or more side by side."""
        keys = request.query_params.getlist("path")[:_MOST_COMPARED]
        try:
            reports = [await anyio.to_thread.run_sync(self._folder.open, key) for key in keys]
        except StepscopeError as problem:
            return self._refuse(problem)
        comparable = [report for report in reports if report.ledger.step is not None and report.ledger.wall_s]
        if len(comparable) < 2:
            return self._refuse(UsageError("compare-needs-two"), 422)
        align: Align = "tokens" if request.query_params.get("align") == "tokens" else "step"
        found = await anyio.to_thread.run_sync(lambda: compare(comparable, align=align))
        return HTMLResponse(pages.comparison_page(found, keys, align, self._language))

    async def explain(self, request: Request) -> Response:
        """A pasted or dropped log: read in memory, answered, forgotten."""
        try:
            async with asyncio.timeout(UPLOAD_S):
                data = await _bounded_body(request)
        except TimeoutError:
            return PlainTextResponse("the upload took too long\n", status_code=408)
        except ClientDisconnect:
            return PlainTextResponse("the upload broke off\n", status_code=400)  # for nobody
        if data is None:
            return PlainTextResponse(f"more than {MOST_UPLOAD_BYTES >> 20} MB\n", status_code=413)
        try:
            report = await anyio.to_thread.run_sync(explain_bytes, data)
        except StepscopeError as problem:
            return HTMLResponse(pages.error_text(problem, self._language), status_code=422)
        return HTMLResponse(html.body(report, self._language))

    async def metrics(self, request: Request) -> Response:
        """For Prometheus."""
        del request
        entries = await anyio.to_thread.run_sync(self._folder.entries)
        return PlainTextResponse(metrics.render(entries), media_type="text/plain; version=0.0.4")


async def _bounded_body(request: Request) -> bytes | None:
    """The body, or None as soon as it is too large."""
    stated = request.headers.get("content-length", "0")
    if not stated.isdigit() or int(stated) > MOST_UPLOAD_BYTES:
        return None
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > MOST_UPLOAD_BYTES:
            return None
        pieces.append(piece)
    return b"".join(pieces)


async def _changes(path: Path, request: Request) -> AsyncIterator[str]:
    def look() -> tuple[int, int] | None:
        try:
            status = path.stat()
        except OSError:
            return None  # gone
        return status.st_size, status.st_mtime_ns

    seen = look()
    yield ": listening\n\n"
    while seen is not None and not await request.is_disconnected():
        await asyncio.sleep(_LOOK_S)
        before, seen = seen, look()
        if seen not in (before, None):
            yield "data: changed\n\n"
