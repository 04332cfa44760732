"""The MCP server: the protocol's messages, the same documents as the commands, nothing outside its root."""

from __future__ import annotations

import io
import json

import pytest

from stepscope.cli.mcp import serve
from tests.unit.logs import training


@pytest.fixture
def root(tmp_path):
    inside = tmp_path / "runs"
    inside.mkdir()
    for name, step_ms in (("a.log", 100.0), ("b.log", 150.0)):
        (inside / name).write_text("\n".join(training(300, every=10, evaluate=50, step_ms=step_ms)) + "\n")
    (tmp_path / "outside.log").write_text("\n".join(training(100)) + "\n")
    return inside


def ask(root, *messages):
    lines = [message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0", **message}) for message in messages]
    out = io.StringIO()
    serve(io.StringIO("\n".join(lines) + "\n"), out, root)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def call(root, name, **arguments):
    (answer,) = ask(root, {"id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
    return answer["result"]


def test_the_handshake(root):
    answers = ask(
        root,
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "ping"},
        {"id": 3, "method": "tools/list"},
    )
    assert [answer["id"] for answer in answers] == [1, 2, 3]
    assert answers[0]["result"]["serverInfo"]["name"] == "stepscope"
    tools = {tool["name"]: tool for tool in answers[2]["result"]["tools"]}
    assert set(tools) == {"explain", "eta", "why", "advise", "compare"}
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools.values())


@pytest.mark.parametrize(
    ("name", "arguments", "schema"),
    [
        ("explain", {"path": "a.log", "max_steps": 1000}, "stepscope.report/1"),
        ("eta", {"path": "a.log", "max_steps": 1000}, "stepscope.report/1"),
        ("advise", {"path": "a.log", "change": "eval_interval=100"}, "stepscope.report/1"),
        ("compare", {"path": "a.log", "other": "b.log"}, "stepscope.compare/1"),
    ],
)
def test_tools_give_the_commands_documents(root, name, arguments, schema):
    result = call(root, name, **arguments)
    assert not result["isError"]
    assert result["structuredContent"]["schema"] == schema
    assert "untrusted" in result["content"][0]["text"]


def test_why_tells_of_one_step(root):
    result = call(root, "why", path="a.log", step=50)
    assert not result["isError"]
    assert "evaluation" in json.dumps(result["structuredContent"])


@pytest.mark.parametrize("path", ["../outside.log", "/etc/passwd", "a\0.log"])
def test_nothing_outside_the_root_is_read(root, path):
    assert call(root, "explain", path=path)["isError"]


def test_bad_requests_are_answered_not_fatal(root):
    answers = ask(
        root,
        "not json",
        "[1]",
        {"id": 1, "method": "no/such"},
        {"id": 2, "method": "tools/call", "params": {"name": "rm"}},
        {"id": 3, "method": "ping"},
    )
    assert [("error" in answer) for answer in answers] == [True, True, True, True, False]
    assert call(root, "explain")["isError"]
    assert call(root, "explain", path="none.log")["isError"]
    assert call(root, "explain", path="a.log", max_steps=0)["isError"]
