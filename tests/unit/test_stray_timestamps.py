"""Timestamps of other lines: a library's own do not time the rows of a trainer that prints none."""

from __future__ import annotations

import pytest

from tests.unit.logs import report_of


def test_a_librarys_clock_does_not_hide_the_printed_rate():
    """MXNet's C++ side stamps two lines of the start; the rows have a speed, and the batch size is an argument."""
    lines = [
        "[03:04:05] src/io/iter_image.cc:153: ImageParser: /data/train.rec, use 4 threads for decoding..",
        "INFO:root:start with arguments Namespace(batch_size=100, gpus='0', num_epochs=3)",
        "[03:04:09] src/operator/cudnn.h:65: Running performance tests to find the best convolution algorithm",
    ]
    for epoch in range(3):
        lines += [
            f"INFO:root:Epoch[{epoch}] Batch [{batch}]\tSpeed: {200 + batch % 3}.00 samples/sec\taccuracy=0.3"
            for batch in range(50, 501, 50)
        ]
        lines.append(f"INFO:root:Epoch[{epoch}] Time cost=250.0")
    report = report_of(lines)
    assert report.ledger.step.typical_s == pytest.approx(0.5, rel=0.02)
