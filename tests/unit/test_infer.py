"""Logs of loggers nobody has heard of: read by their structure, or not at all; a guess never passes for knowledge."""

from __future__ import annotations

import json
import random

import pytest

from stepscope.analysis.explain import explain
from stepscope.core.errors import InputError
from stepscope.reading.log_reader import LogReader
from tests.unit.foreign import NON_LOGS
from tests.unit.invented import STYLES, loss, simulate, stamp


def read_text(text):
    reader = LogReader(paths=["unknown.log"])
    reader.begin_file()
    reader.feed(text.encode())
    reader.end_file()
    return reader.run()


@pytest.mark.parametrize("name", STYLES)
def test_an_invented_logger_is_read(name):
    log = STYLES[name]()
    run = read_text(log.text)
    report = explain(run)
    assert run.format.name == "generic"
    assert (len(run), int(run.steps.step[-1])) == (log.rows, log.last)
    assert report.ledger.step.typical_s == pytest.approx(log.typical_s, rel=0.05)
    if log.wall_s is not None:
        assert report.ledger.wall_s == pytest.approx(log.wall_s, rel=0.05)
    assert run.events.kind.count("evaluation") == log.evaluations
    assert run.events.kind.count("checkpoint") == log.checkpoints
    assert run.settings.count("max_steps") == log.max_steps


@pytest.mark.parametrize("name", STYLES)
def test_it_says_what_it_assumed_and_how_sure_it_is(name):
    inferred = read_text(STYLES[name]().text).format.inferred
    assert 0.4 <= inferred.confidence < 1
    keys = [assumption.message.key for assumption in inferred.assumptions]
    assert keys[0].startswith("infer-step")
    assert keys[1].startswith("infer-time")
    assert all(0 < assumption.confidence < 1 for assumption in inferred.assumptions)


def because(name):
    return read_text(STYLES[name]().text).format.inferred.assumptions[1].because.key


def test_the_evidence_that_settled_a_figure_is_named():
    assert because("milliseconds_and_stamps") == "infer-because-stamps"
    assert because("interval_total_and_stamps") == "infer-because-stamps"
    assert because("interval_total_told_by_the_first_line") == "infer-because-spacing"
    assert because("time_left_settles_the_interval") == "infer-because-left"
    assert because("bar_with_figures") == "infer-because-left"
    assert because("bare_seconds") == "infer-because-size"


def doubtful(line, *, every=100, num=4000):
    steps = simulate(num, evaluate=0, save=0)
    return "\n".join(line(step) for step in steps if step.number % every == every - 1)


@pytest.mark.parametrize(
    "line",
    [
        lambda s: f"step {s.number} loss {loss(s.number):.3f} time {41.4 + s.seconds / 50:.2f}",
        lambda s: f"step {s.number} loss {loss(s.number):.3f} took {4.1 + s.seconds / 50:.2f}s",
        lambda s: (
            f"iter {s.number} | train loss {loss(s.number):.3f} | elapsed_time 41{random.Random(s.number).randrange(9)}"
        ),
    ],
    ids=["no unit", "of one step or of a hundred", "seconds or milliseconds"],
)
def test_two_readings_equally_likely_give_steps_without_times(line):
    """And the doubt is said, with what to do."""
    run = read_text(doubtful(line))
    assert len(run) == 40
    assert not explain(run).has_steps
    assert run.format.inferred.assumptions[1].message.key.startswith("infer-doubt")


def test_steps_without_any_time_are_read_as_such():
    run = read_text(doubtful(lambda s: f"step {s.number} loss {loss(s.number):.3f} lr 3.0e-4"))
    assert len(run) == 40
    assert not run.format.is_timed


@pytest.mark.parametrize("make", NON_LOGS, ids=lambda make: make.__name__)
def test_what_is_no_training_log_is_refused(make):
    with pytest.raises(InputError) as caught:
        read_text(make(random.Random(3)))
    assert caught.value.key == "not-a-training-log"


def test_ranks_are_not_steps():
    lines = [
        f"[{rank}] step {s.number} loss {loss(s.number):.3f} dt {s.seconds:.3f}s"
        for s in simulate(200)
        for rank in (0,)
    ]
    assert len(read_text("\n".join(lines))) == 200


def test_a_log_longer_than_what_is_held_back_is_read_to_its_end():
    """The format is settled on the way; the rest goes through the bulk engine."""
    steps = simulate(30_000, evaluate=0, save=0)
    text = "\n".join(f"it {s.number} of 30000 :: loss={loss(s.number):.4f} dt={s.seconds:.3f}s" for s in steps)
    run = read_text(text + "\n")
    assert (len(run), int(run.steps.step[-1])) == (30_000, 29_999)
    assert explain(run).ledger.wall_s == pytest.approx(steps[-1].own, rel=0.01)


