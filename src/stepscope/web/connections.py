"""Connections that cost nothing: a request that does not arrive, or an answer that is not read, ends after a while.

uvicorn waits for the rest of a request for ever, so a few hundred half-open ones would lock everybody out. Their number
is bounded, too: beyond it, the one that has waited longest for its request makes way.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

# For the whole head of a request, however many bytes come meanwhile.
HEADERS_S = 10.0
# For the whole body; a pasted log has a shorter limit of its own in `app.py`, with an answer.
BODY_S = 40.0
# For a client that has stopped to read its answer.
READING_S = 60.0
MOST_CONNECTIONS = 400
# Files that the program itself has open: logs that are read, those of libraries.
_OWN_FILES = 40


def most_connections() -> int:
    """How many connections may be open at once: no more than half of the files that this process may open."""
    try:
        import resource
    except ImportError:  # Windows
        return MOST_CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if files < 0 else max(8, min(MOST_CONNECTIONS, files // 2 - _OWN_FILES))


def make_server(app: ASGIApp) -> uvicorn.Server:
    """The server for the application."""
    config = uvicorn.Config(
        app,
        http=TimedProtocol,
        # So many are accepted before the first of them is counted.
        backlog=min(128, most_connections()),
        ws="none",
        log_level="error",  # a request that is none needs no line on the screen
        lifespan="off",
        server_header=False,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=1,  # pages that listen for changes never hang up by themselves
    )
    return uvicorn.Server(config)


class TimedProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with a limit to the time that a client may take."""

    _most = most_connections()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock, and make way where there are too many."""
        super().connection_made(transport)
        self._phase: Any = None
        self._limit: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._since = self.loop.time()
        self._time()
        # Those that were ended just now are still among them.
        others = [one for one in self.connections if isinstance(one, TimedProtocol) and not one.transport.is_closing()]
        if len(others) > self._most:
            oldest = min((one for one in others if one._is_waiting), key=lambda one: one._since)  # at worst this one
            oldest.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take some bytes of a request."""
        super().data_received(data)
        self._time()

    def on_response_complete(self) -> None:
        """An answer is sent: the next request may come."""
        super().on_response_complete()
        self._time()

    def pause_writing(self) -> None:
        """The client does not read its answer."""
        super().pause_writing()
        self._reading = self.loop.call_later(READING_S, self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads on."""
        super().resume_writing()
        if self._reading is not None:
            self._reading.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clocks."""
        super().connection_lost(exc)
        for timer in (self._limit, self._reading):
            if timer is not None:
                timer.cancel()

    @property
    def _is_waiting(self) -> bool:
        """Whether no request is being answered here."""
        return self.conn.their_state is h11.IDLE or self.conn.their_state is h11.SEND_BODY

    def _time(self) -> None:
        """Limit the time of what the client is sending, once for all of the head and once for all of the body."""
        if self.conn.their_state is self._phase:
            return
        self._phase = self.conn.their_state
        self._since = self.loop.time()
        if self._limit is not None:
            self._limit.cancel()
        if self._is_waiting:
            seconds = HEADERS_S if self._phase is h11.IDLE else BODY_S
            self._limit = self.loop.call_later(seconds, self.transport.abort)
