"""Flags are checked while they are parsed, and every flag that a command shows does something."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import io
import os
import signal
import subprocess
import sys

import pytest

from stepscope.cli import COMMANDS, GROUPS, main, make_parser
from tests.conftest import DEMO

LOG = DEMO / "train.log"


def flags_of(command):
    """The flags and positionals that `--help` shows, by the names their values have."""
    shown = [action for action in make_parser(command)._actions if action.help != argparse.SUPPRESS]
    return {action.dest: action for action in shown if action.dest != "help"}


# -- bad values -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["1", "7", "-1", "nan", "high"])
@pytest.mark.parametrize("command", [name for name in COMMANDS if "confidence" in flags_of(name)])
def test_a_bad_confidence_is_a_message_in_every_command(cli, command, value):
    for flag in (["--confidence", value], [f"--confidence={value}"]):
        status, out, err = cli(command, *flag)
        assert (status, out) == (2, "")
        assert err == (
            "error[bad-confidence]: --confidence must be between 0.5 and 0.99\n  try: for example: --confidence 0.9\n"
        )


def test_an_error_while_parsing_is_in_the_users_language(cli):
    for flag in (["--lang", "de"], ["--lang=de"]):
        _, _, err = cli("watch", LOG, "--confidence", "7", *flag)
        assert err.startswith("Fehler[bad-confidence]: ")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_a_language(command):
    """It is a common flag: what a command says, or its errors, are in that language."""
    assert "--lang" in make_parser(command).format_help()


@pytest.mark.parametrize(
    "words", [["replay", "gone.log"], ["schema", "reprot"], ["help", "compre"], ["completion", "csh"], ["doc", "Z99"]]
)
def test_errors_are_in_the_language_asked_for(cli, words):
    _, _, err = cli(*words, "--lang", "fr")
    assert err.startswith("erreur[")


def test_a_page_of_a_rule_says_that_it_is_in_english(cli):
    code, out, err = cli("doc", "C09", "--lang", "de")
    assert (code, err) == (0, "Diese Seiten gibt es nur auf Englisch.\n")
    assert out == cli("doc", "C09", "--lang", "en")[1]
    assert cli("doc", "C09", "--lang", "en")[2] == ""


@pytest.mark.parametrize(
    ("arguments", "key", "place"),
    [
        (["watch", LOG, "--max-steps", "0"], "bad-max-steps", "--max-steps 0"),
        (["watch", LOG, "--max-steps", "many"], "bad-max-steps", "--max-steps many"),
        (["explain", LOG, "--max-steps", "9" * 5000], "bad-max-steps", None),
        (["watch", LOG, "--set", "eval_interval"], "bad-setting", "eval_interval"),
        (["watch", LOG, "--set", "evl_interval=5"], "unknown-setting", "evl_interval=5"),
        (["watch", LOG, "--set", "eval_interval=0"], "bad-count", "eval_interval=0"),
        (["watch", LOG, "--set", "num_workers=-1"], "bad-count", "num_workers=-1"),
        (["plan", "--set", "n_layer=0"], "bad-count", "--set n_layer=0"),
        (["plan", "--set", "n_layer=few"], "bad-count", "--set n_layer=few"),
        (["watch", LOG, "--interval", "0"], "bad-interval", "--interval 0"),
        (["watch", LOG, "--interval", "1e9"], "bad-interval", "--interval 1e+09"),
        (["attach", "1", "--interval", "often"], "bad-interval", "--interval often"),
        (["watch", LOG, "--now", "soon"], "bad-moment", None),
        (["eta", LOG, "--deadline", "soon"], "bad-deadline", None),
        (["run", "--lang", "xx", "--", "true"], "bad-language", None),
        (["advise", LOG, "--may-lose", "much"], "bad-may-lose", "--may-lose much"),
        (["compare", LOG, LOG, "--fail-on", "5"], "bad-fail-on", "--fail-on 5"),
        (["advise", LOG, "--change", "eval_interval"], "bad-change", "eval_interval"),
        (["why", LOG, "first"], "bad-step", "first"),
        (["replay", LOG, "--speed", "nan"], "bad-speed", "--speed nan"),
        (["fleet", "scan", "--store", "s", "--workers", "0"], "bad-workers", "--workers 0"),
        (["fleet", "scan", "--store", "s"], "fleet-needs-place", None),
        (["fleet", "report", "--store", "s", "--price", "0.3/kWh"], "fleet-bad-price", "--price 0.3/kWh"),
        (["fleet", "scan", LOG, "--store", "s", "--engine", "spark"], "bad-engine", "--engine spark"),
        (["fleet", "watch", "--store", "s", "--interval", "0"], "bad-interval", "--interval 0"),
        (["fleet", "report", "--store", "s", "--path-pattern", "x"], "fleet-bad-pattern", "--path-pattern x"),
        (["serve", "--port", "http"], "bad-port", "--port http"),
        (["sample", "--top_k", "0"], "train-range", "--top_k"),
        (["sample", "--seed", "9" * 30], "train-range", "--seed"),
        (["sample", "--seed", "x"], "train-setting-type", "seed = 'x'"),
        (["train", "--batch_size=x"], "train-setting-type", "batch_size = 'x'"),
        (["watch", "a.log", "b.log"], "watch-one-log", "a.log b.log"),
    ],
)
def test_a_bad_value_is_a_message_with_a_place(cli, arguments, key, place):
    status, out, err = cli(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith(f"error[{key}]: ")
    assert place is None or f"\n  --> {place}\n" in err
    assert "\n  try: " in err


def test_a_run_may_have_no_loader_workers(cli):
    """0 is PyTorch's default: the batches are loaded in the training process."""
    status, _, err = cli("explain", LOG, "--set", "num_workers=0")
    assert (status, err) == (0, "")


