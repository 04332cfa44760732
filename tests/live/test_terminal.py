"""`run` changes nothing for the program: keys, prompts, job control, window size, streams, signals, exit code."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.live.terminal import SHELL, Terminal, stepscope_run

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pseudo-terminals as Linux has them"),
    pytest.mark.skipif(shutil.which("bash") is None, reason="no shell with job control"),
]
RUN = [sys.executable, "-m", "stepscope", "run", "--name", "r", "--"]


@pytest.fixture
def shell(tmp_path):
    terminal = Terminal(SHELL, tmp_path)
    terminal.see("$ ")
    yield terminal
    terminal.close()


def python(text: str, tmp_path: Path) -> list[str]:
    script = tmp_path / "script.py"
    script.write_text(text)
    return [sys.executable, str(script)]


def recorded(tmp_path: Path, text: str, **options) -> subprocess.CompletedProcess:
    """Run a script under the recorder, away from any terminal."""
    command = [*RUN, *python(text, tmp_path)]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False, **options)


@pytest.mark.parametrize("flags", [(), ("--plain",), ("--no-pty",)])
def test_a_question_is_shown_and_answered(shell, tmp_path, flags):
    ask = python("name = input('your name? ')\nprint('hello', name, flush=True)\nraise SystemExit(5)", tmp_path)
    shell.type(stepscope_run(*ask, flags=flags) + "; echo code=$?\n")
    shell.see("code=")
    shell.see("your name? ")
    shell.type("Ada\n")
    shell.see("hello Ada")
    shell.see("code=5")
    assert "hello Ada" in (tmp_path / "runs/r/log.txt").read_text()


def test_a_debugger_is_talked_to(shell, tmp_path):
    debugged = python("x = 41\nbreakpoint()\nprint('after', x, flush=True)", tmp_path)
    shell.type(stepscope_run(*debugged) + "; echo code=$?\n")
    shell.see("(Pdb) ")
    shell.type("x = x + 1\n")
    shell.see("(Pdb) ")
    shell.type("p x * 10\n")
    shell.see("420")
    shell.type("c\n")
    shell.see("after 42")
    shell.see("code=0")


def test_keys_that_are_not_echoed(shell, tmp_path):
    """getpass turns the echo off on its terminal: a password is never shown."""
    ask = python("import getpass\nprint(len(getpass.getpass('secret: ')), 'letters')", tmp_path)
    shell.type(stepscope_run(*ask, flags=("--plain",)) + "\n")
    shell.see("secret: ")
    shell.type("xyzzy\n")
    assert "xyzzy" not in shell.see("5 letters")
    assert "xyzzy" not in (tmp_path / "runs/r/log.txt").read_text()


@pytest.mark.parametrize("flags", [(), ("--plain",)])
def test_ctrl_c_is_the_programs(shell, tmp_path, flags):
    before = shell.mode()
    waiting = python(
        "import time\ntry:\n    print('waiting', flush=True); time.sleep(60)\n"
        "except KeyboardInterrupt:\n    print('caught', flush=True); raise SystemExit(7)",
        tmp_path,
    )
    shell.type(stepscope_run(*waiting, flags=flags) + "; echo code=$?\n")
    shell.see("code=")
    shell.see("waiting")
    shell.type("\x03")
    shell.see("caught")
    shell.see("code=7")
    shell.see("$ ")
    assert shell.mode()[:4] == before[:4]  # the terminal is as it was


@pytest.mark.parametrize("flags", [(), ("--plain",)])
def test_ctrl_z_stops_the_program_and_fg_goes_on(shell, tmp_path, flags):
    beats = tmp_path / "beats"
    counting = python(
        f"import time\nprint('counting', flush=True)\nbeats = open({str(beats)!r}, 'ab', buffering=0)\n"
        f"while beats.tell() < 400: beats.write(b'.'); time.sleep(0.02)\nprint('counted', flush=True)",
        tmp_path,
    )
    shell.type(stepscope_run(*counting, flags=flags) + "; echo code=$?\n")
    shell.see("code=")
    shell.see("counting")
    shell.type("\x1a")
    shell.see("Stopped")
    shell.see("$ ")
    size = beats.stat().st_size
    time.sleep(0.3)
    assert beats.stat().st_size == size < 400  # the program itself has stopped, not only the view
    shell.type("fg\n")
    shell.see("counted")
    shell.see("$ ")
    assert beats.stat().st_size == 400


def test_ctrl_z_and_bg(shell, tmp_path):
    """In the background it goes on; the terminal is the shell's meanwhile."""
    counting = python(
        "import time\nprint('counting', flush=True)\ntime.sleep(2)\nprint('counted', flush=True)", tmp_path
    )
    shell.type(stepscope_run(*counting, flags=("--plain",)) + "\n")
    shell.see("counting")
    shell.type("\x1a")
    shell.see("Stopped")
    shell.type("bg; echo still $((40 + 2))\n")
    shell.see("still 42")
    shell.see("counted")
    shell.type("wait; echo code=$((1 + 1))\n")
    shell.see("code=2")


