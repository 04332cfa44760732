"""MCP over standard input and output, with what the SDK's own reader leaves out.

- Every line that is no message gets an error, by the number of its request where it has one, so that a client does not
  wait for it. The SDK's reader is silent.
- A line is read only so far.
- What was asked before the input ended is answered, so that requests can come from a file.
"""

from __future__ import annotations

import io
import json
import sys
from typing import Any, BinaryIO

import anyio
from mcp import types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

# A request names paths and numbers.
_MOST_BYTES = 4 << 20


async def serve(server: Server[Any]) -> None:
    """Answer until standard input ends."""
    unanswered: set[types.RequestId] = set()
    answered = anyio.Condition()
    to_server, inbox = anyio.create_memory_object_stream[SessionMessage | Exception]()
    outbox, from_server = anyio.create_memory_object_stream[SessionMessage]()

    async def read() -> None:
        async with to_server:
            while line := await anyio.to_thread.run_sync(next_line, sys.stdin.buffer, abandon_on_cancel=True):
                message = parse_message(line)
                match message:
                    case types.JSONRPCError():
                        await outgoing.send(SessionMessage(message))
                        continue
                    case types.JSONRPCRequest(id=number):
                        unanswered.add(number)
                    case types.JSONRPCNotification(
                        method="notifications/cancelled", params={"requestId": str() | int() as number}
                    ):
                        unanswered.discard(number)
                await to_server.send(SessionMessage(message))
            async with answered:
                while unanswered:
                    await answered.wait()

    async def write() -> None:
        async with from_server:
            async for item in from_server:
                await outgoing.send(item)
                if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
                    async with answered:
                        unanswered.discard(item.message.id)
                        answered.notify_all()

    # Of the SDK only the way out: it keeps what anybody else prints off the line. To its reader, the input is over.
    nothing = anyio.wrap_file(io.StringIO())
    async with (
        stdio_server(stdin=nothing) as (incoming, outgoing),
        incoming,
        outgoing,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(read)
        tasks.start_soon(write)
        await server.run(inbox, outbox, server.create_initialization_options())


def next_line(stream: BinaryIO) -> bytes:
    """The next line; only the beginning of one that is too long, which is no message then. Empty at the end."""
    line = rest = stream.readline(_MOST_BYTES)
    while rest and not rest.endswith(b"\n"):
        rest = stream.readline(_MOST_BYTES)
    return line


def parse_message(line: bytes) -> types.JSONRPCMessage:
    """The message in a line; the error to answer where there is none."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return _error(None, types.PARSE_ERROR, "not JSON")
    if not isinstance(data, dict):
        return _error(None, types.INVALID_REQUEST, "not a JSON-RPC message")
    number = data.get("id")
    if isinstance(number, bool) or not isinstance(number, int | str) or not _is_text(number):
        number = None
    if "method" in data and "id" in data and number is None:
        return _error(None, types.INVALID_REQUEST, "an id is a string or an integer")
    if not isinstance(data.get("params", {}), dict):
        return _error(number, types.INVALID_PARAMS, "params is an object")
    try:
        message: types.JSONRPCMessage = types.jsonrpc_message_adapter.validate_python(data, by_name=False)
    except ValueError:
        return _error(number, types.INVALID_REQUEST, "not a JSON-RPC message")
    if isinstance(message, types.JSONRPCError):
        return _error(None, types.INVALID_REQUEST, "nothing was asked")
    if not _is_text(data.get("method", "")):
        return _error(number, types.INVALID_REQUEST, "no such method")
    return message


def _error(number: int | str | None, code: int, text: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=number, error=types.ErrorData(code=code, message=text))


def _is_text(value: object) -> bool:
    """Whether a value can be written back: JSON may hold halves of characters."""
    try:
        str(value).encode()
    except UnicodeEncodeError:
        return False
    return True
