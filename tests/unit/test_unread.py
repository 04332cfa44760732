"""Families of lines that nobody understood."""

from __future__ import annotations

from stepscope.reading import unread
from stepscope.reading.unread import UnreadTrack, family_key
from tests.unit.logs import run_of


def noted(*texts):
    track = UnreadTrack()
    for line, text in enumerate(texts, 1):
        track.note(text, line)
    return track.families()


def test_lines_that_differ_in_their_numbers_are_one_family():
    (family,) = noted("round 1 cost 0.5", "round 20 cost 1e-05", "round 300 cost 12.25")
    assert (family.key, family.num, family.first_line, family.last_line) == ("round 0 cost 0", 3, 1, 3)
    assert (family.first, family.second, family.last) == (
        "round 1 cost 0.5",
        "round 20 cost 1e-05",
        "round 300 cost 12.25",
    )


def test_a_family_that_came_twice_stays_whatever_comes_once(monkeypatch):
    monkeypatch.setattr(unread, "MAX_SINGLE", 3)
    chatter = [f"{'x' * n} y" for n in range(1, 40)]
    found = noted("round 1", "round 2", *chatter, "round 3")
    assert [family.num for family in found if family.key == "round 0"] == [3]
    assert len(found) == 4


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(unread, "MAX_STAYED", 5)
    texts = [f"{'x' * n} y" for n in range(1, 40) for _ in range(2)]
    found = noted(*texts, "z" * 10_000)
    assert len(found) == 5
    assert max(len(family.last) for family in found) <= unread.CHARS


def test_a_key_is_cut_off():
    assert len(family_key("word " * 1000)) <= 120


def test_a_run_has_its_unread_families():
    lines = ["iter 0: loss 3.0, time 100.00ms", "tune 7 of 9 in 2 s", "iter 1: loss 3.0, time 100.00ms"]
    run = run_of([*lines, "tune 8 of 9 in 2 s"])
    (family,) = run.unread
    assert (family.key, family.num, family.first_line, family.last_line) == ("tune 0 of 0 in 0 s", 2, 2, 4)