def test_steps_without_times_are_read_to_the_end_too():
    text = "\n".join(f"step {number} loss {loss(number):.4f} lr 3.0e-4" for number in range(21_000))
    assert int(read_text(text).steps.step[-1]) == 20_999


def test_asking_in_between_does_not_change_the_answer():
    log = STYLES["evaluations_and_saves"]().text.encode()
    reader, once = LogReader(paths=["a"]), LogReader(paths=["a"])
    for one in (reader, once):
        one.begin_file()
    for start in range(0, len(log), 9000):
        reader.feed(log[start : start + 9000])
        if start > 9000:
            reader.run()
    once.feed(log)
    for one in (reader, once):
        one.end_file()
    assert reader.run().steps.step.tolist() == once.run().steps.step.tolist()
    assert reader.run().steps.dur_ns.tolist() == once.run().steps.dur_ns.tolist()


def test_a_known_trainer_later_in_the_file_wins_over_structure():
    lines = [f"download {i}/90 {stamp(i)}" for i in range(90)]
    lines += [f"iter {i}: loss 2.1, time {100 + i % 3:.2f}ms, mfu 3.00%" for i in range(40)]
    assert read_text("\n".join(lines)).format.name == "nanogpt"


def test_the_number_of_epochs_in_the_header_makes_a_total():
    steps = simulate(500, evaluate=0, save=0)
    lines = ["Namespace(batch_size=2, num_epochs=4, lr=1e-05)"]
    lines += [
        f"Epoch {s.number // 250} [{s.number % 250}/250] loss {loss(s.number):.3f} ({s.seconds:.3f} s/it)"
        for s in steps
    ]
    run = read_text("\n".join(lines))
    assert (len(run), run.settings.count("max_steps")) == (500, 999)


@pytest.mark.parametrize("language", ["en", "es", "de", "fr"])
@pytest.mark.parametrize("form", ["terminal", "markdown", "note"])
def test_every_report_says_what_was_assumed(cli, tmp_path, language, form):
    from stepscope.i18n import Language

    path = tmp_path / "unknown.log"
    path.write_text(STYLES["evaluations_and_saves"]().text, encoding="utf-8")
    status, out, _ = cli(path, "--format", form, "--lang", language)
    assert status == 0
    if form == "terminal":  # the screen has one line of it, everything is in the whole report
        assert f"formatstry{path}--suggest" in "".join(out.split())
        status, out, _ = cli(path, "--full", "--lang", language)
    assert Language.load(language).text("section-inferred") in out
    assert "--suggest" in out
    status, out, err = cli("eta", path, "--format", form, "--lang", language)
    assert (status, bool(err) or form != "terminal") == (0, True)


def test_json_says_it_too(cli, tmp_path):
    path = tmp_path / "unknown.log"
    path.write_text(STYLES["bare_seconds"]().text, encoding="utf-8")
    _, out, _ = cli(path, "--format", "json")
    source = json.loads(out)["source"]
    assert source["format"] == "generic"
    assert source["inferred"]["confidence"] == pytest.approx(0.62, abs=0.02)
    assert source["inferred"]["assumptions"][1] == {
        "text": "“dt=3.411” is read as the time of one iteration, in s. It has no unit; for a number of this "
        "size, seconds are most likely.",
        "confidence": 0.65,
    }


def test_a_log_with_times_in_doubt_is_one_with_too_little_in_it(cli, tmp_path):
    path = tmp_path / "unknown.log"
    path.write_text(doubtful(lambda s: f"step {s.number} loss {loss(s.number):.3f} time {41.4:.2f}"), encoding="utf-8")
    status, out, _ = cli(path)
    assert status == 3
    assert "--suggest" in out
    assert cli("eta", path)[0] == 3


@pytest.mark.parametrize(
    "line",
    [
        "Train epoch {n}, total time 18.{n:02d}, accuracy:11.{n:02d}",  # the n of train is no word of its own
        "Epoch{n} Time:178.{n}s Data:47.8s Loss:5.{n:02d} Acc:12.89%",  # the number right after the word
        "Epoch {n} | loss 1.{n:02d} | {n} hr 17 min",  # hours and minutes in words, since the start
    ],
)
def test_epochs_in_other_words_are_counted(line):
    from stepscope.infer.infer import infer

    fmt = infer([line.format(n=number) for number in range(1, 25)])
    assert fmt is not None
    assert fmt.is_timed
    found = [fmt.lines[0].regex.match(line.format(n=number)) for number in (3, 17)]
    assert [match and (match.groupdict().get("step") or match.groupdict().get("epoch")) for match in found] == [
        "3",
        "17",
    ]
