"""What the bench on forecasts takes for the same run."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from replay import is_kept_apart, without_repeats
from tests.unit.logs import training


def test_a_run_in_two_places_counts_once_and_where_it_is_kept_apart(tmp_path):
    """With other lines around it, too; another run of the same program is another run."""
    names = [f"program{number}" for number in range(40)]
    learned = next(name for name in names if not is_kept_apart(name))
    apart = next(name for name in names if is_kept_apart(name))
    log = "\n".join(training(2000, every=10))
    texts = {f"{learned}/run.log": log, f"{apart}/copy.log": f"a header\n{log}\ndone\n"}
    texts[f"{learned}/other.log"] = "\n".join(training(2000, every=10, step_ms=105.0))
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = without_repeats((tmp_path, tmp_path / name) for name in texts)
    assert {path.name for _, path in found} == {"copy.log", "other.log"}
