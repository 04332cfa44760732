"""The MCP server, asked by the SDK's own client: the same documents as the commands, nothing outside its root."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client

from stepscope.cli import main
from stepscope.cli.mcp import make_server
from stepscope.core.installing import install_command
from tests.unit.logs import training


@pytest.fixture
def root(tmp_path):
    inside = tmp_path / "runs"
    inside.mkdir()
    for name, step_ms in (("a.log", 100.0), ("b.log", 150.0)):
        (inside / name).write_text("\n".join(training(300, every=10, evaluate=50, step_ms=step_ms)) + "\n")
    (tmp_path / "outside.log").write_text("\n".join(training(100)) + "\n")
    return inside


def run(function):
    # In a thread of its own: a browser's test before this one may have left a loop running in the main thread.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(anyio.run, function).result()


def call(root, name, **arguments):
    """The result of a tool as it goes over the wire, from a server in this process."""

    async def ask():
        async with Client(make_server(root), mode="legacy") as client:
            return await client.call_tool(name, arguments)

    return run(ask).model_dump(mode="json", by_alias=True)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_command_serves_a_client_over_stdio(root, mode):
    """The process that an assistant starts, in both eras of the protocol."""
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "stepscope", "mcp", "--root", str(root)], env=dict(os.environ)
    )

    async def ask():
        with Path(os.devnull).open("w") as nowhere:
            async with Client(stdio_client(command, errlog=nowhere), mode=mode) as client:
                found = (await client.list_tools()).tools
                result = await client.call_tool("eta", {"path": "a.log", "max_steps": 1000})
                return client.server_info, client.instructions, found, result

    info, instructions, found, result = run(ask)
    assert info.name == "stepscope"
    assert "untrusted" in instructions
    tools = {tool.name: tool for tool in found}
    assert set(tools) == {"explain", "eta", "why", "advise", "compare"}
    assert all(tool.annotations.read_only_hint and not tool.annotations.open_world_hint for tool in tools.values())
    assert all(tool.description for tool in tools.values())
    assert tools["why"].input_schema == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "a log file or folder, relative to the server's root"},
            "step": {"type": "integer", "minimum": 0},
        },
        "required": ["path", "step"],
        "additionalProperties": False,
    }
    assert result.structured_content["schema"] == "stepscope.report/1"


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
    assert json.loads(result["content"][1]["text"]) == result["structuredContent"]


def test_a_document_arrives_whole(root, capsys):
    """Nulls included, which the SDK leaves out of its own messages."""
    result = call(root, "explain", path="a.log")
    assert main(["explain", str(root / "a.log"), "--format", "json"]) == 0
    text = capsys.readouterr().out
    assert "null" in text
    assert result["structuredContent"] == json.loads(text)


def test_why_explains_one_step(root):
    result = call(root, "why", path="a.log", step=50)
    assert not result["isError"]
    assert "evaluation" in json.dumps(result["structuredContent"])


@pytest.mark.parametrize("path", ["../outside.log", "/etc/passwd", "a\0.log", "link.log"])
@pytest.mark.parametrize("name", ["path", "config"])
def test_nothing_outside_the_root_is_read(root, path, name):
    (root / "link.log").symlink_to(root.parent / "outside.log")
    result = call(root, "explain", **{"path": "a.log", name: path})
    assert result["isError"]
    assert result["content"][0]["text"] == "only files below the server's root are read"


def test_a_link_in_a_folder_is_not_followed_out_of_the_root(root):
    """A linked file and a linked folder of files."""
    outside = root.parent / "elsewhere"
    outside.mkdir()
    (outside / "train.log").write_text((root / "a.log").read_text())
    for name, target in {"train.log": outside / "train.log", "linked": outside}.items():
        folder = root / f"with {name}"
        folder.mkdir()
        (folder / name).symlink_to(target)
        result = call(root, "explain", path=folder.name)
        assert result["isError"], name
        assert "folder-empty" in result["content"][0]["text"]
        (folder / "own.txt").write_text((root / "b.log").read_text())
        result = call(root, "explain", path=folder.name)
        assert "own.txt" in json.dumps(result["structuredContent"]["source"])


@pytest.mark.parametrize("name", ["log.txt", "stamps.tsv", "trace.tsv", "suspends.tsv", "gpu.csv"])
def test_no_link_next_to_a_log_is_followed_out_of_the_root(root, name, monkeypatch):
    run_folder, outside = root / "run", root.parent / "elsewhere"
    run_folder.mkdir()
    outside.mkdir()
    for each in ("log.txt", "stamps.tsv"):
        (run_folder / each).write_text((root / "a.log").read_text() if each == "log.txt" else "6\t1700000000\t1\n")
    (outside / name).write_text((root / "a.log").read_text())
    (run_folder / name).unlink(missing_ok=True)
    (run_folder / name).symlink_to(outside / name)
    opened = []
    own_open = Path.open
    monkeypatch.setattr(Path, "open", lambda path, *rest, **more: opened.append(path) or own_open(path, *rest, **more))
    call(root, "explain", path="run")
    call(root, "eta", path="run")
    assert not [path for path in opened if path.resolve().is_relative_to(outside)]


def test_an_mlflow_run_is_read_without_links_out_of_the_root(root):
    run_folder, outside = root / "store" / "run", root.parent / "loss"
    (run_folder / "metrics").mkdir(parents=True)
    (run_folder / "meta.yaml").write_text("")
    outside.write_text("".join(f"{1700000000000 + 1000 * step} 1.0 {step}\n" for step in range(20)))
    (run_folder / "metrics" / "loss").symlink_to(outside)
    assert call(root, "explain", path="store")["isError"]


@pytest.mark.parametrize("step", ["50", "--config=/etc/passwd", 5.5, -1, True, None, [50]])
def test_the_step_of_why_is_an_integer(root, step):
    result = call(root, "why", path="a.log", step=step)
    assert result["isError"]
    assert result["content"][0]["text"] == "step is an integer of at least 0"


@pytest.mark.parametrize("arguments", [{}, {"path": "none.log"}, {"path": "a.log", "max_steps": 0}])
def test_what_a_tool_cannot_do_is_in_its_result(root, arguments):
    assert call(root, "explain", **arguments)["isError"]


def test_calls_at_the_same_time_do_not_mix(root):
    """Each command's output is caught by itself, though they share standard output."""

    async def ask():
        results = {}
        async with Client(make_server(root)) as client, anyio.create_task_group() as tasks:

            async def one(number):
                path = "ab"[number % 2] + ".log"
                results[number] = path, await client.call_tool("eta", {"path": path})

            for number in range(6):
                tasks.start_soon(one, number)
        return results

    for path, result in run(ask).values():
        assert path in json.dumps(result.structured_content)
        assert not result.is_error


