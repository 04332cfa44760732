"""Pictures of the app in every state, in a real browser: look at them after a change.

    python tools/app_shots.py FOLDER             all of them
    python tools/app_shots.py --docs             docs/app.png

The runs are written for it; those that are going end a few seconds before the picture is taken. Needs the extra `web`,
Playwright and a Chromium (`make browser`).
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, sync_playwright

Scheme = Literal["light", "dark"]
_DOCS = Path(__file__).parent.parent / "docs"
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_SIZES = {"desktop": (1280, 800), "wide": (1920, 1080), "phone": (390, 844)}
_DAY_S = 86_400
_SCHEMES: tuple[Scheme, ...] = ("light", "dark")
_MEMORY = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB"
_NCCL = "RuntimeError: NCCL communicator was aborted on rank 3"


def lines_of(last: int, total: int | None, level_ms: float, *, every: int, evaluate: int, seed: int) -> list[str]:
    """A nanoGPT log: evaluations, saves, a first iteration that compiles, a loss that falls."""
    dice = random.Random(seed)
    lines = [f"eval_interval = {evaluate}", "batch_size = 12", "block_size = 1024", "gradient_accumulation_steps = 5"]
    if total is not None:
        lines.append(f"max_iters = {total}")
    for step in range(0, last + 1, every):
        loss = (9.4 - 0.002 * seed) / (1 + step / 400) ** 0.3
        took = level_ms * dice.gauss(1, 0.012) + (9000 if step == 0 else 0)
        if step % evaluate == 0:
            lines.append(f"step {step}: train loss {loss - 0.05:.4f}, val loss {loss + dice.gauss(0, 0.01):.4f}")
            took += 30 * level_ms
            if step and step % (2 * evaluate) == 0:
                lines.append("saving checkpoint to out")
                took += 1200
        lines.append(f"iter {step}: loss {loss + dice.gauss(0, 0.03):.4f}, time {took:.2f}ms, mfu 31.00%")
    return lines


def write_runs(root: Path) -> None:
    """Runs in every state."""

    def write(name: str, lines: list[str], age_s: float, *died: str) -> None:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([*lines, *(("Traceback (most recent call last):", *died) if died else ())]) + "\n")
        os.utime(path, (time.time() - age_s,) * 2)

    def small(last: int, level_ms: float, seed: int) -> list[str]:
        return lines_of(last, 5000, level_ms, every=10, evaluate=250, seed=seed)

    def large(last: int, total: int | None, level_ms: float, seed: int) -> list[str]:
        return lines_of(last, total, level_ms, every=10, evaluate=1000, seed=seed)

    write("gpt2-124m/lr-6e-4.log", large(13_740, 20_000, 169, 2), 1)
    write("gpt2-124m/no-compile.log", large(4200, 20_000, 236, 3), 0)
    write("gpt2-124m/baseline.log", large(20_000, 20_000, 171, 1), 0.9 * _DAY_S)
    write("gpt2-124m/batch-32.log", large(30, 20_000, 410, 4), 7200, _MEMORY)
    write("gpt2-350m/warmup-2k.log", large(18_000, 60_000, 402, 5), 2)
    write("gpt2-350m/ctx-2048.log", large(31_200, 60_000, 398, 6), 40_000, _NCCL)
    write("ablations/rope.log", small(5000, 96, 7), 2.3 * _DAY_S)
    write("ablations/alibi.log", small(5000, 101, 8), 2.4 * _DAY_S)
    write("ablations/nope.log", small(2600, 99, 9), 30_000)
    write("shakespeare/no-total.log", lines_of(3000, None, 38, every=10, evaluate=250, seed=10), 3)


class Served:
    """A server of the runs; its summaries are its own."""

    def __init__(self, root: Path, cache: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "stepscope", "serve", str(root), "--lang", "en"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()


def open_list(browser: Browser, address: str, size: tuple[int, int], scheme: Scheme, num: int) -> Page:
    """The list with all its rows."""
    width, height = size
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(address)
    page.locator("#count", has_text=f"{num} of {num} runs").wait_for()
    page.wait_for_selector("#table[aria-busy=false]")
    return page


def shoot_all(browser: Browser, address: str, target: Path) -> None:
    """Every state, in each size, light and dark."""
    for (name, size), scheme in zip([*_SIZES.items()] * 2, _SCHEMES * 3, strict=True):
        page = open_list(browser, address, size, scheme, 10)
        at = page.url

        def shot(state: str, page: Page = page, name: str = name, scheme: str = scheme, *, full: bool = False) -> None:
            page.screenshot(path=target / f"{state}-{name}-{scheme}.png", full_page=full)

        shot("list")
        page.locator("#grouped").check()
        shot("grouped")
        page.locator("#grouped").uncheck()
        for index in range(3):
            page.locator("#rows input").nth(index).check()
        shot("ticked")
        page.locator("#new").click()
        shot("new")
        page.keyboard.press("Escape")
        page.locator("#compare").click()
        page.wait_for_selector("#overlay canvas")
        shot("compare", full=True)
        page.goto(f"{at}run?path=shakespeare/no-total.log")
        page.wait_for_selector("#run canvas")
        shot("run")
        page.goto(f"{at}run?path=none")
        shot("error")
        page.close()


def main() -> int:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if path is None:
        raise SystemExit("no Chromium here: make browser")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        root = Path(name) / "runs"
        write_runs(root)
        server = Served(root, Path(name) / "cache")
        if sys.argv[1] == "--docs":
            page = open_list(browser, server.address, (1440, 800), "light", 10)
            page.screenshot(path=_DOCS / "app.png")
        else:
            target = Path(sys.argv[1])
            target.mkdir(parents=True, exist_ok=True)
            shoot_all(browser, server.address, target)
            empty = Served(Path(name) / "cache", Path(name) / "cache")
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(empty.address)
            page.locator("#empty").wait_for()
            page.screenshot(path=target / "empty.png")
            empty.stop()
        server.stop()
        browser.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
