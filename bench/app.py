"""The list of runs in a real browser: first paint and first rows of 2,000 runs, cold and warm, and the server's memory.

    python bench/app.py [RUNS]

Headless Chromium without a graphics card; figures are reported, nothing is asserted. Needs the extra `web`, Playwright
and a Chromium (`make browser`).
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from page import find_browser, paint_ms

_RUNS = 2000
_FOLDERS = 20
_ROW_MS = "() => window.firstRow"
_WATCH = """
window.firstRow = 0;
new MutationObserver(() => {
  if (!window.firstRow && document.querySelector("#rows a")) {
    requestAnimationFrame(() => { window.firstRow = window.firstRow || performance.now(); });
  }
}).observe(document, { childList: true, subtree: true });
"""
# Scrolls through the whole list in so many frames, and gives the time from one to the next.
_SCROLL = """
async () => {
  const frame = () => new Promise(requestAnimationFrame);
  const gaps = [];
  let before = await frame();
  for (let index = 1; index <= 120; index++) {
    window.scrollTo(0, (document.documentElement.scrollHeight * index) / 120);
    const now = await frame();
    gaps.push(now - before);
    before = now;
  }
  return gaps.sort((a, b) => a - b);
}
"""


def write_runs(folder: Path, num: int) -> int:
    """So many nanoGPT logs of 300 to 3,000 lines in some folders, each with its own times; how many bytes."""
    size, dice = 0, random.Random(7)
    for number in range(num):
        own = folder / f"sweep-{number % _FOLDERS:02}"
        own.mkdir(exist_ok=True)
        level, last = dice.uniform(30, 600), dice.randrange(3000, 30_000, 10)
        lines = ["max_iters = 30000", "eval_interval = 500"]
        for step in range(0, last, 10):
            took = level * dice.gauss(1, 0.01)
            if step % 500 == 0:
                lines += [f"step {step}: train loss 3.0000, val loss {3 + 500 / (step + 500):.4f}"]
                took += 40 * level
            lines.append(f"iter {step}: loss {3 + dice.random() / 10:.4f}, time {took:.2f}ms, mfu 31.00%")
        size += (own / f"run-{number:04}.log").write_text("\n".join(lines) + "\n")
    return size


class Server:
    """A server of the folder with a cache folder of its own."""

    def __init__(self, folder: Path, cache: Path) -> None:
        command = [sys.executable, "-m", "stepscope", "serve", str(folder), "--lang", "en"]
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()

    def memory_mb(self) -> tuple[float, float]:
        """What it has now, and the most that it had."""
        text = Path(f"/proc/{self._process.pid}/status").read_text()
        found = {line.split(":")[0]: line.split()[1] for line in text.splitlines() if line.startswith("Vm")}
        return int(found["VmRSS"]) / 1024, int(found["VmHWM"]) / 1024

    def processor_s(self) -> float:
        """The processor time that it took so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()


def browser_s(browser: Browser) -> float:
    """The processor time of the browser's processes."""
    session = browser.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return float(sum(one["cpuTime"] for one in found))


def visit(browser: Browser, server: Server, num: int, name: str) -> None:
    """Open the list and print a row of the table."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.add_init_script(_WATCH)
    begin, before = time.perf_counter(), (server.processor_s(), browser_s(browser))
    page.goto(server.address)
    painted = paint_ms(page)
    page.wait_for_selector("#rows a", timeout=600_000)
    first_row = page.evaluate(_ROW_MS)
    page.locator("#count", has_text=f"{num:,} of {num:,} runs").wait_for(timeout=3_600_000)
    page.wait_for_selector("#table[aria-busy=false]", timeout=3_600_000)
    whole = time.perf_counter() - begin
    own, browsers = server.processor_s() - before[0], browser_s(browser) - before[1]
    gaps = page.evaluate(_SCROLL)
    now, most = server.memory_mb()
    print(
        f"| {name} | {painted:.0f} | {first_row:.0f} | {whole:.1f} | {own:.2f} | {browsers:.2f} "
        f"| {gaps[len(gaps) // 2]:.1f} | {gaps[-1]:.1f} | {now:.0f} | {most:.0f} |",
        flush=True,
    )
    page.close()


def main() -> int:
    num = int(sys.argv[1]) if len(sys.argv) > 1 else _RUNS
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder, cache = Path(name) / "runs", Path(name) / "cache"
        folder.mkdir()
        size = write_runs(folder, num)
        print(f"{num:,} logs, {size / 1e6:.0f} MB; load {os.getloadavg()[0]:.1f}\n")
        names = ("visit", "first paint ms", "first row ms", "all rows s", "server s", "browser s")
        print("| " + " | ".join((*names, "frame ms", "longest ms", "server MB", "at most MB")) + " |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"])
        for visits in (("cold", "the same server again"), ("warm: another server",)):
            server = Server(folder, cache)
            for visited in visits:
                visit(browser, server, num, visited)
            server.stop()
        browser.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