def test_a_shell_under_it_stops_its_own_jobs(shell):
    shell.type(stepscope_run(*SHELL, flags=("--plain",)) + "\n")
    shell.see("$ ")
    shell.type("sleep 50\n")
    time.sleep(0.5)
    shell.type("\x1a")
    shell.see("Stopped")
    time.sleep(1.0)  # a shell throws away what is typed before it has taken its terminal back
    shell.type("fg\n")
    time.sleep(1.0)
    shell.type("\x03")
    time.sleep(1.0)
    shell.type("exit 3\n")
    shell.see("Saved to ")
    shell.type("echo code=$?\n")
    shell.see("code=3")


def test_the_window_gets_another_size(shell, tmp_path):
    sized = python(
        "import os, signal, time\nseen = []\n"
        "signal.signal(signal.SIGWINCH, lambda *_: seen.append(1))\n"
        "print('is', os.get_terminal_size().columns, flush=True)\n"
        "while not seen: time.sleep(0.02)\nprint('now', os.get_terminal_size().columns, flush=True)",
        tmp_path,
    )
    shell.type(stepscope_run(*sized, flags=("--plain",)) + "\n")
    shell.see("is 100")
    shell.size(77)
    shell.see("now 77")


def test_input_from_a_pipe(tmp_path):
    done = recorded(tmp_path, "print(input('? '), input(), flush=True)", input="one\ntwo\n")
    assert done.stdout == "? one two\n"


