"""The page opened from disk with the network off: every language, light and dark, phone, keyboard, hostile logs."""

from __future__ import annotations

import base64
import datetime as dt
import json
import re

import numpy as np
import pytest

from stepscope.advice._whatif import what_if
from stepscope.analysis.explain import explain
from stepscope.i18n import Language, languages
from stepscope.reading.reader import read
from stepscope.report import html
from stepscope.report import json as as_json
from tests.conftest import ROOT
from tests.unit.logs import report_of, run_of, training

DEMO = ROOT / "src" / "stepscope" / "demo"
CONFIG = {
    "max_steps": 20000,
    "eval_interval": 500,
    "eval_iters": 200,
    "batch_size": 16,
    "gradient_accumulation_steps": 4,
    "block_size": 512,
}


def demo_report():
    return explain(run_of((DEMO / "train.log").read_text()), flags=CONFIG)


def saved(tmp_path, report, code="en"):
    path = tmp_path / f"report-{code}.html"
    path.write_text(html.render(report, Language.load(code)), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("code", languages())
def test_opens_in_every_language(tmp_path, open_page, problems, code, scheme):
    page = open_page(saved(tmp_path, demo_report(), code), color_scheme=scheme)
    assert page.locator("html").get_attribute("lang") == code
    for lane in ("level", "stops", "loss", "throughput"):
        assert page.locator(f"#{lane} canvas").count() == 1
    assert Language.load(code).text("section-findings") in page.content()
    assert problems == []


def open_panel(page, name):
    page.locator(f"#tab-{name}").click()


# Whatever sticks out of the window, unless something around it scrolls.
_OUTSIDE = """() => Array.from(document.querySelectorAll("main *")).filter((node) => {
  const box = node.getBoundingClientRect();
  const holder = node.closest(".scroll, .tablist, .u-wrap, .spark");
  return box.width && !holder && (box.right > innerWidth + 1 || box.left < -1);
}).map((node) => node.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("code", languages())
def test_nothing_is_cut_off_on_a_phone(tmp_path, open_page, problems, code):
    page = open_page(saved(tmp_path, demo_report(), code), viewport={"width": 390, "height": 844}, has_touch=True)
    for tab in page.get_by_role("tab").all():
        tab.click()
        assert page.evaluate(_OUTSIDE) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert problems == []


def test_the_first_screen_has_the_state_the_end_and_the_four_figures(tmp_path, open_page):
    page = open_page(saved(tmp_path, demo_report()), viewport={"width": 1000, "height": 500})
    for selector in (".chip[data-state]", ".verdict", ".finish", ".kpi-progress svg", ".spark", ".kpi-overhead .bar"):
        box = page.locator(selector).first.bounding_box()
        assert box["y"] + box["height"] < 500


def test_sliders_say_what_the_command_says(tmp_path, open_page, problems):
    report = demo_report()
    page = open_page(saved(tmp_path, report))
    start = float(page.locator("#whatif").get_attribute("data-remaining"))
    assert start == pytest.approx(report.forecast.remaining_s, rel=1e-6)
    for changes in (
        {"eval_interval": 1000},
        {"eval_iters": 50},
        {"eval_interval": 2500, "eval_iters": 100},
        {"max_steps": 10000},
    ):
        base = json.loads(page.locator("#data").inner_text())["whatif"]
        settings = {name: base[name] for name in ("max_steps", "eval_interval", "eval_iters")} | changes
        found = page.evaluate("([base, settings]) => stepscope.whatIf(base, settings)", [base, settings])
        wanted = what_if(report.run, report.ledger, report.forecast, changes)
        assert found["remaining_s"] == pytest.approx(wanted.after_s, rel=1e-6)
        assert found["evaluations"] == wanted.after["evaluation"].num
    open_panel(page, "whatif")
    slider = page.locator("#slide-eval_interval")
    slider.focus()
    slider.press("End")
    assert float(page.locator("#whatif").get_attribute("data-remaining")) < start
    assert page.locator("#whatif-flags").inner_text() == "--eval_interval=5000"
    page.locator("#whatif-reset").click()
    assert page.locator("#value-eval_interval").input_value() == "500"
    assert float(page.locator("#whatif").get_attribute("data-remaining")) == pytest.approx(start)
    page.locator("#value-eval_interval").fill("1000")
    wanted = what_if(report.run, report.ledger, report.forecast, {"eval_interval": 1000})
    assert float(page.locator("#whatif").get_attribute("data-remaining")) == pytest.approx(wanted.after_s, rel=1e-6)
    assert problems == []


def megatron(last):
    """Stamped lines of a trainer that saves every 100 iterations and never evaluates."""
    moment, lines = dt.datetime(2026, 3, 4, 10), []
    for step in range(10, last + 1, 10):
        moment += dt.timedelta(seconds=10)
        lines.append(
            f" [{moment:%Y-%m-%d %H:%M:%S}] iteration {step:8d}/    4000 | consumed samples: {step * 64:12d} | "
            "elapsed time per iteration (ms): 1000.0 | learning rate: 1.0E-04 | global batch size:    64 | "
            "lm loss: 2.500000E+00 | loss scale: 1.0 | grad norm: 1.000 | number of skipped iterations:   0 | "
            "number of nan iterations:   0 |"
        )
        if step % 100 == 0:
            moment += dt.timedelta(seconds=20)
            lines.append(f"saving checkpoint at iteration {step:7d} to ckpt in torch_dist format")
            lines.append(f"  successfully saved checkpoint from iteration {step:7d} to ckpt")
    return lines


def test_sliders_follow_the_command_where_saves_have_their_own_interval(tmp_path, open_page, problems):
    report = report_of(megatron(1200))
    page = open_page(saved(tmp_path, report))
    assert page.locator("#sliders input[type=number]").evaluate_all(
        "all => all.map((one) => [one.name, one.value])"
    ) == [
        ["checkpoint_interval", "100"],
        ["max_steps", "4000"],
    ]
    base = json.loads(page.locator("#data").inner_text())["whatif"]
    for changes in ({"checkpoint_interval": 400}, {"max_steps": 6000}, {"max_steps": 2000, "checkpoint_interval": 50}):
        found = page.evaluate("([base, settings]) => stepscope.whatIf(base, settings)", [base, changes])
        wanted = what_if(report.run, report.ledger, report.forecast, changes)
        assert found["remaining_s"] == pytest.approx(wanted.after_s, rel=1e-6)
        assert found["remaining_s"] != pytest.approx(base["remaining_s"], rel=1e-3)
    assert problems == []


def view(page):
    return page.evaluate("stepscope.view()")


def test_the_strip_is_zoomed_with_the_keyboard(tmp_path, open_page, problems):
    page = open_page(saved(tmp_path, report_of(training(2000, every=1, evaluate=200), max_steps=5000)))
    page.locator("#strip").focus()
    whole = view(page)
    page.keyboard.press("+")
    page.keyboard.press("+")
    low, high = view(page)
    assert high - low < 0.5 * (whole[1] - whole[0])
    page.keyboard.press("ArrowRight")
    assert view(page)[0] > low
    for key in ("-", "-", "-", "-"):
        page.keyboard.press(key)
    assert view(page) == pytest.approx(whole)  # never beyond what there is
    page.keyboard.press("n")
    assert "evaluation" in page.locator("#strip-tip").inner_text()
    page.keyboard.press("Home")
    assert view(page) == pytest.approx(whole)
    assert problems == []


def test_everything_is_reached_with_the_tab_key(tmp_path, open_page):
    page = open_page(saved(tmp_path, demo_report()))
    reached = pressed(page, 30)
    assert {"strip", "in", "out", "left", "right", "all", "tab-overview"} <= reached
    page.locator("#tab-overview").focus()
    for name in ("slow", "forecast", "whatif"):
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.id") == f"tab-{name}"
        assert page.locator(f"#panel-{name}").is_visible()
    assert {"slide-eval_interval", "value-max_steps", "whatif-reset"} <= pressed(page, 8)


def pressed(page, times):
    """What the Tab key reaches."""
    reached = set()
    for _ in range(times):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.dataset.move || ''"))
    return reached


def test_buttons_zoom_too(tmp_path, open_page):
    page = open_page(saved(tmp_path, demo_report()), viewport={"width": 360, "height": 740})
    whole = view(page)
    page.get_by_role("button", name="Zoom in").click()
    assert view(page)[1] - view(page)[0] < whole[1] - whole[0]
    page.get_by_role("button", name="Show all").click()
    assert view(page) == pytest.approx(whole)


@pytest.mark.parametrize("code", languages())
def test_the_script_writes_numbers_as_the_rest_of_the_page_does(tmp_path, open_page, code):
    language = Language.load(code).unbroken()
    page = open_page(saved(tmp_path, demo_report(), code))
    seconds = [0.0, 0.000123, 0.0042, 0.0666, 0.17, 0.99951, 5.985, 42.5, 99.94, 99.96, 100, 216, 240, 599.6, 3400]
    seconds += [5998, 6040, 12_000, 86_400, 200_000, 1e7]
    assert page.evaluate("all => all.map((s) => stepscope.duration(s))", seconds) == [
        language.duration(value) for value in seconds
    ]
    pairs = [
        (0.168, 0.186),
        (40, 70),
        (50, 75),
        (3180, 3680),
        (3360, 4440),
        (3200, 3900),
        (50, 4000),
        (5.2, 6.1),
        (200, 400),
        (46_000, 66_000),
        (0.001, 1.1),
        (90_000, 500_000),
        (0.00645, 2.18),
        (0.3, 40),
        (0.002, 0.9),
        (40, 10_800),
        (400, 172_900),
        (4_000, 518_400),
    ]
    assert page.evaluate("all => all.map(([a, b]) => stepscope.span(a, b))", pairs) == [
        language.span(*pair) for pair in pairs
    ]
    for number in (0, 999, 1000, 9999, 10_000, 1_234_567):
        assert page.evaluate("n => stepscope.number(n)", number) == language.number(number)
    begin = dt.datetime(2026, 3, 4, 2, 30, 20)
    frame = language.text("clock-with-date", date="{date}", time="{time}")
    for later in (60, 3400, 40_000):
        shown = page.evaluate("([m, s, f]) => stepscope.clock(m, s, f)", [begin.isoformat(), later, frame])
        assert shown == language.clock(begin + dt.timedelta(seconds=later), begin)


def test_earlier_forecasts_stand_beside_what_happened(tmp_path, open_page, problems):
    report = report_of(training(2000, every=10, evaluate=100, compile_ms=4000.0), max_steps=5000)
    page = open_page(saved(tmp_path, report))
    open_panel(page, "forecast")
    assert page.locator("#ahead canvas").count() == 1
    rows = page.get_by_role("region", name="Earlier forecasts, checked").locator("tr")
    assert rows.count() == 1 + len(report.backtests) == 5
    english = Language.load("en").unbroken()
    for number, one in enumerate(report.backtests, start=1):
        text = rows.nth(number).inner_text()
        assert english.duration(one.remaining_s) in text
        assert english.duration(one.actual_s) in text
        assert ("✓" in text) == one.is_inside
    assert problems == []


def test_the_cards_samples_are_drawn_where_they_lie_beside_the_log(tmp_path, open_page, problems):
    log = tmp_path / "train.log"
    log.write_text("\n".join(training(300, every=10, evaluate=50)) + "\n")
    head = "timestamp, index, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB], power.draw [W]"
    samples = [
        f"2026/11/16 05:{n // 12:02}:{n % 12 * 5:02}.000, 0, NVIDIA GeForce RTX 4070, {90 + n % 7} %, 6500 MiB, "
        f"12282 MiB, {180 + n % 9}.50 W, {60 + n // 10}"
        for n in range(60)
    ]
    head += ", temperature.gpu"
    (tmp_path / "gpu.csv").write_text("\n".join([head, *samples]) + "\n")
    page = open_page(saved(tmp_path, explain(read(str(log)), flags={"max_steps": 1000})))
    assert page.locator("#card-load canvas").count() == 1
    assert page.locator("#card-power canvas").count() == 1
    assert "RTX 4070, 60 samples: 93% busy" in plain(page.locator("main").inner_text())
    told = json.loads(page.locator("#report").inner_text())["gpu_series"]
    assert told["temperature_max"] == 65
    assert problems == []


def test_the_page_carries_the_document_and_says_no_duration_that_is_not_in_it(tmp_path, open_page):
    """Words of the log itself are left out: they are quotations."""
    report = report_of(training(2000, every=10, evaluate=100, save_ms=300.0, compile_ms=4000.0), max_steps=5000)
    page = open_page(saved(tmp_path, report), bypass_csp=True)
    held = json.loads(page.locator("#report").inner_text())
    assert held == as_json.document(report)
    english = Language.load("en")
    numbers = list(floats(held))
    known = {english.duration(value) for value in numbers} | {english.duration(value * 1000) for value in numbers}
    ends = {text for low in numbers for text in (english.duration(low),)}
    page.emulate_media(media="print")  # every panel
    # The changes are as `advise` has them; of groups, means are written with the digits that are sure.
    hidden = ".change, .change + details, #panel-whatif, .stack:not(.sortable) td:last-child"
    page.add_style_tag(content=f"{hidden} {{ display: none !important }}")
    text = re.sub(r"“[^”]*”", "", plain(page.locator("main").inner_text()))
    shown = re.findall(r"(?<![\d.,–])(?:\d+ min \d+ s|\d+ h \d+ min|[\d.]+ (?:ms|s|min|h))(?![\w])", text)
    assert len(shown) > 25
    assert {one for one in shown if one not in known | ends} <= spans(text)


def plain(text):
    """Without the blanks at which no line may break."""
    return text.replace("\N{NO-BREAK SPACE}", " ")


def floats(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from floats(one)
    elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e7:
        yield float(value)


def spans(text):
    """Ends of ranges take the unit of the other end: their digits are not those of a duration by itself."""
    return set(re.findall(r"(?<=[–≤])[\d.]+ (?:ms|s|min|h)|(?<=[–≤] )[\d.]+ (?:ms|s|min|h)", text))


def test_pointing_at_a_slow_iteration_tells_its_parts(tmp_path, open_page):
    page = open_page(saved(tmp_path, demo_report()), viewport={"width": 1280, "height": 2000})
    for lane in ("level", "stops", "loss"):
        box = page.locator(f"#{lane} .u-over").bounding_box()
        low, high = view(page)
        page.mouse.move(box["x"] + box["width"] * (500 - low) / (high - low), box["y"] + 20)
        text = plain(page.locator("#strip-tip").inner_text())
        assert "Iteration 500: 5.99 s" in text
        assert "evaluation" in text
        assert "validation loss" in text  # of the lanes below, at the same place


def test_lanes_zoom_together(tmp_path, open_page):
    address = saved(tmp_path, report_of(training(2000, every=1, evaluate=200), max_steps=5000))
    page = open_page(address, viewport={"width": 1280, "height": 2000})
    box = page.locator("#loss .u-over").bounding_box()
    page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 40)
    page.mouse.up()
    low, high = view(page)  # of the lane of the level
    assert 450 < low < 550
    assert 950 < high < 1050


def test_links_lead_to_steps_and_lines(tmp_path, open_page, problems):
    page = open_page(saved(tmp_path, report_of(training(2000, every=1, evaluate=200), max_steps=5000)))
    whole = view(page)
    open_panel(page, "slow")
    page.locator('#panel-slow a[href="#at-600"]').click()
    # The address is followed, and drawn, in the browser's own time.
    page.wait_for_function("most => stepscope.view()[1] - stepscope.view()[0] < most", arg=(whole[1] - whole[0]) / 4)
    assert "Iteration 600" in page.locator("#strip-tip").inner_text()
    page.locator('#panel-slow a[href^="#line-"]').first.click()
    page.locator("#panel-log li:target").wait_for()
    assert page.locator("#panel-log li:target").inner_text().split()[1:2] == ["step"]
    page.locator("#log-find").fill("step 400:")
    assert page.locator("#panel-log li:visible").count() == 1
    assert problems == []


def test_slow_iterations_are_sorted_by_a_click(tmp_path, open_page):
    page = open_page(saved(tmp_path, demo_report()))
    open_panel(page, "slow")
    steps = page.locator("table.sortable tbody tr td:first-child")
    assert steps.all_inner_texts() == ["0", "500", "1,000"]  # costliest first
    page.get_by_role("button", name="iteration", exact=True).click()
    assert steps.all_inner_texts() == ["1,000", "500", "0"]
    page.get_by_role("button", name="iteration", exact=True).click()
    assert steps.all_inner_texts() == ["0", "500", "1,000"]
    assert page.locator("th[aria-sort=ascending]").inner_text().lower().startswith("iteration")


def test_a_run_that_died_begins_with_the_cause_and_the_remedy(tmp_path, open_page, problems):
    lines = [*training(200, every=10, evaluate=50), "Traceback (most recent call last):"]
    lines.append(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 48.00 MiB. GPU 0 has a total capacity of "
        "10.75 GiB of which 36.50 MiB is free. Process 1 has 1.00 GiB memory in use."
    )
    report = explain(run_of(lines), flags={"batch_size": 12, "gradient_accumulation_steps": 5})
    page = open_page(saved(tmp_path, report))
    first, second = (plain(page.locator(".kpi").nth(place).inner_text()) for place in (0, 1))
    assert "Tried to allocate 48 MiB with 37 MiB of 10.8 GiB free" in first
    assert "batch size 6 × accumulation 10" in second
    assert "--batch_size=6 --gradient_accumulation_steps=10" in second
    assert problems == []


def test_a_line_for_twenty_iterations_is_called_that(tmp_path, open_page):
    moment, lines = dt.datetime(2026, 3, 4, 10), []
    for step in range(19, 2000, 20):
        moment += dt.timedelta(seconds=200 if step % 1000 == 999 else 14)
        lines.append(
            f"[{moment:%m/%d %H:%M:%S} d2.utils.events]:  eta: 1:00:00  iter: {step}  total_loss: 0.2  "
            "time: 0.7000  data_time: 0.0100  lr: 0.02  max_mem: 3000M"
        )
    report = report_of(lines)
    assert report.ledger.slow
    page = open_page(saved(tmp_path, report))
    open_panel(page, "slow")
    assert "980–999 (20 iterations)" in page.locator("#panel-slow").inner_text()
    page.locator("#strip").press("n")
    assert "980–999 (20 iterations)" in page.locator("#strip-tip").inner_text()


def on_disk(tmp_path, lines):
    log = tmp_path / "train.log"
    log.write_text("\n".join(lines) + "\n")
    return explain(read(str(log)), flags=CONFIG)


def test_all_lines_of_a_short_log_are_there_and_lead_to_the_timeline_and_back(tmp_path, open_page, problems):
    lines = (DEMO / "train.log").read_text().splitlines()
    page = open_page(saved(tmp_path, on_disk(tmp_path, lines)))
    open_panel(page, "log")
    assert page.locator(".log code").all_inner_texts() == lines
    line = 1 + next(place for place, text in enumerate(lines) if text.startswith("iter 700:"))
    page.locator(f"#line-{line} a.to").click()
    page.wait_for_function("() => { const [low, high] = stepscope.view(); return high - low < 900 && low < 700 }")
    page.locator("#log-find").fill("nothing has this")
    page.evaluate(f"location.hash = '#line-{line}'")
    page.wait_for_selector(f"#line-{line}:visible")  # a filter that hides what a link means is taken back
    assert problems == []


def test_a_click_pins_the_words_with_the_link_to_the_line(tmp_path, open_page, problems):
    lines = (DEMO / "train.log").read_text().splitlines()
    page = open_page(saved(tmp_path, on_disk(tmp_path, lines)))
    low, high = page.evaluate("stepscope.view()")
    page.locator("#level").scroll_into_view_if_needed()
    box = page.locator("#level .u-over").bounding_box()
    at = box["x"] + box["width"] * (700 - low) / (high - low), box["y"] + 20
    page.mouse.click(*at)
    link = page.locator("#strip-tip.pinned a")
    line = 1 + next(place for place, text in enumerate(lines) if text.startswith("iter 700:"))
    assert link.get_attribute("href") == f"#line-{line}"
    link.click()
    page.wait_for_selector(f"#line-{line}:visible")
    page.locator("#strip").press("n")  # and with the keyboard: the next stop, then its line
    page.locator("#strip").press("Enter")
    page.wait_for_function(f"() => location.hash === '#line-{2 + lines.index(lines[1])}'")
    page.mouse.click(*at)
    page.locator("#strip").press("Escape")
    assert page.locator("#strip-tip.shown").count() == 0
    assert problems == []


def test_lines_that_sentences_name_are_links(tmp_path, open_page):
    lines = [*training(300, every=10, evaluate=50), "Traceback (most recent call last):", "RuntimeError: boom"]
    page = open_page(saved(tmp_path, on_disk(tmp_path, lines), "de"))
    link = page.locator(".kpi-cause a")
    assert link.inner_text() == f"Zeile {len(lines)}"
    link.click()
    assert page.locator(f"#line-{len(lines)}").is_visible()


def test_findings_lead_to_their_places_in_the_timeline(tmp_path, open_page):
    page = open_page(saved(tmp_path, demo_report()))
    places = page.locator(".finding.evaluation .where a")
    assert places.all_inner_texts() == ["0", "500", "1,000"]
    places.nth(1).click()
    page.wait_for_function("() => { const [low, high] = stepscope.view(); return low < 500 && high > 500 && low > 0 }")


def test_a_run_with_something_wrong_is_not_called_fine(tmp_path, open_page):
    for rank in range(4):
        lines = training(60, every=1, step_ms=160.0 if rank == 2 else 100.0 + rank)
        (tmp_path / f"rank{rank}.log").write_text("\n".join(lines) + "\n")
    page = open_page(saved(tmp_path, explain(read(*(str(tmp_path / f"rank{rank}.log") for rank in range(4))))))
    assert page.locator(".alarms .alarm").count() == 1
    assert page.locator(".calm").count() == 0


def test_a_total_that_nobody_stated_is_called_assumed_beside_the_end(tmp_path, open_page):
    lines = [line + ", mfu 31.00%" if line.startswith("iter") else line for line in training(3000, every=10)]
    report = explain(run_of(["batch_size = 12", "block_size = 1024", *lines]))
    assert report.run.settings["max_steps"].origin == "default"
    page = open_page(saved(tmp_path, report))
    assert "default number of iterations, 600,000" in plain(page.locator(".kpi-end").inner_text())


def test_print_shows_every_panel(tmp_path, open_page):
    page = open_page(saved(tmp_path, demo_report()))
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("#panel-forecast #ahead canvas").is_visible()
    assert page.locator("#panel-read").is_visible()
    assert not page.locator("#tab-read").is_visible()


def test_a_hostile_log_becomes_text(tmp_path, open_page, problems):
    bad = '<script>window.owned=1</script><img src=x onerror="window.owned=1">\u202egnorw'
    lines = training(300, every=10, evaluate=50)
    lines += ["Traceback (most recent call last):", f"RuntimeError: {bad} </script><!--", "\x1b[31m" + bad]
    report = explain(run_of(lines), flags={"max_steps": 5000})
    page = open_page(saved(tmp_path, report))
    assert page.evaluate("window.owned") is None
    assert page.locator("main script:not([type])").count() == 0
    assert "owned=1" in page.locator("main").inner_text()
    assert problems == []


def test_a_million_steps_stay_small_and_keep_their_spikes(tmp_path, open_page, problems):
    times = [100 + step % 3 for step in range(1_000_000)]
    times[654_321] = 9000
    lines = [f"iter {step}: loss 3.0000, time {took}.00ms" for step, took in enumerate(times)]
    report = explain(run_of(lines), flags={"max_steps": 2_000_000})
    address = saved(tmp_path, report)
    assert (tmp_path / "report-en.html").stat().st_size < 1_500_000
    page = open_page(address)
    packed = json.loads(page.locator("#data").inner_text())["strip"]
    kept = packed["first"] + np.frombuffer(base64.b64decode(packed["step"]), dtype="<u4")
    times = np.frombuffer(base64.b64decode(packed["seconds"]), dtype="<f4")
    assert times[kept == 654_321].tolist() == [9.0]
    assert problems == []


def test_no_number_on_the_page_is_made_up_there():
    """The verdict, the end and the table are the words of the other reports."""
    report = demo_report()
    text = plain(re.sub(r"<[^>]+>", " ", html.render(report, Language.load("en"))))
    for total in report.ledger.phases:
        assert Language.load("en").duration(total.seconds) in text


def test_a_log_without_times_still_makes_a_page(tmp_path, open_page, problems):
    report = explain(run_of(["tokens per iteration will be: 32,768", "compiling the model... (takes a ~minute)"]))
    page = open_page(saved(tmp_path, report))
    assert page.get_by_role("tab").count() >= 1
    assert problems == []


def test_ranks_are_a_heat_strip_and_a_table(tmp_path, open_page, problems):
    for rank in range(4):
        lines = training(60, every=1, step_ms=160.0 if rank == 2 else 100.0 + rank)
        (tmp_path / f"rank{rank}.log").write_text("\n".join(lines) + "\n")
    page = open_page(saved(tmp_path, explain(read(*map(str, sorted(tmp_path.glob("*.log")))))))
    open_panel(page, "ranks")
    assert page.locator("#ranks canvas").is_visible()
    slowest = page.locator("#panel-ranks tbody tr").nth(2).inner_text()
    assert "160 ms" in plain(slowest)
    assert "◀" in slowest
    assert problems == []


def test_the_menu_saves_the_document_and_links_to_the_view(tmp_path, open_page, problems):
    report = demo_report()
    page = open_page(saved(tmp_path, report))
    page.locator(".menu summary").click()
    with page.expect_download() as started:
        page.locator("#save-json").click()
    assert json.loads(started.value.path().read_text(encoding="utf-8")) == as_json.document(report)
    page.locator("#strip").press("+")
    low, high = view(page)
    page.goto(page.url + f"#view-{round(low)}-{round(high)}")
    page.reload()
    assert view(page) == pytest.approx([round(low), round(high)])
    page.locator(".menu summary").click()
    page.keyboard.press("Escape")
    assert not page.locator("#save-json").is_visible()
    page.locator(".change .copy").first.click()
    # The clipboard answers in its own time, and the button goes back to its word soon after.
    page.locator(".change .copy", has_text="Copied").first.wait_for()
    assert problems == []
