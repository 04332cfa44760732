"""Watching on a clock of our own: what a run does now, what is told, and that the numbers are those of `explain`."""

from __future__ import annotations

import datetime as dt
from json import dumps as json_dumps

import pytest

from stepscope.analysis.explain import explain
from stepscope.i18n import Language, languages
from stepscope.live.pulse import feel
from stepscope.live.watch import Facts, View, Watch
from stepscope.report import json, live
from stepscope.source.tail import News
from tests.unit.logs import report_of, run_of, training

START = dt.datetime(2026, 1, 5, 12, 0, tzinfo=dt.UTC)
FACTS = Facts(config=None, flags={"max_steps": 1000}, confidence=0.9)


class FakeClock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> dt.datetime:
        return START + dt.timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class FakeTail:
    """Hands out pieces at given moments."""

    def __init__(self, clock: FakeClock, pieces: list[tuple[float, bytes]], *, ends: bool = False) -> None:
        self._clock, self._pieces, self._ends = clock, list(pieces), ends

    @property
    def mtime(self) -> float:
        return self._clock.now().timestamp()

    def look(self) -> News:
        if self._pieces and self._pieces[0][0] <= self._clock.seconds:
            return News(self._pieces.pop(0)[1])
        return News(is_over=self._ends and not self._pieces)

    def rewind(self) -> bool:
        return False


