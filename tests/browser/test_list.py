"""The list of runs in a real browser: rows as they are read, filters, order, thousands of them, notices, facts."""

from __future__ import annotations

import os
import re
import time

import pytest

from stepscope.i18n import languages
from tests.browser.server import serving
from tests.browser.test_accessible import complaints
from tests.unit.logs import training

SIZES = {(1280, 800): "light", (1920, 1080): "dark", (390, 844): "light"}


def write(path, lines, age_s=0.0):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    moment = time.time() - age_s
    os.utime(path, (moment, moment))


def run_of(last, total, step_ms, every=10):
    return [f"max_iters = {total}", *training(last, every=every, evaluate=100, step_ms=step_ms)]


def fill(folder):
    """Runs in every state that a log alone can show; those that are going, for as long as the tests may take."""
    write(folder / "gpt2" / "going.log", run_of(600, 2000, 101.0), -3600)
    write(folder / "gpt2" / "done.log", run_of(1000, 1000, 102.0), 90_000)
    write(folder / "gpt2" / "memory.log", [*run_of(400, 2000, 103.0), *_DIED], 7000)
    write(folder / "small" / "quiet.log", run_of(300, 2000, 40.0), 100_000)
    write(folder / "small" / "open.log", training(400, every=10, evaluate=100, step_ms=41.0), -3000)
    write(folder / "notes.txt", ["nothing of the kind"] * 20)
    return folder


_DIED = [
    "Traceback (most recent call last):",
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB",
]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def address(shelf):
    with serving(shelf) as found:
        yield found


def opened(open_page, address, num=5, **options):
    page = open_page(address, offline=False, **options)
    page.wait_for_selector("#table[aria-busy=false]")
    page.locator("#count", has_text=re.compile(rf"\b{num}\b")).wait_for()
    return page


def names(page):
    return page.locator("#rows a").all_inner_texts()


def states(page):
    rows = page.locator("#rows .cells")
    return {row.locator("a").inner_text(): row.locator(".chip").get_attribute("data-state") for row in rows.all()}


def test_a_row_says_how_the_run_is(address, open_page, problems):
    page = opened(open_page, address)
    assert states(page) == {
        "going.log": "running",
        "open.log": "running",
        "done.log": "finished",
        "memory.log": "out_of_memory",
        "quiet.log": "stopped",
    }
    going = page.locator("#rows .cells", has_text="going.log")
    text = going.inner_text()
    assert "training, last line" in text
    assert "30" in text
    assert "done at" in text
    assert "total not known" in page.locator("#rows .cells", has_text="open.log").inner_text()
    died = page.locator("#rows .cells", has_text="memory.log").inner_text()
    assert "CUDA out of memory" in died
    assert "done at" not in died
    assert "Files without a training log: 1" in page.locator("#count").inner_text()
    assert page.title().startswith("(2)")
    assert problems == []


def test_search_states_trainers_folders_and_groups(address, open_page):
    page = opened(open_page, address)
    page.locator("#search").fill("small")
    assert sorted(names(page)) == ["open.log", "quiet.log"]
    page.locator("#search").fill("")
    page.locator("#states button", has_text="Finished").click()
    assert names(page) == ["done.log"]
    page.reload()  # what is set is in the address
    page.locator("#count", has_text="1 of 5").wait_for()
    assert names(page) == ["done.log"]
    page.locator('#states button[data-state=""]').click()
    page.locator("#folder").select_option(label="gpt2")
    assert len(names(page)) == 3
    page.locator("#folder").select_option("")
    page.locator("#grouped").check()
    assert [one.splitlines()[0] for one in page.locator("#rows .group").all_inner_texts()] == ["gpt23", "small2"]
    page.locator("#search").fill("no such run")
    assert "Clear the search" in page.locator("#count").inner_text()


@pytest.mark.parametrize(
    ("column", "first"),
    [("run", "done.log"), ("step", "quiet.log"), ("overhead", "quiet.log"), ("progress", "done.log")],
)
def test_every_column_sorts_both_ways(address, open_page, column, first):
    page = opened(open_page, address)
    head = page.locator(f'button[data-sort="{column}"]')
    head.click()
    down = names(page)
    assert down[0] == first
    head.click()
    up = names(page)
    known = [name for name in down if column != "progress" or name != "open.log"]
    assert [name for name in up if name in known] == known[::-1]
    if column == "progress":
        assert down[-1] == up[-1] == "open.log"  # what is not known comes last either way


