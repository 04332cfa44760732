"""Each check of the reading on a log made for it, and what follows from all of them."""

from __future__ import annotations

import json
import time

import pytest

from stepscope import audit
from stepscope.analysis.explain import explain
from stepscope.audit._lacks import lacks_evaluations, lacks_times, lacks_total
from stepscope.catalogue.detect import find_format
from stepscope.core.errors import InputError
from stepscope.i18n import Language, languages
from stepscope.reading.log_reader import LogReader
from stepscope.report import html, markdown, note, terminal
from stepscope.report import json as as_json
from stepscope.report.wording.sentence import capital
from tests.unit.logs import full, report_of, run_of, training

RUN = training(200, evaluate=50)


def stamped(lines, every_s, start=0):
    """Lines with a timestamp each, `every_s` apart."""
    found = []
    for number, line in enumerate(lines):
        moment = start + number * every_s
        clock = f"{int(moment) // 3600:02d}:{int(moment) // 60 % 60:02d}:{moment % 60:06.3f}".replace(".", ",")
        found.append(f"2025-03-04 {clock} {line}")
    return found


def check_of(code, lines, **flags):
    return next(check for check in report_of(lines, **flags).reading.checks if check.code == code)


def steps(count, *, seconds=1.0):
    return [f"iter {step}: loss 3.0000, time {1000 * seconds:.2f}ms" for step in range(count)]


def test_a_plain_run_is_read_with_confidence():
    reading = report_of(RUN).reading
    assert reading.confidence > 0.8
    assert not any(check.verdict == "disagrees" for check in reading.checks)
    assert [check.code for check in reading.checks] == sorted(audit.rules())


def test_clocks_that_agree():
    assert check_of("R01", stamped(steps(60), 1.0)).verdict == "agrees"


def test_clocks_that_disagree():
    found = check_of("R01", stamped(steps(60), 1.4))
    assert found.verdict == "disagrees"
    assert found.seconds == pytest.approx(0.4 * 59, rel=0.05)
    assert report_of(stamped(steps(60), 1.4)).reading.confidence < report_of(stamped(steps(60), 1.0)).reading.confidence


def test_a_total_of_the_log_is_a_clock():
    lines = steps(100)
    assert check_of("R01", [*lines, "total training time: 100 seconds"]).verdict == "agrees"
    assert check_of("R01", [*lines, "total training time: 160 seconds"]).verdict == "disagrees"


def misread():
    """A log of another trainer, of which a few lines were taken for all."""
    other = [f"round {n} of 9000: cost 0.5{n % 10} took 1.2 s" for n in range(1, 400)]
    reader = LogReader(paths=["hand.log"], format=find_format("nanogpt"))
    reader.begin_file()
    reader.feed(("\n".join([*RUN[:20], *other]) + "\n").encode())
    reader.end_file()
    return explain(reader.run())


def test_unread_lines_that_count_up():
    reading = misread().reading
    assert next(check for check in reading.checks if check.code == "R02").verdict == "disagrees"
    assert reading.confidence < 0.5


def test_unread_lines_that_do_not_count():
    noise = [f"gradient norm {n * 7919 % 13} clipped" for n in range(100)]
    mixed = [line for pair in zip(RUN[:100], noise, strict=True) for line in pair]
    assert check_of("R02", mixed).verdict == "agrees"


def test_unread_lines_with_times():
    mixed = [line for step in steps(50) for line in (step, "batch cost 1.25 sec, reader cost 0.11 sec")]
    assert check_of("R03", mixed).verdict == "disagrees"
    assert check_of("R03", steps(50)).verdict == "agrees"


def test_unread_evaluations_outside_the_only_clock_leave_the_total_in_doubt():
    rows = [f"Timer: 0.61{step % 7}\nepoch:{step // 40} || iter:{step}0 || Loss:4.{step:03d}" for step in range(200)]
    rows[40::40] = [f"start eval....\nval epoch:{at} || Loss:4.3\n{row}" for at, row in enumerate(rows[40::40])]
    lines = "\n".join(rows).split("\n")
    assert check_of("R04", lines).verdict == "disagrees"
    assert report_of(lines).reading.confidence < 0.5
    plain = [line for line in lines if "val" not in line]
    assert report_of(plain).reading.confidence > 0.5


def test_unread_evaluations():
    lines = [*steps(50), "Testing on dev: 40/40 took 31.5 s, accuracy 0.81", *steps(50)]
    assert check_of("R04", lines).verdict == "disagrees"
    assert check_of("R04", RUN).verdict == "agrees"