@pytest.mark.parametrize("command", [["explain", LOG], ["plan", "--gpu", "4070", "--params", "124M"]])
def test_a_count_may_be_written_short(cli, command):
    """One rule for `--set`, in a plan as for a log."""
    assert cli(*command, "--set", "max_iters=5k", "--set", "batch_size=12")[0] == 0


# -- help -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_starts_with_a_capital_letter(command):
    parser = make_parser(command)
    assert parser.description[0].isupper()
    for action in parser._actions:
        if action.help != argparse.SUPPRESS:
            assert action.help, f"{action.dest} has no help"
            assert action.help[0].isupper(), action.help


def test_help_shows_every_command_in_a_group(cli):
    _, out, _ = cli("--help")
    for title, names in GROUPS.items():
        section = out.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in section.splitlines()] == list(names)


def test_help_of_train_shows_real_defaults():
    flags = {name: action.help for name, action in flags_of("train").items()}
    assert flags["eval_only"] == "Stop after the first evaluation (default: False)"
    assert flags["batch_size"].endswith("(default: 12; without a config file: 16)")
    assert flags["gpt2_folder"] == "Folder with GPT-2's config.json and model.safetensors"
    assert flags["wandb_log"] == "Log to Weights & Biases, where wandb is installed (default: False)"


# -- live commands ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["watch", "run", "attach"])
def test_a_live_command_shows_no_flag_that_is_about_a_whole_log(command):
    assert not {"now", "strict", "nvidia_smi", "gpu"} & flags_of(command).keys()


def test_a_live_command_accepts_them_and_says_that_they_have_no_effect(cli):
    flags = ["--now", "02:30", "--nvidia-smi", "nowhere.txt", "--gpu", "4070", "--strict"]
    plain = ["--plain", "--max-steps", "1300", "--interval", "0.05"]
    expected = cli("watch", LOG, *plain)
    status, out, err = cli("watch", LOG, *plain, *flags)
    assert expected[2] == ""
    assert (status, out) == expected[:2]
    assert err.splitlines() == [
        f"warning: {flag} has no effect on a live view" for flag in ("--now", "--nvidia-smi", "--gpu", "--strict")
    ]


def test_watch_asks_for_one_log(cli):
    _, out, _ = cli("watch", "--help")
    assert "LOG ..." not in out
    assert "OTHERS" not in out.upper().partition("OPTIONS:")[0]
    _, _, err = cli("watch")
    assert "error[missing-argument]: an argument is missing: LOG\n" in err


# -- every flag is used -----------------------------------------------------------------------------------

# What these print is no language's, and their errors are the user's.
ERRORS_ONLY = ("replay", "schema", "help", "completion", "mcp")
# Used outside of `run`, by a command or by any (None), and where that is tested.
USED_ELSEWHERE = {
    (None, "format_file"): "loaded while it is parsed: tests/unit/test_user_formats.py",
    ("data", "action"): "one word, checked while it is parsed",
    ("sample", "lang"): "the language of errors: tests/trainer/test_commands.py",
    **{(name, "lang"): "the language of errors: test_every_command_takes_a_language" for name in ERRORS_ONLY},
}
TINY = [
    "--max_iters=2",
    "--eval_interval=1",
    "--n_layer=1",
    "--n_embd=32",
    "--block_size=16",
    "--eval_iters=1",
    "--batch_size=2",
]


