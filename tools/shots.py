"""Take the picture of the app for the README, from runs of our own trainer on the CPU.

    python tools/shots.py [FOLDER]      some five minutes; writes docs/app.png

The run page, in all its states, is pictured by `tools/page_shots.py`.

Needs the extras `train` and `web`, Playwright and a Chromium (`make browser`). The runs are kept in FOLDER when one is
named, and used again when they lie there.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

DOCS = Path(__file__).resolve().parents[1] / "docs"
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_COMMON = ("--eval_iters=20", "--log_interval=5", "--n_head=2", "--block_size=64", "--compile=False", "--threads=1")
# Name → settings, and after how many iterations it is stopped: one that went all the way, two that are on their way.
_RUNS: dict[str, tuple[tuple[str, ...], int]] = {
    "small": (("--n_layer=2", "--n_embd=64", "--max_iters=1500", "--eval_interval=250"), 1500),
    "evaluates-often": (("--n_layer=2", "--n_embd=64", "--max_iters=4000", "--eval_interval=50"), 1200),
    "wider": (("--n_layer=4", "--n_embd=128", "--max_iters=6000", "--eval_interval=250"), 700),
}
_WIDTH = 1000


def main() -> int:
    with contextlib.ExitStack() as stack:
        named = sys.argv[1:2]
        folder = Path(named[0]) if named else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for name in _RUNS:
            train(folder / name)
        address = stack.enter_context(serving(folder))
        page = stack.enter_context(browsing())
        page.goto(address)
        for name in ("wider", "small"):
            page.locator(f'input[value="{name}/train.log"]').check()
        take(page, "app.png", 560)
    return 0


def train(folder: Path) -> None:
    """A run's log in `folder`, where there is none yet."""
    settings, last = _RUNS[folder.name]
    log = folder / "train.log"
    if log.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-u", "-m", "stepscope", "train", "--lang", "en", "--out_dir=out"]
    command += [*_COMMON, *settings]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith(f"iter {last}:"):
                process.terminate()  # what it says of its end does not count: it is on its way
                break
        process.stdout.close()
    log.write_text("".join(lines), encoding="utf-8")
    shutil.rmtree(folder / "out", ignore_errors=True)


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of an app for the runs below `folder`."""
    command = [sys.executable, "-m", "stepscope", "serve", ".", "--lang", "en"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@contextlib.contextmanager
def browsing() -> Iterator[Page]:
    """A page of the system's Chromium."""
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if path is None:
        raise SystemExit("no Chromium here: make browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser.new_page(viewport={"width": _WIDTH, "height": 900}, color_scheme="light")
        browser.close()


def take(page: Page, name: str, height: int) -> None:
    """The top of a page as a picture."""
    page.screenshot(path=DOCS / name, clip={"x": 0, "y": 0, "width": _WIDTH, "height": height}, full_page=True)


if __name__ == "__main__":
    raise SystemExit(main())