def text_of(lines: list[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode()


def watch_of(pieces: list[tuple[float, bytes]], *, ends: bool = False, facts: Facts = FACTS) -> tuple[Watch, FakeClock]:
    clock = FakeClock()
    return Watch(FakeTail(clock, pieces, ends=ends), name="train.log", facts=facts, clock=clock), clock


def views_until(watch: Watch, clock: FakeClock, seconds: float) -> list[View]:
    found = []
    while clock.seconds < seconds:
        view = watch.step()
        if view is not None:
            found.append(view)
        clock.sleep(0.5)
    return found


@pytest.mark.parametrize(
    ("quiet_s", "doing"),
    [(0.05, "training"), (2.0, "evaluation"), (20.0, "evaluation"), (25.0, "evaluation"), (300.0, "stalled")],
)
def test_an_evaluation_that_is_due_is_no_stall(quiet_s, doing):
    """An evaluation usually takes 25 s: 20 s of silence before it are no stall, five minutes are."""
    report = report_of(
        training(499, every=1, evaluate=100, step_ms=170.0, evaluation_ms=25_000.0), max_steps=1000, eval_interval=100
    )
    assert feel(report, quiet_s).doing == doing


def test_a_short_step_is_stalled_after_a_minute():
    report = report_of(training(450, every=1, evaluate=100, step_ms=170.0), max_steps=1000, eval_interval=100)
    assert feel(report, 0.3).doing == "training"
    assert feel(report, 60.0).doing == "stalled"


def test_while_it_compiles_there_is_no_stall_and_no_forecast():
    report = explain(run_of(["tokens per iteration will be: 32,768", "compiling the model... (takes a ~minute)"]))
    pulse = feel(report, 600.0)
    assert pulse.doing == "warmup"
    assert "forecast follows" in live.pulse_text(pulse, Language.load("en"))


def test_the_numbers_are_those_of_explain():
    lines = training(600, every=10, evaluate=100)
    cut = len(lines) // 2
    watch, clock = watch_of([(0, text_of(lines[:cut])), (3, text_of(lines[cut:]))])
    last = views_until(watch, clock, 10)[-1]
    run = run_of(lines)
    expected = explain(run, flags={"max_steps": 1000})
    seen, wanted = json.document(last.report), json.document(expected)
    for key in ("step", "slow", "ledger", "wall_s", "cadence", "alarms"):
        assert seen[key] == wanted[key]
    assert seen["forecast"]["remaining_s"] == wanted["forecast"]["remaining_s"]


def test_half_lines_wait_for_their_other_half():
    text = text_of(training(100, every=1))
    pieces = [(index * 0.5, text[index * 97 : (index + 1) * 97]) for index in range(len(text) // 97 + 1)]
    watch, clock = watch_of(pieces)
    last = views_until(watch, clock, 60)[-1]
    assert len(last.report.run) == 101
    assert last.report.run.num_unread == 0


def test_a_stall_is_told_once_and_again_after_it_went_on():
    first, second = training(100, every=1), training(200, first=101, every=1)
    watch, clock = watch_of([(0, text_of(first)), (200, text_of(second))])
    told = [alarm.code for view in views_until(watch, clock, 500) for alarm in view.fresh]
    assert told.count("stall") == 2


def test_a_finished_run_ends_the_watch():
    watch, _ = watch_of([(0, text_of(training(1000, every=10)))])
    assert watch.run_to_end(lambda _: None) == "finished"


@pytest.mark.parametrize("step_ms", range(5, 200, 13))
def test_the_end_is_told_also_where_it_falls_between_a_view_and_the_question(step_ms):
    """Looking takes time: what was not quiet for long enough in the view may be so right after it."""

    class SlowClock(FakeClock):
        def monotonic(self) -> float:
            self.seconds += step_ms / 1000
            return self.seconds

    clock, views = SlowClock(), []
    tail = FakeTail(clock, [(0, text_of(training(1000, every=10)))])
    watch = Watch(tail, name="train.log", facts=FACTS, clock=clock)
    assert watch.run_to_end(views.append) == "finished"
    assert [alarm.code for view in views for alarm in view.fresh] == ["finished"]


def test_a_traceback_ends_the_watch():
    lines = [*training(300, every=10), "Traceback (most recent call last):", '  File "train.py", line 3, in <module>']
    lines.append("RuntimeError: boom")
    watch, _ = watch_of([(0, text_of(lines))])
    assert watch.run_to_end(lambda _: None) == "ended"


def test_a_source_that_goes_away_ends_the_watch():
    watch, _ = watch_of([(0, text_of(training(300, every=10)))], ends=True)
    assert watch.run_to_end(lambda _: None) == "lost"


def test_escape_sequences_never_reach_the_terminal():
    lines = [
        *training(300, every=10),
        "\x1b]0;owned\x07Traceback (most recent call last):",
        "E\x1b[2JError: \x1b[31mbad",
    ]
    watch, clock = watch_of([(0, text_of(lines))])
    view = views_until(watch, clock, 5)[-1]
    for code in languages():
        language = Language.load(code)
        drawn = [
            live.line(view, language),
            *live.screen(view, language),
            *(live.alarm_text(a, language) for a in view.alarms),
        ]
        assert not any("\x1b" in text or "\x07" in text for text in drawn)


@pytest.mark.parametrize("code", languages())
@pytest.mark.parametrize("width", [60, 80, 110])
def test_the_screen_fits(code, width):
    watch, clock = watch_of([(0, text_of(training(600, every=10, evaluate=100, compile_ms=9000.0)))])
    view = views_until(watch, clock, 5)[-1]
    lines = live.screen(view, Language.load(code), width=width)
    assert 5 <= len(lines) <= 24
    assert max(len(line) for line in lines) <= width


def test_explaining_keeps_to_its_budget():
    """However long explaining takes, it is done so rarely that reading goes on."""
    watch, clock = watch_of([(t * 0.5, text_of([f"iter {t}: loss 3.0, time 500.00ms"])) for t in range(400)])
    explain_now = watch._explain
    calls = 0

    def slow(quiet_s: float) -> None:
        nonlocal calls
        calls += 1
        explain_now(quiet_s)
        clock.seconds += 2.0

    watch._explain = slow  # type: ignore[method-assign]
    views_until(watch, clock, 200)
    assert calls * 2.0 <= 0.15 * 200


def test_a_pause_that_came_before_is_no_stall_when_it_comes_again():
    """No setting tells of it and no line announces it: it happened before, and the run went on."""
    pieces = [f"iter {step}: loss 3.0000, time {40_000 if step % 30 == 0 else 1000}.00ms" for step in range(100)]
    report = report_of(pieces, max_steps=1000)
    assert feel(report, 70.0).doing != "stalled"
    assert feel(report, 400.0).doing == "stalled"


def test_the_first_pause_of_a_long_run_may_be_its_first_evaluation():
    report = report_of([f"iter {step}: loss 3.0000, time 4000.00ms" for step in range(200)], max_steps=1000)
    assert feel(report, 300.0).doing != "stalled"
    assert feel(report, 500.0).doing == "stalled"


def test_a_caught_exception_is_no_crash():
    """A traceback is told once the run has been silent after it, not while it may go on."""
    lines = training(300, every=10)
    caught = ["Traceback (most recent call last):", '  File "train.py", line 3, in log', "ConnectionError: no network"]
    watch, clock = watch_of([(0, text_of([*lines, *caught])), (3, text_of(training(400, first=301, every=10)))])
    told = {alarm.code for view in views_until(watch, clock, 3) for alarm in view.fresh}
    assert not told & {"crash", "ended_early"}
    assert watch.end is None


def test_the_last_line_of_a_crash_counts_without_its_end():
    crash = [*training(300, every=10), "Traceback (most recent call last):", '  File "train.py", line 3, in <module>']
    watch, clock = watch_of([(0, text_of(crash) + b"KeyboardInterrupt")])
    told = {alarm.code for view in views_until(watch, clock, 10) for alarm in view.fresh}
    assert "interrupted" in told
    assert "crash" not in told


def test_a_slowdown_is_told_once_however_its_beginning_moves():
    lines = [f"iter {step}: loss 3.0000, time {100 if step < 100 else 200}.00ms" for step in range(400)]
    watch, clock = watch_of([(index * 2.0, text_of(lines[index * 20 : index * 20 + 20])) for index in range(20)])
    told = [alarm.code for view in views_until(watch, clock, 60) for alarm in view.fresh]
    assert told.count("slowdown") == 1


class GrowingFile(FakeTail):
    """A file that is written anew, longer each time."""

    def __init__(self, clock: FakeClock, versions: list[tuple[float, bytes]]) -> None:
        super().__init__(clock, versions)
        self._now = b""
        self._is_read = True

    def look(self) -> News:
        if self._pieces and self._pieces[0][0] <= self._clock.seconds:
            self._now = self._pieces.pop(0)[1]
            self._is_read = False
        data, self._is_read = (b"" if self._is_read else self._now), True
        return News(data)

    def rewind(self) -> bool:
        self._is_read = False
        return True


def state_of(last: int) -> bytes:
    """A Hugging Face trainer_state.json after so many steps."""
    history = [{"epoch": step / 100, "loss": 3.0, "step": step} for step in range(10, last + 1, 10)]
    state = {"global_step": last, "is_world_process_zero": True, "log_history": history, "max_steps": 500}
    return json_dumps(state, indent=2).encode()


def test_a_document_that_is_written_anew_is_read_anew():
    clock = FakeClock()
    versions = [(0, state_of(100)), (5, state_of(200)), (10, state_of(300)[:-400]), (11, state_of(300))]
    tail = GrowingFile(clock, versions)
    watch = Watch(tail, name="trainer_state.json", facts=FACTS, clock=clock)
    counts = [len(view.report.run) for view in views_until(watch, clock, 15) if view.report]
    assert counts[0] == 10
    assert counts == sorted(counts)
    assert counts[-1] == 30


def test_a_table_is_watched_while_it_grows():
    rows = [f"{step},{3.0 - step / 1000:.4f},{step * 0.5:.2f}" for step in range(1, 400)]
    pieces = [(index * 1.0, text_of(rows[index * 40 : index * 40 + 40])) for index in range(1, 10)]
    watch, clock = watch_of([(0, b"step,loss,elapsed_s\n" + text_of(rows[:40])), *pieces])
    counts = [len(view.report.run) for view in views_until(watch, clock, 15) if view.report]
    assert counts[0] == 40
    assert counts[-1] == 399


def test_a_source_that_is_gone_is_doing_nothing_any_more():
    watch, _ = watch_of([(0, text_of(training(300, every=10)))], ends=True)
    views: list[View] = []
    watch.run_to_end(views.append)
    assert views[-1].pulse.doing == "ended"
    assert not any("left" in line for line in live.screen(views[-1], Language.load("en")))


def test_the_last_view_says_that_the_run_is_finished():
    """Also where the process ends right after a view that saw it run."""
    clock, views = FakeClock(), []
    tail = FakeTail(clock, [(0, text_of(training(1000, every=10)))], ends=False)
    watch = Watch(
        tail,
        name="train.log",
        facts=FACTS,
        clock=clock,
        is_alive=lambda: not any(view.pulse.doing == "closing" and view.quiet_s > 5 for view in views),
        ends_with_process=False,
    )
    assert watch.run_to_end(views.append) == "finished"
    assert [view.pulse.doing for view in views][-2:] == ["closing", "finished"]
