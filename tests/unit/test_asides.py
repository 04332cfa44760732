"""What a step line says besides its step and its time."""

from __future__ import annotations

import pytest

from stepscope.lines.asides import left_in, rate_in


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Epoch [2][10/50] lr: 1e-3, eta: 1 day, 4:39:18, time: 4.06", 103_158),
        ("iter: 20/90, ETA: 14 days, 2:00:10", 1_216_810),
        (" 90/912 [..........] - ETA: 107s - loss: 0.6", 107),
        ("127: 3.2, 2.9 avg loss, 0.01 rate, 2.5 seconds, 8192 images, 30.5 hours left", 109_800),
        (" 1%| | 1/78 [00:04<05:27, 4.26s/it]", 327),
        ("4450 (14.8%)   617.1 ms   21 h, 31 m, 2 s    44.1 K", 77_462),
        ("time left: 3h 12m, loss 2.1", 11_520),
    ],
)
def test_the_time_left_is_found_by_its_words(text, seconds):
    left = left_in(text)
    assert left is not None
    assert left.seconds == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["eta: -", "beta: 0.9", "theta: 1:02:03", "iter 3: loss 2.1, time 12.00ms", "[04:41<?, ?it/s]"]
)
def test_nothing_else_is_a_time_left(text):
    assert left_in(text) is None


def test_a_bar_says_what_is_left_of_the_bar():
    assert left_in("10%|# | 8/78 [00:34<05:01, 4.26s/it]").is_bar
    assert left_in(" 90/912 [=>........] - ETA: 107s - loss: 0.6").is_bar
    assert not left_in("eta: 0:05:01, time: 4.2").is_bar


@pytest.mark.parametrize(
    ("text", "rate", "unit"),
    [
        ("Epoch[0] Batch [20] Speed: 74.60 samples/sec", 74.6, "samples"),
        ("loss 1.2 (18.37 s/sec)", 18.37, "samples"),
        ("0/2650, SamplesPerSec=13.2214", 13.2214, "samples"),
        ("img/s: 17.25  loss: 6.9", 17.25, "images"),
        ("(1280.5 examples/sec; 0.014 sec/batch)", 1280.5, "examples"),
    ],
)
def test_a_rate_is_found_by_its_unit(text, rate, unit):
    assert rate_in(text) == (rate, unit)


@pytest.mark.parametrize("text", ["56.96it/s", "3.131 sec/step", "0.2 s/it", "2.1 steps/s"])
def test_steps_a_second_are_no_rate_of_samples(text):
    assert rate_in(text) is None
