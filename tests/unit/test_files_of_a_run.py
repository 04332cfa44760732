"""Several files of one run, in any order; all lines invented."""

from __future__ import annotations

import gzip
import json

import pytest

from stepscope.analysis.explain import explain
from stepscope.reading.folder_runs import runs_below
from stepscope.reading.reader import read
from stepscope.report.json import document
from tests.unit.logs import training


def write(folder, name, lines):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return str(path)


def noisy(first, last, *, base=100, extra=0, stamp=None):
    """nanoGPT lines with times that differ, each perhaps with a stamp one second after the other."""
    return [
        (f"{stamp + step}.000 " if stamp is not None else "")
        + f"iter {step}: loss 3.{step:04d}, time {base + step * 37 % 11 + extra}.{step % 7}0ms"
        for step in range(first, last + 1)
    ]


def test_parts_are_sorted_by_their_steps(tmp_path):
    names = ("c", "a", "b")
    one, two, three = (
        write(tmp_path, f"{name}.log", noisy(first, first + 99))
        for name, first in zip(names, (0, 100, 200), strict=True)
    )
    run = read(two, three, one)
    assert run.paths == (one, two, three)
    assert run.order == "steps"
    assert (len(run.segments), len(run)) == (1, 300)
    assert "files" in [alarm.code for alarm in explain(run).alarms]


def test_parts_are_sorted_by_their_stamps(tmp_path):
    """The second part was resumed further back: its steps begin before the first part's end."""
    early = write(tmp_path, "z.log", noisy(50, 150, stamp=1_700_000_000))
    late = write(tmp_path, "a.log", noisy(120, 200, base=130, stamp=1_700_001_000))
    run = read(late, early)
    assert run.paths == (early, late)
    assert run.order == "stamps"
    assert [segment.num_rows for segment in run.segments] == [101, 81]


def test_parts_in_their_order_are_not_remarked_upon(tmp_path):
    one, two = write(tmp_path, "1.log", noisy(0, 99)), write(tmp_path, "2.log", noisy(100, 199))
    assert not explain(read(one, two)).alarms


def test_the_same_lines_in_two_files_count_once(tmp_path):
    one, two = write(tmp_path, "train.log", noisy(0, 99)), write(tmp_path, "nohup.out", noisy(0, 80))
    run = read(two, one)
    assert (run.paths, run.repeated_paths, len(run)) == ((one,), (two,), 100)


@pytest.mark.parametrize("name", ["log_rank{}.txt", "worker.{}", "rank_{}/stdout.log", "train.{}.log.gz"])
def test_one_file_per_rank(tmp_path, name):
    paths = [write(tmp_path, name.format(rank), noisy(0, 60, extra=60 if rank == 2 else rank)) for rank in range(4)]
    # Names of a folder that only count may be those of runs.
    for chosen in ([*reversed(paths)], [str(tmp_path)])[: 1 if name.startswith("train") else 2]:
        run = read(*chosen)
        answer = document(explain(run))
        assert (len(run), len(run.segments)) == (61, 1)
        assert [rank["rank"] for rank in answer["ranks"]] == [0, 1, 2, 3]
        assert answer["slowest_rank"] == 2


def test_how_another_rank_ended_is_told(tmp_path):
    """Rank 0 just stops; rank 1's own file says why."""
    words = ["Traceback (most recent call last):", '  File "t.py", line 1, in <module>', "ValueError: bad shard"]
    one = write(tmp_path, "rank0.log", noisy(0, 60))
    two = write(tmp_path, "rank1.log", [*noisy(0, 20, extra=1), "ValueError: skipped", *noisy(21, 60, extra=1), *words])
    codes = {alarm.code: alarm for alarm in explain(read(one, two), flags={"max_steps": 100}).alarms}
    assert set(codes) == {"crash"}
    assert "bad shard" in codes["crash"].message.args["text"]


def test_a_folder_of_rotated_logs_is_one_run(tmp_path):
    write(tmp_path, "train.log", noisy(200, 259))
    write(tmp_path, "train.log.1", noisy(100, 199))
    write(tmp_path, "train.log.2.gz", noisy(0, 99))
    run = read(str(tmp_path))
    assert (len(run), len(run.segments)) == (260, 1)


def test_a_folder_of_resumed_parts_is_one_run(tmp_path):
    write(tmp_path, "slurm-101.out", noisy(0, 99))
    write(tmp_path, "slurm-102.out", noisy(90, 199, base=120))
    run = read(str(tmp_path))
    assert [segment.num_rows for segment in run.segments] == [100, 110]


