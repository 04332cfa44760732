"""Take pictures of the run page in every state, to look at before a change of it goes out.

    python tools/page_shots.py FOLDER [--docs]

Writes a picture for each state, width and theme, and one for each panel; `--docs` writes docs/page.png, too. The logs
are made here, from the one of the demo. Needs Playwright and a Chromium (`make browser`).
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "src" / "stepscope" / "demo"
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_WIDTHS = {1280: 900, 1920: 1080, 390: 844}
_THEMES = ("light", "dark")
_TRACEBACK = ["Traceback (most recent call last):", '  File "train.py", line 301, in <module>']
_OUT_OF_MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 48.00 MiB. GPU 0 has a total capacity of 11.99 GiB "
    "of which 36.50 MiB is free. Process 1 has 11.90 GiB memory in use."
)
_CONFIG = ("--config", str(DEMO / "config.py"))
# State → lines that follow the demo's, and what else the command is told.
_STATES: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "running": ([], (*_CONFIG, "--now", "2025-11-15 02:30", "--gpu", "RTX 4070")),
    "finished": ([], (*_CONFIG, "--max-steps", "1300")),
    "no-total": ([], ()),
    "crashed": ([*_TRACEBACK, "RuntimeError: DataLoader worker (pid 4242) exited unexpectedly"], _CONFIG),
    "out-of-memory": ([*_TRACEBACK, _OUT_OF_MEMORY], _CONFIG),
}


def main() -> int:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    pages = {name: made(folder, name) for name in (*_STATES, "out-of-memory-at-once", "epochs")}
    with browsing() as browser:
        for (name, path), width, theme in itertools.product(pages.items(), _WIDTHS, _THEMES):
            take(browser, path, folder / f"{name}-{width}-{theme}.png", width=width, theme=theme)
        for panel in ("slow", "forecast", "whatif", "log", "read"):
            take(browser, pages["running"], folder / f"panel-{panel}.png", panel=panel)
        if "--docs" in sys.argv[2:]:
            take(browser, pages["running"], ROOT / "docs" / "page.png", whole=False)
    print(f"{len(list(folder.glob('*.png')))} pictures in {folder}")
    return 0


def made(folder: Path, name: str) -> Path:
    """The page of a state."""
    log, page = folder / f"{name}.log", folder / f"{name}.html"
    lines, flags = log_of(name)
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "stepscope", log.name, *flags, "--lang", "en", "--format", "html", "-o", page.name]
    # A run that died at once is shown, and answered with a code of its own.
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return page


def log_of(name: str) -> tuple[list[str], tuple[str, ...]]:
    """The lines of a state's log, and the flags of its command."""
    if name == "epochs":
        lines = ["Epoch 1/9", "300/300 - 1015s - loss: 1.7932 - val_loss: 1.5277 - 1015s/epoch - 3s/step"]
        for epoch in range(2, 7):
            loss = 1.8 / epoch
            lines += [
                f"Epoch {epoch}/9",
                f"300/300 - 992s - loss: {loss:.4f} - val_loss: {loss + 0.1:.4f} - 992s/epoch - 3s/step",
            ]
        return lines, ()
    if name == "out-of-memory-at-once":
        return ["step 0: train loss 10.8237, val loss 10.8231", *_TRACEBACK, _OUT_OF_MEMORY], _CONFIG
    more, flags = _STATES[name]
    return [*(DEMO / "train.log").read_text(encoding="utf-8").splitlines(), *more], flags


@contextlib.contextmanager
def browsing() -> Iterator[Browser]:
    """The system's Chromium."""
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if path is None:
        raise SystemExit("no Chromium here: make browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def take(
    browser: Browser,
    page: Path,
    target: Path,
    *,
    width: int = 1280,
    theme: str = "light",
    panel: str | None = None,
    whole: bool = True,
) -> None:
    """A page as a picture; complaints of the browser are printed."""
    context = browser.new_context(
        viewport={"width": width, "height": _WIDTHS[width] if whole else 1310},
        color_scheme="dark" if theme == "dark" else "light",
        has_touch=width < 640,
        is_mobile=width < 640,
    )
    view = context.new_page()
    view.on("console", lambda message: print(target.name, message.text) if message.type == "error" else None)
    view.on("pageerror", lambda error: print(target.name, error))
    view.goto(page.resolve().as_uri())
    if panel is not None:
        view.locator(f"#tab-{panel}").click()
    if not whole:
        low, high = view.evaluate("stepscope.view()")
        box = view.locator("#stops .u-over").bounding_box()
        assert box is not None
        view.mouse.move(box["x"] + box["width"] * (500 - low) / (high - low), box["y"] + 40)
        view.wait_for_timeout(100)
    view.screenshot(path=target, full_page=whole)
    context.close()


if __name__ == "__main__":
    raise SystemExit(main())