def test_a_program_from_standard_input(tmp_path):
    done = subprocess.run(
        [*RUN, sys.executable, "-"],
        cwd=tmp_path,
        input="print(6 * 7)",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "42\n"


def test_a_closed_input_is_closed(tmp_path):
    text = "import sys\nprint(sys.stdin)"
    done = subprocess.run(
        ["sh", "-c", '"$@" <&-', "sh", *RUN, *python(text, tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "None\n"


STREAMS = """
import sys, time
for step in range(50):
    print(f"iter {step}: loss 3.0000, time 10.00ms")
    sys.stderr.write(f"\\r{step}%|bar|")
    sys.stderr.flush()
    time.sleep(0.001)
print("half", end="", flush=True)
print("\\ntrouble", file=sys.stderr)
print([stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)])
"""


def test_output_and_error_stay_apart(tmp_path):
    """To the byte; the log has both, each on lines of its own."""
    plain = subprocess.run(
        python(STREAMS, tmp_path), stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        subprocess.run(
            [*RUN, *python(STREAMS, tmp_path)],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            timeout=60,
            check=False,
        )
    assert (tmp_path / "out").read_bytes() == plain.stdout
    assert (tmp_path / "err").read_bytes().startswith(plain.stderr)
    lines = (tmp_path / "runs/r/log.txt").read_bytes().replace(b"\r", b"\n").split(b"\n")
    assert {line for line in plain.stdout.split(b"\n") if line.startswith(b"iter")} <= set(lines)
    assert {line for line in plain.stderr.replace(b"\r", b"\n").split(b"\n") if b"bar" in line} <= set(lines)


def test_one_file_for_both_keeps_their_order(tmp_path):
    text = "import sys\nfor n in range(200): print(n, file=(sys.stdout, sys.stderr)[n % 2], flush=True)"
    with (tmp_path / "both").open("wb") as both:
        subprocess.run([*RUN, *python(text, tmp_path)], cwd=tmp_path, stdout=both, stderr=both, timeout=60, check=False)
    numbers = [line for line in (tmp_path / "both").read_text().splitlines() if line.isdigit()]
    assert numbers == [str(number) for number in range(200)]


@pytest.mark.parametrize(
    ("redirection", "expected"),
    [
        ("", [True, True, True]),
        ("2>err", [True, True, False]),
        (">out", [True, False, True]),
        ("</dev/null", [False, True, True]),
        (">out 2>err </dev/null", [False, False, False]),
    ],
)
def test_terminals_are_terminals_and_nothing_else_is(shell, tmp_path, redirection, expected):
    """Colours only where there were any: a program sees a terminal exactly where it would without us."""
    text = (
        "import json, os, pathlib\n"
        f"pathlib.Path({str(tmp_path / 'seen')!r}).write_text(json.dumps([os.isatty(n) for n in range(3)]))"
    )
    shell.type(stepscope_run(*python(text, tmp_path), flags=("--plain",)) + f" {redirection}; echo code=$((40 + 2))\n")
    shell.see("code=42")
    assert json.loads((tmp_path / "seen").read_text()) == expected


def test_no_terminal_when_none_is_wanted(shell, tmp_path):
    text = "import os; print([os.isatty(n) for n in (1, 2)])"
    shell.type(stepscope_run(*python(text, tmp_path), flags=("--plain", "--no-pty")) + "\n")
    shell.see("[False, False]")


def test_lines_are_not_held_back_in_a_pipe(tmp_path):
    """Python writes to a pipe by the block; their arrival times would say nothing."""
    text = "import time\nfor n in range(3):\n    print('line', n)\n    time.sleep(0.3)"
    recorded(tmp_path, text)
    records = [line.split("\t") for line in (tmp_path / "runs/r/stamps.tsv").read_text().splitlines()]
    assert float(records[2][2]) - float(records[0][2]) > 0.5


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGTERM, signal.SIGINT])
def test_signals_to_us_are_the_programs(tmp_path, number):
    text = (
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: sys.exit(9))\nprint('ready', flush=True)\ntime.sleep(60)"
    )
    process = subprocess.Popen([*RUN, *python(text, tmp_path)], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    assert process.wait(timeout=60) == 9
    process.stdout.close()


def test_what_is_ignored_stays_ignored(tmp_path):
    """As under nohup."""
    text = "import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)"
    done = recorded(tmp_path, text, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    assert done.stdout == "True\n"
    shutil.rmtree(tmp_path / "runs")
    heard = recorded(tmp_path, text, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
    assert heard.stdout == "False\n"


def test_a_reader_that_goes_away(tmp_path):
    """`| head -1`: the training goes on to its end, and its exit code is returned."""
    text = "import time\nfor n in range(40): print(n, flush=True); time.sleep(0.01)\nraise SystemExit(6)"
    process = subprocess.Popen([*RUN, *python(text, tmp_path)], cwd=tmp_path, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) == 6
    assert (tmp_path / "runs/r/log.txt").read_text().endswith("39\n")


def test_a_stopped_command_stays_stopped_where_no_shell_looks(tmp_path):
    """Somebody pauses a training that runs by itself: we do not start it again."""
    text = "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(1)\nprint('end')"
    process = subprocess.Popen(
        [*RUN, *python(text, tmp_path)], cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    os.kill(pid, signal.SIGSTOP)
    time.sleep(1.0)
    assert "T (stopped)" in Path(f"/proc/{pid}/status").read_text()
    os.kill(pid, signal.SIGCONT)
    assert process.stdout.read() == "end\n"
    assert process.wait(timeout=60) == 0
    process.stdout.close()
