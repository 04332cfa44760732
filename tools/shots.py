"""Take pictures of the page and of the app in every state, in a real browser: look at them after a change.

    python tools/shots.py FOLDER                        every state, width and theme: some 220 pictures, minutes
    python tools/shots.py FOLDER --only 'page-oom*'     those whose names match
    python tools/shots.py --docs                        docs/page.png and docs/app.png

Names are page-STATE-WIDTH-THEME-LANGUAGE.png, panel-NAME.png, app-VIEW-WIDTH-THEME.png, fleet-….png. The logs are made
here. What the browser complains of is printed, and makes the command fail. Needs the extras `web` and `fleet`,
Playwright and a Chromium (`make browser`).
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from shot_logs import DAY_S, DEMO, STATES, write_runs, write_state
from stepscope.cli import main as stepscope

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_WIDTHS = {1280: 900, 1920: 1080, 390: 844}
_THEMES = ("light", "dark")
_LANGUAGES = ("es", "de", "fr")
_PANELS = {
    "running": ("slow", "forecast", "whatif", "log", "read"),
    "backtest": ("forecast", "whatif"),
    "ranks": ("ranks",),
    "slower": ("slow", "log"),
}
_NUM_RUNS = 12


class Shots:
    """The pictures that are wanted, and what the browser had to say while they were taken."""

    def __init__(self, browser: Browser, folder: Path, only: str) -> None:
        self._browser, self._folder, self._only = browser, folder, only
        self.complaints: list[str] = []
        self.num = 0

    def wants(self, *names: str) -> bool:
        """Whether one of these pictures is to be taken."""
        return any(fnmatch.fnmatch(name, self._only) for name in names)

    @contextlib.contextmanager
    def page(self, name: str, address: str, width: int, theme: str) -> Iterator[Page]:
        """A page of a window that wide; what goes wrong on it is noted under the name."""
        context = self._browser.new_context(
            viewport={"width": width, "height": _WIDTHS.get(width, 800)},
            color_scheme="dark" if theme == "dark" else "light",
            has_touch=width < 640,
            is_mobile=width < 640,
        )
        page = context.new_page()
        page.on("console", lambda message: self._note(name, message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self._note(name, str(error)))
        page.goto(address)
        yield page
        context.close()

    def take(self, page: Page, name: str, *, whole: bool = True) -> None:
        """The page as a picture, where it is wanted."""
        if self.wants(name):
            page.screenshot(path=self._folder / f"{name}.png", full_page=whole)
            self.num += 1

    def _note(self, name: str, text: str) -> None:
        if "404" not in text:  # the page of a run that is not there
            self.complaints.append(f"{name}: {text}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--only", default="*", metavar="PATTERN")
    parser.add_argument("--docs", action="store_true")
    args = parser.parse_args()
    if args.folder is None and not args.docs:
        parser.error("a folder, or --docs")
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if path is None:
        raise SystemExit("no Chromium here: make browser")
    # The server is a process of its own; it runs the same sources.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        work = Path(name)
        if args.docs:
            picture_docs(browser, work)
        if args.folder is not None:
            args.folder.mkdir(parents=True, exist_ok=True)
            shots = Shots(browser, args.folder, args.only)
            shoot_pages(shots, work)
            shoot_app(shots, work)
            shoot_fleet(shots, work)
            print(f"{shots.num} pictures in {args.folder}", *shots.complaints, sep="\n")
        browser.close()
    return 1 if args.folder is not None and shots.complaints else 0


def shoot_pages(shots: Shots, work: Path) -> None:
    """The page from disk, in every state; its panels; two states in the other languages."""
    for state, width, theme in itertools.product(STATES, _WIDTHS, _THEMES):
        shoot_page(shots, work, state, width=width, theme=theme, language="en")
    for state, language, width in itertools.product(("running", "oom", "stopped"), _LANGUAGES, (1280, 390)):
        theme = "light" if width == 1280 else "dark"
        shoot_page(shots, work, state, width=width, theme=theme, language=language)
    for state, panel in ((state, panel) for state, panels in _PANELS.items() for panel in panels):
        for width, theme in ((1280, "light"), (390, "dark")):
            name = f"panel-{state}-{panel}-{width}-{theme}"
            if shots.wants(name):
                with shots.page(name, saved(work, state, "en"), width, theme) as page:
                    page.locator(f"#tab-{panel}").click()
                    shots.take(page, name)


def shoot_page(shots: Shots, work: Path, state: str, *, width: int, theme: str, language: str) -> None:
    name = f"page-{state}-{width}-{theme}-{language}"
    if shots.wants(name):
        with shots.page(name, saved(work, state, language), width, theme) as page:
            shots.take(page, name)


def saved(work: Path, state: str, language: str) -> str:
    """The address of a state's page."""
    target = work / f"{state}-{language}.html"
    if not target.exists():
        paths, flags = write_state(work / state, state)
        logs = [str(path) for path in paths]
        # A run that died is shown, and answered with a code of its own.
        stepscope([*logs, *flags, "--lang", language, "--format", "html", "-o", str(target)])
    return target.as_uri()


