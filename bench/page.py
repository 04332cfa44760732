"""The page and the app in a real browser: size of the file, time to first paint, the longest frame of a pan.

    python bench/page.py

Headless Chromium without a graphics card; figures are reported, nothing is asserted. Needs the extra `web`, Playwright
and a Chromium (`make browser`).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FRAMES = 120
# Pans and zooms one step a frame, and gives the time from frame to frame and what of it was the script's own.
_PAN = """
async (frames) => {
  const strip = document.getElementById("strip");
  const press = (key) => strip.dispatchEvent(new KeyboardEvent("keydown", { key }));
  const frame = () => new Promise(requestAnimationFrame);
  press("+"); press("+"); press("+");
  await frame();
  const gaps = [], own = [];
  let before = await frame();
  for (let index = 0; index < frames; index++) {
    const begin = performance.now();
    press(["ArrowRight", "ArrowLeft", "+", "-"][Math.floor(index / 8) % 4]);
    await Promise.resolve();  // uPlot draws when the present task is done
    own.push(performance.now() - begin);
    const now = await frame();
    gaps.push(now - before);
    before = now;
  }
  const sorted = (values) => values.sort((a, b) => a - b);
  return { gaps: sorted(gaps), own: sorted(own) };
}
"""


def find_browser() -> str:
    """The Chromium of this machine."""
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if path is None:
        raise SystemExit("no Chromium here: make browser")
    return path


def write_log(path: Path, *, steps: int = 0, num_bytes: int = 0) -> int:
    """A nanoGPT log of so many steps, or of about so many bytes; evaluations, at most 400 of them, a few stalls."""
    size = step = 0
    every = max(250, steps // 400)
    with path.open("w", encoding="utf-8") as file:
        while step < steps if steps else size < num_bytes:
            took = 170.0 + step % 7 + (5800 if step % every == 0 else 0) + (9000 if step % 70_001 == 70_000 else 0)
            lines = f"iter {step}: loss {3 + 5 / (1 + step / 900):.4f}, time {took:.2f}ms, mfu 31.00%\n"
            if step % every == 0:
                lines = f"step {step}: train loss 3.0000, val loss 3.1000\nsaving checkpoint to out\n" + lines
            size += file.write(lines)
            step += 1
    return size


def saved_page(log: Path, max_steps: int) -> tuple[Path, float]:
    """The page of a log, and the seconds to make it, start-up included."""
    target = log.with_suffix(".html")
    begin = time.perf_counter()
    command = [sys.executable, "-m", "stepscope", str(log), "--max-steps", str(max_steps), "--format", "html"]
    subprocess.run([*command, "--lang", "en", "-o", str(target)], check=True, capture_output=True)
    return target, time.perf_counter() - begin


def paint_ms(page: Page) -> float:
    """First contentful paint since the navigation began."""
    page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint').length > 0")
    return float(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))


def bench_files(folder: Path, browser: Browser) -> None:
    print("| steps | log MB | page kB | made in s | drawn after ms | median frame ms | longest frame ms | own ms |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for steps in (1000, 100_000, 1_000_000):
        log = folder / f"{steps}.log"
        size = write_log(log, steps=steps)
        path, seconds = saved_page(log, 2 * steps)
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        page.goto(path.as_uri())
        page.wait_for_selector("#strip canvas")
        drawn = page.evaluate("performance.now()")
        frames = page.evaluate(_PAN, _FRAMES)
        gaps, own = frames["gaps"], frames["own"]
        print(
            f"| {steps:,} | {size / 1e6:.1f} | {path.stat().st_size / 1e3:.0f} | {seconds:.2f} | {drawn:.0f} "
            f"| {gaps[len(gaps) // 2]:.1f} | {gaps[-1]:.1f} | {own[-1]:.1f} |",
            flush=True,
        )
        page.close()


def bench_server(folder: Path, browser: Browser) -> None:
    runs = folder / "runs"
    runs.mkdir()
    write_log(runs / "train.log", num_bytes=1_000_000)
    command = [sys.executable, "-m", "stepscope", "serve", str(runs), "--lang", "en"]
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        ready = time.perf_counter() - begin
        page = browser.new_page()
        page.goto(address)
        listed = paint_ms(page)
        runs_page = page.url  # without the token
        page.goto(runs_page + "run?path=train.log")
        opened = paint_ms(page)
        page.goto(runs_page + "run?path=train.log")
        again = paint_ms(page)
        page.close()
        server.terminate()
    print(f"\nserve, one log of 1 MB: address printed after {ready:.2f} s; first paint of the list")
    print(f"{listed:.0f} ms, of the run's page {opened:.0f} ms, of the same page again {again:.0f} ms.")


def main() -> int:
    path = find_browser()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        bench_files(Path(name), browser)
        bench_server(Path(name), browser)
        browser.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