class Recording(argparse.Namespace):
    """Parsed arguments that remember which of them were read."""

    def __init__(self, parsed):
        super().__init__(**vars(parsed))
        self._read = set()

    def __getattribute__(self, name):
        if not name.startswith("_"):
            super().__getattribute__("_read").add(name)
        return super().__getattribute__(name)


def sleeping_process():
    """The number of a process that ends by itself."""
    return str(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1)"]).pid)


def trained(folder):
    """The flag that names a folder with a checkpoint."""
    assert main(["train", *TINY, f"--out_dir={folder}"]) == 0
    return f"--out_dir={folder}"


# Command → command lines that between them lead to every flag of it. A new command needs an entry here.
INVOCATIONS = {
    "explain": lambda _: [[LOG]],
    "why": lambda _: [[LOG, "500"]],
    "eta": lambda _: [[LOG, "--max-steps", "20000"]],
    "advise": lambda _: [[LOG]],
    "plan": lambda _: [
        ["--config", DEMO / "config.py", "--from", LOG, "--nvidia-smi", DEMO / "nvidia-smi.txt", "--context", "1024"],
        ["--gpu", "4070", "--layers", "12", "--hidden", "768"],
    ],
    "compare": lambda _: [[LOG, LOG]],
    "fleet": lambda folder: [
        ["scan", LOG, "--store", folder / "fleet", "--workers", "1"],
        ["watch", "--store", folder / "fleet", "--once"],
        ["report", "--store", folder / "fleet"],
    ],
    "run": lambda folder: [["--dir", folder, "--", "true"]],
    "watch": lambda _: [[LOG, "--max-steps", "1300"]],
    "attach": lambda _: [[sleeping_process(), "--log", LOG]],
    "replay": lambda _: [[LOG, "--speed", "1e9"]],
    "serve": lambda folder: [[folder]],
    "mcp": lambda _: [[]],
    "train": lambda folder: [[*TINY, f"--out_dir={folder}"]],
    "sample": lambda folder: [[trained(folder), "--num_samples=1", "--max_new_tokens=2"]],
    "bench": lambda _: [
        [
            *("--real_data=False", "--device=cpu", "--compile=False", "--batch_size=1", "--block_size=8"),
            *("--n_layer=1", "--n_head=1", "--n_embd=8"),
        ]
    ],
    "export": lambda folder: [[f"--out_dir={folder}"]],
    "data": lambda folder: [["prepare", LOG, "--out", folder]],
    "formats": lambda _: [["show", "nanogpt"]],
    "doc": lambda _: [["C09"]],
    "demo": lambda _: [[]],
    "help": lambda _: [["eta"]],
    "schema": lambda _: [["report"]],
    "completion": lambda _: [["bash"]],
}
# The process ends before its log does, and there is no checkpoint to export.
EXIT_CODES = {"attach": 4, "export": 1}
PACKAGES = {
    "fleet": "pyarrow",
    "serve": "uvicorn",
    "train": "torch",
    "sample": "torch",
    "bench": "torch",
    "export": "torch",
}


@pytest.fixture
def _no_side_effects(monkeypatch):
    """Standard input ends at once, a server stops at once, and `run` gives the signals back."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    with contextlib.suppress(ImportError):
        monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGWINCH)
    before = [(number, signal.getsignal(number)) for number in numbers]
    # The browser of other tests keeps an event loop in this thread; `mcp` wants one of its own.
    loop = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(loop)
    for number, handler in before:
        signal.signal(number, handler)


@pytest.mark.skipif(os.name != "posix", reason="run and attach are POSIX")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("_no_side_effects", "capsys")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_that_a_command_shows_is_read(command, tmp_path, monkeypatch):
    """A flag that `--help` shows and `run` never looks at would be accepted and ignored."""
    assert command in INVOCATIONS, "a new command needs an invocation here"
    if command in PACKAGES:
        pytest.importorskip(PACKAGES[command])
    module = importlib.import_module(f"stepscope.cli.{command}")
    real, read = module.run, set()

    def run(args):
        recording = Recording(args)
        try:
            return real(recording)
        finally:
            read.update(recording._read)

    command_lines = INVOCATIONS[command](tmp_path)
    monkeypatch.setattr(module, "run", run)
    for words in command_lines:
        assert main([command, *map(str, words)]) == EXIT_CODES.get(command, 0)
    elsewhere = {flag for owner, flag in USED_ELSEWHERE if owner in {None, command}}
    assert flags_of(command).keys() - read - elsewhere == set()
