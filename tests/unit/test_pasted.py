"""A log that was pasted into a forum is read as if it had not been."""

from __future__ import annotations

import pytest

import stepscope
from stepscope.source.pasted import without_marks


@pytest.mark.parametrize(
    ("pasted", "plain"),
    [
        ("> iter 3: loss 2.1, time 12.00ms", "iter 3: loss 2.1, time 12.00ms"),
        (">> iter 3", "iter 3"),
        ("  0%|   | **1/1000 [04:41<78:02:42, 281.24s/it]**", "  0%|   | 1/1000 [04:41<78:02:42, 281.24s/it]"),
        ("`step 3 loss 2.1`", "step 3 loss 2.1"),
        ("iter 40 || Timer: 0.3 sec.`", "iter 40 || Timer: 0.3 sec."),
        ("```text", ""),
        ("<code>iter 3</code><br/>", "iter 3"),
        ("[00:04&lt;05:27,  4.26s/it]", "[00:04<05:27,  4.26s/it]"),
        (r"train\_loss 2.1", "train_loss 2.1"),
        ("2 ** 3 and a ** b stay", "2 ** 3 and a ** b stay"),
        ("a = x > 3", "a = x > 3"),
        ("iter 3: loss 2.1", "iter 3: loss 2.1"),
    ],
)
def test_marks_of_a_forum_are_taken_off(pasted, plain):
    assert without_marks(pasted) == plain


@pytest.mark.parametrize("mark", ["{}", "> {}", "**{}**", "`{}`", "<b>{}</b>"])
def test_marks_do_no_harm(tmp_path, mark):
    rows = [f"iter {i}: loss 3.1, time {100 + i % 3}.00ms, mfu 20.00%" for i in range(5, 30)]
    path = tmp_path / "pasted.txt"
    path.write_text("\n".join(mark.format(row) for row in rows))
    report = stepscope.explain(stepscope.read(str(path)))
    assert report.run.format.name == "nanogpt"
    assert len(report.run) == 25
    assert report.ledger.step.typical_s == pytest.approx(0.101)


def test_stars_that_frame_a_message_are_no_marks():
    line = "slurmstepd: error: *** JOB 12345 ON node07 CANCELLED AT 2025-02-02T10:00:00 DUE TO TIME LIMIT ***"
    assert without_marks(line) == line