def test_no_such_tool(root):
    async def ask():
        async with Client(make_server(root)) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("rm", {})
        return caught.value

    problem = run(ask)
    assert (problem.code, problem.message) == (-32602, "no such tool; there are: explain, eta, why, advise, compare")


def test_requests_from_a_file_are_all_answered(root):
    """Lines that are no messages too, and what was asked last though the input ends behind it."""
    hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    explain = {"name": "explain", "arguments": {"path": "a.log"}}
    messages = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "no/such"},
        {"id": 3, "method": "tools/call", "params": {"name": "rm"}},
        {"id": 4, "method": "ping"},
        {"method": "notifications/cancelled", "params": {"requestId": [1]}},
        {"id": 5, "method": "tools/call", "params": explain},
        {"id": 6, "method": "tools/call", "params": explain},
    ]
    lines = ["not json", "[1]", *(json.dumps({"jsonrpc": "2.0", **message}) for message in messages)]
    command = [sys.executable, "-m", "stepscope", "mcp", "--root", str(root)]
    text = "\n".join(lines) + "\n"
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    errors = [(answer["id"], answer["error"]["code"]) for answer in answers if "error" in answer]
    assert sorted(errors, key=str) == [(2, -32601), (3, -32602), (None, -32600), (None, -32700)]
    results = {answer["id"]: answer["result"] for answer in answers if "result" in answer}
    assert set(results) == {1, 4, 5, 6}
    assert results[1]["protocolVersion"] == "2025-03-26"
    assert results[5]["structuredContent"]["schema"] == "stepscope.report/1"


def request(**params):
    return json.dumps({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params})


def explain(path):
    return request(name="explain", arguments={"path": path})


