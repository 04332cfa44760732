"""Flags are checked while they are parsed, and every flag that a command shows does something."""

from __future__ import annotations

import pytest

from stepscope.cli import COMMANDS, make_parser
from tests.conftest import DEMO

LOG = DEMO / "train.log"


def flags_of(command):
    """The flags and positionals that `--help` shows, by the names their values have."""
    shown = [action for action in make_parser(command)._actions if action.help != "==SUPPRESS=="]
    return {action.dest: action for action in shown if action.dest != "help"}


# -- bad values -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["1", "7", "-1", "nan", "high"])
@pytest.mark.parametrize("command", [name for name in COMMANDS if "confidence" in flags_of(name)])
def test_a_bad_confidence_is_a_message_in_every_command(cli, command, value):
    for flag in (["--confidence", value], [f"--confidence={value}"]):
        status, out, err = cli(command, *flag)
        assert (status, out) == (2, "")
        assert err == (
            "error[bad-confidence]: --confidence lies between 0.5 and 0.99\n  try: for example: --confidence 0.9\n"
        )


def test_an_error_while_parsing_is_in_the_users_language(cli):
    for flag in (["--lang", "de"], ["--lang=de"]):
        _, _, err = cli("watch", LOG, "--confidence", "7", *flag)
        assert err.startswith("Fehler[bad-confidence]: ")


@pytest.mark.parametrize(
    ("arguments", "key", "place"),
    [
        (["watch", LOG, "--max-steps", "0"], "bad-max-steps", "--max-steps 0"),
        (["watch", LOG, "--max-steps", "many"], "bad-max-steps", "--max-steps many"),
        (["explain", LOG, "--max-steps", "9" * 5000], "bad-max-steps", None),
        (["watch", LOG, "--set", "eval_interval"], "bad-setting", "eval_interval"),
        (["watch", LOG, "--set", "evl_interval=5"], "unknown-setting", "evl_interval=5"),
        (["watch", LOG, "--set", "eval_interval=0"], "bad-count", "eval_interval=0"),
        (["plan", "--set", "n_layer=0"], "bad-count", "--set n_layer=0"),
        (["plan", "--set", "n_layer=few"], "bad-count", "--set n_layer=few"),
        (["watch", LOG, "--interval", "0"], "bad-interval", "--interval 0"),
        (["watch", LOG, "--interval", "1e9"], "bad-interval", "--interval 1e+09"),
        (["attach", "1", "--interval", "often"], "bad-interval", "--interval often"),
        (["watch", LOG, "--now", "soon"], "bad-moment", None),
        (["eta", LOG, "--deadline", "soon"], "bad-deadline", None),
        (["run", "--lang", "xx", "--", "true"], "bad-language", None),
        (["advise", LOG, "--may-lose", "much"], "bad-may-lose", "--may-lose much"),
        (["advise", LOG, "--change", "eval_interval"], "bad-change", "eval_interval"),
        (["why", LOG, "first"], "bad-step", "first"),
        (["replay", LOG, "--speed", "nan"], "bad-speed", "--speed nan"),
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


@pytest.mark.parametrize("command", [["explain", LOG], ["plan", "--gpu", "4070", "--params", "124M"]])
def test_a_count_may_be_written_short(cli, command):
    """One rule for `--set`, in a plan as for a log."""
    assert cli(*command, "--set", "max_iters=5k", "--set", "batch_size=12")[0] == 0


# -- live commands ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["watch", "run", "attach"])
def test_a_live_command_shows_no_flag_that_is_about_a_whole_log(command):
    assert not {"now", "strict", "nvidia_smi", "gpu"} & flags_of(command).keys()


def test_a_live_command_accepts_them_and_says_that_they_have_no_effect(cli):
    table = DEMO / "nvidia-smi.txt"
    flags = ["--now", "02:30", "--nvidia-smi", table, "--gpu", "4070", "--strict"]
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
    assert err.endswith("the following arguments are required: LOG\n")