def test_runs_of_a_sweep_are_no_ranks(tmp_path):
    """Files that print the same iterations without a time stamp, and whose names only count."""
    for number in range(3):
        write(tmp_path, f"run{number:04}.log", noisy(0, 60, base=100 + 30 * number))
    assert len(read(str(tmp_path)).paths) == 1
    assert [len(run.sources) for run in runs_below(str(tmp_path), most=10).runs] == [1, 1, 1]


def test_a_folder_of_other_runs_is_not_mixed_up(tmp_path):
    """Two runs with names alike, both from the start, of different length: the longer one is read."""
    write(tmp_path, "run-1.log", noisy(0, 300))
    write(tmp_path, "run-2.log", noisy(0, 99, base=200))
    run = read(str(tmp_path))
    assert (len(run), len(run.segments)) == (301, 1)


def test_ranks_of_a_resumed_run(tmp_path):
    """Two launches of two ranks each."""
    for rank in range(2):
        for part, first in enumerate((0, 80)):
            stamp = 1_700_000_000 + 1_000 * part
            write(tmp_path, f"part{part}/rank{rank}.log", noisy(first, first + 99, extra=rank, stamp=stamp))
    paths = [str(path) for path in sorted(tmp_path.glob("*/*.log"), reverse=True)]
    run = read(*paths)
    assert [segment.num_rows for segment in run.segments] == [100, 100]
    assert [rank.num_steps for rank in run.ranks] == [200, 200]


def test_plain_nanogpt_parts_still_read(tmp_path):
    one = write(tmp_path, "a.log", training(100, evaluate=50))
    two = write(tmp_path, "b.log", training(200, first=101, evaluate=50))
    assert len(read(one, two)) == 201


def test_of_a_folder_the_file_that_tells_of_evaluations_is_read(tmp_path):
    """A table of steps beside the log has more rows, but does not say what happened between them."""
    (tmp_path / "train.log").write_text("\n".join(training(200, every=10, evaluate=50)) + "\n")
    rows = [json.dumps({"step": step, "duration_s": 0.1, "loss": 3.0}) for step in range(201)]
    (tmp_path / "steps.jsonl").write_text("\n".join(rows) + "\n")
    assert read(str(tmp_path)).format.name == "nanogpt"


def names_of_runs(folder):
    return sorted(
        sorted(source.name.rpartition("/")[2] for source in run.sources) for run in runs_below(str(folder), most=9).runs
    )


def test_a_log_and_a_recording_of_it_with_moments_are_one_run(tmp_path):
    """The recording is the copy that says more."""
    lines = noisy(0, 99)
    write(tmp_path, "run.log", lines)
    recorded = [f"{1_700_000_000 + number}.5\t{line}" for number, line in enumerate(lines)]
    write(tmp_path, "run.arrivals.tsv", recorded)
    assert names_of_runs(tmp_path) == [["run.arrivals.tsv", "run.log"]]
    (found,) = runs_below(str(tmp_path), most=9).runs
    assert read(*(source.name for source in found.sources)).paths[0].endswith(".tsv")


def test_jobs_whose_steps_overlap_by_chance_are_runs_of_their_own(tmp_path):
    """The second begins in the middle of the first, two weeks later, and is called otherwise."""
    write(tmp_path, "resnet.log", noisy(0, 150, stamp=1_700_000_000))
    write(tmp_path, "bert.log", noisy(50, 200, base=130, stamp=1_701_300_000))
    assert names_of_runs(tmp_path) == [["bert.log"], ["resnet.log"]]


@pytest.mark.parametrize("names", [("train.log", "train-resumed.log"), ("first.log", "second.log")])
def test_a_part_goes_on_under_its_name_or_right_after(tmp_path, names):
    write(tmp_path, names[0], noisy(0, 150, stamp=1_700_000_000))
    write(tmp_path, names[1], noisy(120, 200, base=130, stamp=1_700_001_000))
    assert names_of_runs(tmp_path) == [sorted(names)]


def test_a_table_called_like_a_log_that_was_cut_is_that_run(tmp_path):
    """One trainer writes both; the log ends long before the table does."""
    rows = [
        {"loss": 3.0, "global_step/max_steps": f"{step}/100", "elapsed_time": f"{step // 60}m {step % 60}s"}
        for step in range(1, 100)
    ]
    write(tmp_path, "job.logging.jsonl", [json.dumps(row) for row in rows])
    write(tmp_path, "job.stdout.log", [str(row) for row in rows[:40]])
    write(tmp_path, "other.stdout.log", [str(row) for row in rows[:60]])
    assert names_of_runs(tmp_path) == [["job.logging.jsonl"], ["other.stdout.log"]]