def test_an_end_that_is_not_read():
    lines = [*steps(50), "all epochs are over, job finished"]
    assert check_of("R05", lines, max_steps=400).verdict == "disagrees"
    assert check_of("R05", steps(50), max_steps=400).verdict == "cannot tell"


def test_a_done_before_the_last_step():
    assert check_of("R05", [*steps(50), "Training complete"], max_steps=400).verdict == "disagrees"
    assert check_of("R05", [*steps(50), "Training complete"], max_steps=49).verdict == "agrees"


def test_a_last_step_between_two_that_are_printed():
    """Every tenth of 477 is printed: 470 is the last of them, and nothing is missing."""
    lines = [f"iter {step}: loss 3.0000, time 100.00ms" for step in range(0, 471, 10)]
    assert check_of("R05", [*lines, "Training complete"], max_steps=477).verdict == "agrees"
    assert check_of("R05", [*lines, "Training complete"], max_steps=600).verdict == "disagrees"


def test_steps_of_microseconds():
    assert check_of("R06", steps(50, seconds=0.00001)).verdict == "disagrees"
    assert check_of("R06", steps(50, seconds=0.2)).verdict == "agrees"


def test_a_total_that_nothing_explains():
    lines = [*stamped(steps(30), 1.0), *stamped(steps(60)[30:], 1.0, start=20_000)]
    assert check_of("R07", lines).verdict == "disagrees"
    assert check_of("R07", RUN).verdict == "agrees"


def test_a_counter_that_jumps():
    jumping = [f"iter {step * step}: loss 3.0, time 100.00ms" for step in (1, 2, 3, 9, 10, 40, 41, 43, 90, 200, 201)]
    found = check_of("R08", jumping)
    assert (found.verdict, str(found.message)) == ("disagrees", "The iterations do not count evenly.")
    assert check_of("R08", RUN).verdict == "agrees"


def test_trainings_of_an_unknown_log_that_end_alike_may_be_epochs():
    rows = [f"it {i}/40 with loss {3 - i / 50:.3f} in {1.5 + i % 3 / 100:.2f}s" for i in range(1, 41)]
    launch = ["loading the data anew"]
    found = check_of("R08", [*launch, *rows, *launch, *rows, *launch, *rows, *launch, *rows[:20]])
    assert (found.verdict, found.message.key) == ("cannot tell", "audit-counter-epochs")
    assert check_of("R08", [*launch, *rows]).verdict == "agrees"


def test_few_lines_are_explained():
    foreign = [f"{chr(97 + n % 26) * (n % 17 + 2)} says hello" for n in range(2000)]
    assert check_of("R09", [*RUN[:50], *foreign, *RUN[50:60]]).verdict == "disagrees"


def test_an_inferred_format_is_less_sure_and_most_of_all_where_no_unit_is_printed():
    confidence = []
    for unit in ("s", ""):
        lines = [f"my step {n} my loss {3 - n / 100:.3f} took {1.5 + n % 3 / 100:.2f}{unit}" for n in range(80)]
        report = report_of(lines)
        assert report.run.format.inferred is not None
        assert next(check for check in report.reading.checks if check.code == "R10").verdict == "cannot tell"
        confidence.append(report.reading.confidence)
    assert 0.8 > confidence[0] > 0.5 > confidence[1]


@pytest.mark.parametrize(
    "line",
    [
        "Training Progress:  {percent}%|##        | {step}/900 [0{step}:00<1:20:00, 60.00s/it]",
        "[train] step {step}/40 took 6{step}.4 s",
        "{step} epoch took 6{step}.4 s",
        "step {step} cost = 2.{step} took 6{step}.4 s",
    ],
)
def test_a_line_that_says_whose_it_is_shows_that_something_is_trained(line):
    """A loss is not the only sign of a training: its own word, an epoch or a cost is one as well."""
    lines = [line.format(step=step, percent=step) for step in range(1, 7)]
    assert check_of("R12", lines).verdict == "agrees"


@pytest.mark.parametrize(
    "line", ["Train set: {step}/900 took 6{step}.4 s", "Loading train data {step}/900 in 6{step}.4 s"]
)
def test_the_data_of_a_training_is_none(line):
    from stepscope.audit.nothing_is_trained import _TRAINS
    from stepscope.lines import hints

    text = line.format(step=3)
    assert _TRAINS.search(text) is None or hints.is_preparation(text)