ATTACKS = {
    # What is no message at all: nobody knows whose answer it would be.
    "hello": (None, -32700),
    "": (None, -32700),
    "[" * 200_000: (None, -32700),
    '{"id":9,"method":"ping","params":' + "[" * 100_000 + "]" * 100_000 + "}": (None, -32700),
    '"' + "x" * (9 << 20) + '"': (None, -32700),
    '{"id": 9' + " " * (5 << 20) + "}": (None, -32700),
    '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"why","step":1' + "0" * 5000 + "}}": (None, -32700),
    f"[{explain('a.log')}]": (None, -32600),
    "5": (None, -32600),
    "null": (None, -32600),
    "{}": (None, -32600),
    '{"jsonrpc":"2.0","id":null,"method":"ping"}': (None, -32600),
    '{"jsonrpc":"2.0","id":1.5,"method":"ping"}': (None, -32600),
    '{"jsonrpc":"2.0","id":true,"method":"ping"}': (None, -32600),
    '{"jsonrpc":"2.0","id":{},"method":"ping"}': (None, -32600),
    '{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}': (None, -32600),
    '{"jsonrpc":"2.0","id":9,"error":{"code":1,"message":"x"}}': (None, -32600),
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}': (None, -32602),
    # A request that asks wrongly gets its own answer.
    '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":[1]}': (9, -32602),
    '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":"x"}': (9, -32602),
    '{"jsonrpc":"2.0","id":9,"method":"\\ud800"}': (9, -32600),
    '{"jsonrpc":"2.0","id":9,"method":5}': (9, -32600),
    '{"jsonrpc":"1.0","id":9,"method":"ping"}': (9, -32600),
    request(name=["explain"], arguments={}): (9, -32602),
    request(name="explain", arguments=[1]): (9, -32602),
    request(name="\udc80"): (9, -32602),
    # So does a tool that cannot do what it is asked.
    explain("\ud800.log"): (9, "failed"),
    explain("a" * 5000): (9, "failed"),
    explain("a/" * 5000): (9, "failed"),
    explain("a\0"): (9, "failed"),
    explain(5): (9, "failed"),
    explain(["a.log"]): (9, "failed"),
    explain("-"): (9, "failed"),
    explain("/dev/stdin"): (9, "failed"),
    request(name="why", arguments={"path": "a.log", "step": 10**30}): (9, "failed"),
    request(name="explain", arguments={"path": "a.log", "max_steps": "--config=/etc/passwd"}): (9, "failed"),
    request(name="explain", arguments={"path": "a.log", "config": "."}): (9, "failed"),
    request(name="advise", arguments={"path": "a.log", "change": ["x"]}): (9, "failed"),
    request(name="advise", arguments={"path": "a.log", "change": "\ud800=1"}): (9, "answered"),
    explain("caf\udce9.log"): (9, "answered"),  # a name of bytes that are no UTF-8
    explain("odd"): (9, "answered"),
}


def test_no_message_ends_the_server(root):
    """One process gets them all, one after the other: each has its answer, and an honest request the last."""
    (root / "odd").mkdir()
    for path in (root / "caf\udce9.log", root / "odd" / "caf\udce9\u202e.log"):
        path.write_text((root / "a.log").read_text())
    hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    command = [sys.executable, "-m", "stepscope", "mcp", "--root", str(root)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as server:

        def ask(text):
            server.stdin.write(text.encode("utf-8", "surrogatepass") + b"\n")
            server.stdin.flush()
            line = server.stdout.readline()
            assert line.endswith(b"\n"), text[:200]
            assert "\u202e" not in line.decode()
            return json.loads(line)

        assert "result" in ask(json.dumps(first))
        for text, (number, outcome) in ATTACKS.items():
            answer = ask(text)
            if "error" in answer:
                found = answer["error"]["code"]
            else:
                found = "failed" if answer["result"]["isError"] else "answered"
            assert (answer["id"], found) == (number, outcome), text[:200]
        assert ask(explain("a.log"))["result"]["structuredContent"]["schema"] == "stepscope.report/1"
        server.stdin.close()
        assert server.wait(timeout=60) == 0
        assert server.stderr.read() == b""


def test_a_defect_is_an_answer(root, monkeypatch):
    def broken(_):
        raise ZeroDivisionError

    monkeypatch.setattr("stepscope.cli.main", broken)
    result = call(root, "explain", path="a.log")
    assert result["isError"]
    assert result["content"][0]["text"] == "internal error: ZeroDivisionError"


def test_an_interrupt_ends_it_at_once(root):
    """Though a thread of the SDK is waiting for the next line."""
    command = [sys.executable, "-m", "stepscope", "mcp", "--root", str(root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        server.stdin.write(b"hello\n")
        server.stdin.flush()
        assert b"-32700" in server.stdout.readline()
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=30) == 130
        assert server.stderr.read() == b""


def test_without_its_extra_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert main(["mcp"]) == 2
    assert install_command("mcp") in capsys.readouterr().err
