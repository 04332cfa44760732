"""Every test: 80 columns, no colour, one time zone, one language, no matter where it runs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# Hypothesis writes its examples beside the tests otherwise, and slow shared machines are no failure.
from hypothesis import HealthCheck, settings

from tests.schemas import check_printed

# A suite that was started in the background ignores Ctrl-C, and so would the programs it starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples every time, so that a commit is what makes a test fail; STEPSCOPE_FUZZ=2000 looks further.
EXPLORE = os.environ.get("STEPSCOPE_FUZZ")
settings.register_profile(
    "laws",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=int(EXPLORE or 60),
    derandomize=EXPLORE is None,
)
settings.load_profile("laws")

ROOT = Path(__file__).parent.parent
# Where tests wait for other processes, a browser or a framework. On a machine that does other work one of them may come
# too late; what is broken fails each time.
WAITING = tuple(ROOT / "tests" / name for name in ("browser", "faults", "fleet", "frameworks", "live", "trainer"))
DEMO = ROOT / "src" / "stepscope" / "demo"


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", os.devnull)  # nobody's own formats
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)  # and nobody's summaries
    monkeypatch.delenv("LANG", raising=False)
    monkeypatch.setattr("stepscope.cli._gpu.installed_hardware", lambda: None)  # whatever card this machine has
    time.tzset()
    yield
    os.environ.pop("TZ", None)
    time.tzset()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden from what comes out now")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--update-golden") and config.getoption("numprocesses", None):
        raise pytest.UsageError("--update-golden without -n: workers would overwrite each other's entries")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What waits for other processes may fail once; whoever looks for races says `-p no:rerunfailures`."""
    for item in items:
        if any(item.path.is_relative_to(folder) for folder in WAITING):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the file of that name; `--update-golden` rewrites the file."""

    def check(name: str, text: str) -> None:
        path = ROOT / "tests" / "golden" / name
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text

    return check


class Cli:
    """Runs the command line in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        from stepscope.cli import main

        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as leaving:  # argparse's own way out
            code = int(leaving.code or 0)
        out, err = self._capsys.readouterr()
        check_printed(out)
        return code, out, err


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)


@pytest.fixture
def case() -> list[str]:
    """The reference case as arguments."""
    return [str(DEMO / "train.log"), "--config", str(DEMO / "config.py")]