def test_thousands_of_rows_are_all_there_and_few_are_drawn(tmp_path, open_page, problems):
    """The server's answer in pieces is stood in for, so that nobody reads so many logs for a test."""
    row = {"size": 1, "mtime": 1.0, "files": 1, "problem": "not read"}
    rows = [{**row, "key": f"{number:04}.log", "name": f"{number:04}.log"} for number in range(3000)]
    progress = {"num_found": 3000, "num_read": 3000, "num_others": 0, "num_unreadable": 0, "is_searched": True}

    def answer(route):
        since = int(route.request.url.rpartition("=")[2])
        part = rows[since : since + 400]
        version = since + len(part)
        body = {"version": version, "more": version < 3000, "rows": part, "gone": [], "progress": progress}
        route.fulfill(json=body)

    with serving(tmp_path) as address:
        page = open_page("about:blank", offline=False)
        page.route("**/rows?since=*", answer)
        page.goto(address)
        page.locator("#count", has_text="3,000 of 3,000 runs").wait_for()
        page.locator('button[data-sort="run"]').click()
        assert page.locator("#rows .cells").count() < 60
        page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
        page.locator("#rows a", has_text="2999.log").wait_for()
        assert page.locator("#rows .cells").count() < 60
        page.locator("#rows a", has_text="2980.log").focus()
        for _ in range(15):
            page.keyboard.press("ArrowUp")
        assert page.evaluate("document.activeElement.textContent") == "2965.log"
    assert [one for one in problems if "ERR_" not in one] == []


def test_with_the_keyboard_alone(address, open_page, problems):
    """Search, tick two, compare; and a run from the list and back."""
    page = opened(open_page, address)
    page.keyboard.press("/")
    page.keyboard.type("gpt2")
    assert len(names(page)) == 3
    page.locator("#rows input").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    assert "2 chosen" in page.locator("#chosen-text").inner_text()
    for _ in range(20):
        if page.evaluate("document.activeElement.id") == "compare":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("#overlay canvas")
    page.locator("input[name=axis][value=step]").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("input[name=axis][value=time]").is_checked()
    assert page.locator("#overlay canvas").count() == 3
    page.locator("#chart-took .u-over").hover()
    assert page.locator("#read-took .value").count() == 2  # what each run has at the cursor, in all charts at once
    assert page.locator("#read-loss .value").count() == 2
    assert problems == []


def test_one_run_alone_cannot_be_compared_and_no_more_than_eight(tmp_path, open_page):
    for number in range(9):
        write(tmp_path / f"{number}.log", run_of(100, 100, 100.0 + number))
    with serving(tmp_path) as address:
        page = opened(open_page, address, 9)
        boxes = page.locator("#rows input")
        boxes.nth(0).check()
        before = page.url
        page.locator("#compare").click(force=True)
        assert page.url == before
        for index in range(1, 8):
            boxes.nth(index).check()
        assert boxes.nth(8).is_disabled()
        page.locator("#compare").click()
        page.wait_for_selector("#overlay canvas")
        assert page.locator("#overlay-runs li").count() == 8
        assert page.locator(".pair svg").count() == 8


def test_what_happens_while_one_looks_is_told(tmp_path, open_page, problems):
    """A new run appears, a run dies: its row, a notice on the page, and the browser's where asked for."""
    log = tmp_path / "a.log"
    write(log, run_of(300, 2000, 100.0))
    with serving(tmp_path) as address:
        page = open_page("about:blank", offline=False)
        page.add_init_script(
            "window.told = []; class Notification { constructor(text) { told.push(text); }"
            "static permission = 'granted'; static async requestPermission() { return 'granted'; } }"
            "window.Notification = Notification;"
        )
        page.goto(address)
        page.locator("#rows a", has_text="a.log").wait_for()
        page.locator("#notify").click()
        page.locator("#notify[aria-pressed=true]").wait_for()
        write(tmp_path / "b.log", run_of(200, 2000, 120.0))
        page.locator("#rows a", has_text="b.log").wait_for()
        with log.open("a") as file:
            file.write("\n".join(_DIED) + "\n")
        page.locator('#rows .chip[data-state="out_of_memory"]').wait_for()
        toast = page.locator(".toast", has_text="a.log").first
        toast.wait_for()
        assert any("a.log" in text for text in page.evaluate("window.told"))
        toasts = page.locator(".toast").count()
        toast.locator("button").click()
        assert page.locator(".toast").count() == toasts - 1
    assert [one for one in problems if "ERR_" not in one] == []