def test_one_long_step_is_no_sign_of_a_wrong_reading_where_times_are_printed():
    lines = [f"Epoch {n}: loss {3 - n / 10:.2f}, took {4000.0 if n == 6 else 171 + n / 10:.1f} s" for n in range(1, 8)]
    assert check_of("R07", lines).verdict == "agrees"


def test_a_count_without_a_loss_may_be_no_training():
    lines = [
        f"{n * 100 // 80:3d}%|{'#' * (n // 8):<10}| {n}/80 [00:{n // 2:02d}<00:09,  2.00it/s]" for n in range(1, 81)
    ]
    assert check_of("R12", lines).doubt > 0
    assert report_of(lines).reading.confidence < 0.5
    assert check_of("R12", RUN).verdict == "agrees"


@pytest.mark.parametrize("code", languages())
def test_a_doubt_is_said_first(code):
    report, language = misread(), Language.load(code)
    doubt = language.text("reading-doubt", confidence="").split("(")[0].strip()
    assert terminal.render(report, language, width=200, full=True).startswith(f"! {doubt}")
    assert "stepscope formats try" in terminal.render(report, language, width=400, full=True)
    said = language.text("reading-eta-doubt", confidence="", text="").split("(")[0].strip()
    # The screen keeps words together by where it breaks its lines, and prints plain spaces.
    assert terminal.render(report, language).startswith(capital(said).replace("\N{NO-BREAK SPACE}", " "))
    body = markdown.render(report, language).split("\n\n")
    assert body[1] == f"## {language.text('section-reading')}"
    assert doubt in body[2]
    assert doubt in note.render(report, language).split("---\n\n")[1].split("\n\n")[1]
    assert doubt in html.body(report, language).split("<header>")[0]


def test_a_sure_reading_has_one_line_at_most():
    report, language = report_of(stamped(steps(60), 1.0)), Language.load("en")
    assert terminal.render(report, language, full=True).count("Reading: checked against the timestamps") == 1
    assert "in doubt" not in terminal.render(report, language).lower()


def test_the_document_has_the_checks():
    reading = json.loads(as_json.render(misread(), Language.load("en")))["reading"]
    assert 0 <= reading["confidence"] < 0.5
    assert {"code", "verdict", "message", "seconds"} == set(reading["checks"][0])
    assert {check["verdict"] for check in reading["checks"]} <= {"agrees", "disagrees", "cannot tell"}
    assert all(set(one) == {"format", "share"} for one in reading["candidates"])


def test_eta_says_the_doubt_on_the_side(cli, tmp_path):
    lines = [
        f"{n * 100 // 90:3d}%|{'#' * (n // 9):<10}| {n}/90 [00:{n // 2:02d}<00:09,  2.00it/s]" for n in range(1, 81)
    ]
    (tmp_path / "x.log").write_text("\n".join(lines) + "\n")
    _, _, err = cli("eta", str(tmp_path / "x.log"), "--lang", "en")
    assert err.startswith("in doubt")


def test_what_is_lacking_is_looked_for_in_the_unread_lines():
    run = run_of([*steps(20), "will go on for 300 epochs, 9000 iterations in all", "dev score: accuracy 0.5"])
    assert lacks_total(run) is not None
    assert lacks_evaluations(run) is not None
    assert lacks_times(run) is None
    assert lacks_total(run_of(steps(20))) is None


def test_a_missing_total_is_said_with_the_line_that_may_have_it():
    report = report_of([*steps(20), "schedule: max_update 9000 then stop"])
    lines = [*steps(20), "plan: total steps 9000"]
    assert report_of(lines).forecast.reason.key == "reason-no-total-unread"
    assert report_of(steps(20)).forecast.reason.key == "reason-no-total"
    assert "plan: total steps 9000" in full(report_of(lines))
    assert report.forecast.reason.key.startswith("reason-no-total")


def test_an_audit_is_only_made_when_asked_for():
    report = report_of(RUN)
    assert "reading" not in report.__dict__
    began = time.perf_counter()
    assert report.reading is report.reading
    assert time.perf_counter() > began


def test_a_log_that_no_format_fits_is_not_called_something_else():
    with pytest.raises(InputError) as caught:
        run_of(["we begin", "alpha 3 has loss 0.51 here", "beta 9 has loss 0.49 there"])
    assert caught.value.key == "no-format-fits"
    assert caught.value.place.endswith(":2")
    with pytest.raises(InputError) as caught:
        run_of(["dear reader", "this is a letter"])
    assert caught.value.key == "not-a-training-log"
