"""Live, it is said once that a run's best model lies long behind; never of one that is getting better or just noisy."""

from __future__ import annotations

import pytest

from stepscope.i18n import Language, languages
from stepscope.live.watch import Facts
from tests.live.test_pulse_and_watch import text_of, views_until, watch_of


def lines(losses, *, every=100, saved=True):
    """A run that evaluates every 100 steps, with these validation losses; saved where the loss is the best so far."""
    found = []
    for place, loss in enumerate(losses):
        step = place * every
        found.append(f"step {step}: train loss {loss - 0.1:.4f}, val loss {loss:.4f}")
        if saved and place and loss == min(losses[: place + 1]):
            found.append("saving checkpoint to out")
        found.append(f"iter {step}: loss {loss:.4f}, time 1500.00ms")
        found += [f"iter {step + more}: loss {loss:.4f}, time 100.00ms" for more in range(10, every, 10)]
    return found


def alarms(losses, **options):
    facts = Facts(None, {"max_steps": 5000}, 0.9)
    watch, clock = watch_of([(0, text_of(lines(losses, **options)))], facts=facts)
    return [alarm for view in views_until(watch, clock, 10) for alarm in view.fresh if alarm.code == "past_best"]


WORSE = [4.0, 3.0, 2.5, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7]


def test_it_is_said_once_with_the_iteration_and_what_is_left():
    (found,) = alarms(WORSE)
    assert (found.severity, found.step) == ("warning", 300)
    assert found.message.key == "alarm-past-best-left"
    assert found.message.args["count"] == 5
    assert found.message.args["left"].value == pytest.approx(477, rel=0.1)  # 4,110 steps and 42 evaluations of 1.4 s


def test_without_a_checkpoint_of_it_nobody_is_told_that_stopping_is_free():
    (found,) = alarms(WORSE, saved=False)
    assert found.message.key == "alarm-past-best-unsaved-left"


@pytest.mark.parametrize(
    "losses",
    [
        [4.0, 3.0, 2.5, 2.2, 2.1, 2.0, 1.95, 1.9, 1.88],  # it learns
        [4.0, 3.0, 2.5, 2.2, 2.3, 2.4],  # two evaluations say nothing yet
        [4.0, 3.0, 2.2, 2.3, 2.4, 2.3, 2.25, 2.21, 2.21],  # it comes down again
        [2.2, 2.21, 2.2, 2.205, 2.21, 2.2, 2.21, 2.205, 2.21],  # noise
    ],
)
def test_nothing_is_said_too_early(losses):
    assert alarms(losses) == []


@pytest.mark.parametrize("code", languages())
def test_it_is_a_sentence_in_every_language(code):
    text = Language.load(code).say(alarms(WORSE)[0].message)
    assert Language.load(code).number(300) in text
    assert "min" in text