def test_an_empty_folder_says_what_to_do(tmp_path, open_page, problems):
    with serving(tmp_path) as address:
        page = open_page(address, offline=False)
        page.locator("#empty").wait_for()
        assert "stepscope run -- python train.py" in page.locator("#empty").inner_text()
        assert not page.locator("#table").is_visible()
        assert complaints(open_page(address, offline=False, bypass_csp=True)) == []
        write(tmp_path / "first.log", run_of(200, 2000, 100.0))
        page.locator("#rows a", has_text="first.log").wait_for()
    assert [one for one in problems if "ERR_" not in one and "401" not in one] == []


def test_a_server_that_is_gone_is_said_to_be(tmp_path, open_page):
    write(tmp_path / "a.log", run_of(200, 2000, 100.0))
    with serving(tmp_path) as address:
        page = open_page(address, offline=False)
        page.locator("#rows a").first.wait_for()
    page.locator("#problem", has_text="does not answer").wait_for()
    assert page.locator("#rows a").count() == 1  # what was known stays


def test_what_the_log_does_not_say_is_asked_for_and_kept_in_the_link(address, open_page, problems):
    page = opened(open_page, address)
    page.locator("#rows a", has_text="open.log").click()
    page.wait_for_selector("#strip canvas")
    assert "--max-steps" not in page.locator("main").inner_text()
    field = page.locator("#fact-max_steps")
    assert field.is_visible()
    field.fill("4000")
    page.locator("#fact-gpu").fill("RTX 4070")
    page.locator("#facts button").click()
    page.wait_for_selector("#strip canvas")
    assert "max_steps=4000" in page.url
    assert "4,000" in page.locator("#run").inner_text()
    assert page.locator("#fact-max_steps").input_value() == "4000"
    page.goto(re.sub("max_steps=4000", "max_steps=many", page.url))
    assert "not a whole number" in page.locator("main").inner_text()
    assert [one for one in problems if "422" not in one] == []


def test_a_pasted_log_takes_the_same_facts(address, open_page, problems):
    page = opened(open_page, address)
    page.locator("#new").click()
    page.locator("#text").fill("\n".join(training(200, every=10, evaluate=50)) + "\n")
    page.locator("#new-max_steps").fill("4000")
    page.locator("#paste button[type=submit]").click()
    page.wait_for_selector("#answer #strip canvas")
    assert "4,000" in page.locator("#answer").inner_text()
    assert problems == []


def test_no_width_of_the_window_cuts_a_column(address, open_page):
    page = opened(open_page, address)
    for width in (1900, 1700, 1550, 1530, 1440, 1245, 1235, 1100, 1025, 1000, 700, 360):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, width
        right = page.locator("#rows .c-updated").first.bounding_box()
        assert right["x"] + right["width"] <= width, width


@pytest.mark.parametrize("width", [390, 1280])
def test_when_a_run_ended_is_never_cut(tmp_path, open_page, width):
    write(tmp_path / "years.log", run_of(1000, 1000, 102.0), 1100 * 86_400)
    write(tmp_path / "a-run-with-a-long-name-that-fell-silent.log", run_of(1260, 12_600, 197.0), 100_000)
    with serving(tmp_path) as found:
        page = opened(open_page, found, num=2, viewport={"width": width, "height": 800})
        texts = page.locator("#rows .c-left > span")
        assert texts.count() == 4
        for text in texts.all():
            assert text.evaluate("node => node.scrollWidth <= node.clientWidth"), text.inner_text()


@pytest.mark.parametrize("code", languages())
def test_it_fits_in_every_language(shelf, open_page, problems, code):
    """Nothing wider than the window, no chip or column head cut, no complaint of axe; light and dark."""
    cut = "all => all.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent)"
    watched = "#rows .c-state, #rows .chip, .head [role=columnheader]:not(:first-child)"
    with serving(shelf, "--lang", code) as address:
        for (width, height), scheme in SIZES.items():
            options = {"viewport": {"width": width, "height": height}, "color_scheme": scheme, "bypass_csp": True}
            page = opened(open_page, address, **options)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.locator(watched).evaluate_all(cut) == []
            assert complaints(page) == []
    # Without its policy a page asks for an icon, which needs a cookie it has no way to send.
    assert [one for one in problems if "ERR_" not in one and "401" not in one] == []
