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
from stepscope.analysis.run_figures import run_figures
from stepscope.core.errors import StepscopeError, UsageError
from stepscope.core.unseen import to_json
from stepscope.i18n import Language
from stepscope.report import json
from stepscope.web import metrics, pages, rows
from stepscope.web.facts import Facts
from stepscope.web.guard import Guard
from stepscope.web.hosts import Hosts
from stepscope.web.run_folder import RunFolder, explain_bytes
from stepscope.web.run_list import RunList
from stepscope.web.summary_store import SummaryStore, cache_folder

MOST_UPLOAD_BYTES = 64 << 20
UPLOAD_S = 30.0
_LOOK_S = 1.0
# A list that is asked for before the folder was searched waits so long for its first rows.
_SEARCHED_S = 0.5
# A scrape of Prometheus takes at most ten seconds, as it comes.
_SCRAPE_S = 8.0


def make_app(root: Path, *, token: str, hosts: Hosts, language: Language) -> ASGIApp:
    """The application for the logs below `root`, behind its guard."""
    language = pages.for_readers_of_a_page(language)
    folder = RunFolder(root)
    app = _App(folder, RunList(folder, SummaryStore(cache_folder()), language), language)
    routes = [
        Route("/", app.list),
        Route("/rows", app.rows),
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
    def __init__(self, folder: RunFolder, runs: RunList, language: Language) -> None:
        self._folder = folder
        self._runs = runs
        self._language = language

    async def _open(self, request: Request) -> tuple[str, Report]:
        key = request.query_params.get("path", "")
        facts = Facts.of(request.query_params)
        return self._folder.name(key), await anyio.to_thread.run_sync(self._folder.open, key, facts)

    def _refuse(self, problem: StepscopeError) -> Response:
        status = 422 if isinstance(problem, UsageError) else 404
        return HTMLResponse(pages.error_page(problem, self._language), status_code=status)

    async def list(self, request: Request) -> Response:
        """The list of runs, empty: its rows come by `rows`."""
        del request
        self._runs.changes(0)  # reading begins while the page is drawn
        return HTMLResponse(pages.list_page(self._folder.root, self._language))

    async def rows(self, request: Request) -> Response:
        """What has changed in the list since a version of it."""
        since = request.query_params.get("since", "0")
        known = int(since) if since.isascii() and since.isdigit() and len(since) < 16 else 0
        found = await anyio.to_thread.run_sync(
            lambda: to_json(rows.answer(self._runs.changes(known, wait_s=_SEARCHED_S), is_first=not known))
        )
        return Response(found, media_type="application/json")

    async def run(self, request: Request) -> Response:
        """One run's page."""
        try:
            name, report = await self._open(request)
        except StepscopeError as problem:
            return self._refuse(problem)
        key, facts = request.query_params.get("path", ""), Facts.of(request.query_params)
        return HTMLResponse(pages.run_page(key, name, report, facts, self._language))

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
        return HTMLResponse(pages.fragment(name, report, self._language))

    async def events(self, request: Request) -> Response:
        """A line whenever the log has changed, until the browser disconnects."""
        try:
            key = request.query_params.get("path", "")
            run = await anyio.to_thread.run_sync(self._folder.find, key)
        except StepscopeError as problem:
            return self._refuse(problem)
        paths = [Path(file.uri) for file in run.files]
        return StreamingResponse(_changes(paths, request), media_type="text/event-stream")

    async def compare(self, request: Request) -> Response:
        """Two runs or more side by side."""
        keys = request.query_params.getlist("path")
        try:
            if len(keys) > pages.MOST_COMPARED:
                raise UsageError("compare-most")
            opened = [(self._folder.name(key), await anyio.to_thread.run_sync(self._folder.open, key)) for key in keys]
        except StepscopeError as problem:
            return self._refuse(problem)
        timed = [(name, report) for name, report in opened if report.ledger.step is not None and report.ledger.wall_s]
        if len(timed) < 2:
            return self._refuse(UsageError("compare-needs-two"))
        untimed = [name for name, report in opened if report not in [one for _, one in timed]]
        align: Align = "tokens" if request.query_params.get("align") == "tokens" else "step"

        def made() -> str:
            figures = [run_figures(report)._replace(paths=(name,)) for name, report in timed]
            found = compare(figures, align=align)
            return pages.comparison_page(found, timed, self._language, keys=keys, untimed=untimed, asked=align)

        return HTMLResponse(await anyio.to_thread.run_sync(made))

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
            report = await anyio.to_thread.run_sync(explain_bytes, data, Facts.of(request.query_params))
        except StepscopeError as problem:
            return HTMLResponse(pages.error_text(problem, self._language), status_code=422)
        return HTMLResponse(pages.fragment(None, report, self._language))

    async def metrics(self, request: Request) -> Response:
        """For Prometheus: all runs as far as they could be read in the time that a scrape may take."""
        del request
        found = await anyio.to_thread.run_sync(self._runs.complete, _SCRAPE_S)
        return PlainTextResponse(metrics.render(found), media_type="text/plain; version=0.0.4")


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


async def _changes(paths: list[Path], request: Request) -> AsyncIterator[str]:
    def look() -> list[tuple[int, int]] | None:
        try:
            return [(status.st_size, status.st_mtime_ns) for status in map(Path.stat, paths)]
        except OSError:
            return None  # gone

    seen = look()
    yield ": listening\n\n"
    while seen is not None and not await request.is_disconnected():
        await asyncio.sleep(_LOOK_S)
        before, seen = seen, look()
        if seen not in (before, None):
            yield "data: changed\n\n"