def shoot_app(shots: Shots, work: Path) -> None:
    """The list, the dialog, a comparison, a run, and what there is when there is nothing."""
    root = work / "runs"
    write_runs(root)
    views = ("list", "grouped", "ticked", "new", "nothing", "compare", "run", "dead", "excerpt", "error", "empty")
    wanted = [
        (width, theme, [view for view in views if shots.wants(f"app-{view}-{width}-{theme}")])
        for width, theme in itertools.product(_WIDTHS, _THEMES)
    ]
    if any(names for *_, names in wanted):
        with serving(root, work / "cache") as address, serving(work / "cache", work / "cache") as bare:
            for width, theme, names in wanted:
                if names:
                    shoot_views(shots, address, bare, width, theme)
    for language in _LANGUAGES:
        if shots.wants(*(f"app-{view}-1280-light-{language}" for view in ("list", "new", "compare", "run"))):
            with serving(root, work / "cache", language) as address:
                shoot_language(shots, address, language)


def shoot_views(shots: Shots, address: str, bare: str, width: int, theme: str) -> None:
    """Every view of the app in one width and theme."""
    end = f"{width}-{theme}"
    with shots.page(f"app-{end}", address, width, theme) as page:
        at = listed(page)
        shots.take(page, f"app-list-{end}", whole=False)
        page.locator("#search").fill("no such run")
        shots.take(page, f"app-nothing-{end}", whole=False)
        page.locator("#search").fill("")
        page.locator("#grouped").check()
        shots.take(page, f"app-grouped-{end}", whole=False)
        page.locator("#grouped").uncheck()
        for index in range(3):
            page.locator("#rows input").nth(index).check()
        shots.take(page, f"app-ticked-{end}", whole=False)
        page.locator("#new").click()
        shots.take(page, f"app-new-{end}", whole=False)
        page.locator("#text").fill("\n".join((DEMO / "train.log").read_text(encoding="utf-8").splitlines()[6:14]))
        page.locator("#paste button[type=submit]").click()
        page.wait_for_selector("#answer .run")
        shots.take(page, f"app-excerpt-{end}", whole=False)
        page.locator("#compare").click()
        page.wait_for_selector("#overlay canvas")
        shots.take(page, f"app-compare-{end}")
        for view, run in (("run", "shakespeare/no-total.log"), ("dead", "gpt2-124m/batch-32.log")):
            page.goto(f"{at}run?path={run}")
            page.wait_for_selector("#run .cards")
            shots.take(page, f"app-{view}-{end}")
        page.goto(f"{at}run?path=none")
        shots.take(page, f"app-error-{end}", whole=False)
    with shots.page(f"app-{end}", bare, width, theme) as page:
        page.locator("#empty").wait_for()
        shots.take(page, f"app-empty-{end}", whole=False)


def shoot_language(shots: Shots, address: str, language: str) -> None:
    """The app in another language."""
    end = f"1280-light-{language}"
    with shots.page(f"app-{end}", address, 1280, "light") as page:
        at = listed(page)
        for index in range(2):
            page.locator("#rows input").nth(index).check()
        shots.take(page, f"app-list-{end}", whole=False)
        page.locator("#new").click()
        shots.take(page, f"app-new-{end}", whole=False)
        page.keyboard.press("Escape")
        page.locator("#compare").click()
        page.wait_for_selector("#overlay canvas")
        shots.take(page, f"app-compare-{end}")
        page.goto(f"{at}run?path=shakespeare/no-total.log")
        page.wait_for_selector("#run canvas")
        shots.take(page, f"app-run-{end}")


def listed(page: Page) -> str:
    """Wait until the list has all its rows; its address without the token."""
    page.wait_for_selector("#table[aria-busy=false]")
    page.wait_for_function(f"() => document.querySelectorAll('#rows [data-state]:not(.chip)').length >= {_NUM_RUNS}")
    return page.url.split("#")[0]


def shoot_fleet(shots: Shots, work: Path) -> None:
    """The page of a fleet."""
    wanted = {f"fleet-{width}-{theme}": (width, theme) for width, theme in itertools.product(_WIDTHS, _THEMES)}
    if not shots.wants(*wanted):
        return
    write_runs(work / "fleet", ages=DAY_S)
    stepscope(["fleet", "scan", str(work / "fleet"), "--store", str(work / "store"), "--workers", "1"])
    target = work / "fleet-page"
    stepscope(
        ["fleet", "report", "--store", str(work / "store"), "--lang", "en", "--format", "html", "-o", f"{target}/"]
    )
    for name, (width, theme) in wanted.items():
        if shots.wants(name):
            with shots.page(name, (target / "index.html").as_uri(), width, theme) as page:
                shots.take(page, name)


def picture_docs(browser: Browser, work: Path) -> None:
    """The pictures of the documentation."""
    shots = Shots(browser, DOCS, "*")
    with shots.page("page", saved(work, "running", "en"), 1280, "light") as page:
        page.set_viewport_size({"width": 1280, "height": 1310})
        low, high = page.evaluate("stepscope.view()")
        box = page.locator("#stops .u-over").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] * (500 - low) / (high - low), box["y"] + 40)
        page.wait_for_timeout(100)
        shots.take(page, "page", whole=False)
    write_runs(work / "runs")
    with (
        serving(work / "runs", work / "cache") as address,
        shots.page("app", address, 1440, "light") as page,
    ):
        listed(page)
        shots.take(page, "app", whole=False)


@contextlib.contextmanager
def serving(root: Path, cache: Path, language: str = "en") -> Iterator[str]:
    """The address of an app for the runs below `root`; its summaries are its own."""
    cache.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "stepscope", "serve", str(root), "--lang", language]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


if __name__ == "__main__":
    raise SystemExit(main())
