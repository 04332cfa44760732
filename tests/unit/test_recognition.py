"""Which format reads a log: the best account of all its lines, never the first line that fits."""

from __future__ import annotations

import pytest

from stepscope.catalogue import detect
from stepscope.core.errors import InputError
from stepscope.reading.log_reader import LogReader
from stepscope.reading.reader import read
from stepscope.reading.recognition import HOLD_CHARS

ENGINE = (
    "[2026-03-01 08:00:00,100] [INFO] [logging.py:96:log_dist] [Rank 0] step={step}, skipped=0, lr=[1e-05], "
    "mom=[(0.9, 0.95)]"
)
MEGATRON = (
    " iteration {step:8d}/    5000 | consumed samples: {step:12d} | elapsed time per iteration (ms): 812.5 | "
    "learning rate: 1.000E-04 | global batch size:    16 | lm loss: 2.100000E+00 | loss scale: 1.0 | "
)


def run_of(lines, *, chunk=1 << 20):
    data = "".join(f"{line}\n" for line in lines).encode()
    reader = LogReader(paths=["made-up.log"])
    reader.begin_file()
    for at in range(0, len(data), chunk):
        reader.feed(data[at : at + chunk])
    reader.end_file()
    return reader.run()


def bars(num, total, *, seconds=7):
    for step in range(1, num + 1):
        at = step * seconds
        yield f"  {100 * step // total}%|#         | {step}/{total} [{at // 60:02d}:{at % 60:02d}<2:19:10,  7.00s/it]"
        if step % 10 == 0:
            yield f"{{'loss': 1.25, 'grad_norm': 0.3, 'learning_rate': 1e-05, 'epoch': {step / 100}}}"


def test_the_line_of_an_engine_does_not_decide_for_the_trainer_on_it():
    run = run_of([ENGINE.format(step=0), *bars(120, 1235)])
    assert run.format.name == "hf_trainer"
    assert len(run) == 120


def test_an_engine_that_prints_as_often_as_the_trainer_is_a_side_line():
    lines = [line for step in range(1, 60) for line in (ENGINE.format(step=step), MEGATRON.format(step=step))]
    run = run_of(lines)
    assert run.format.name.startswith("megatron")
    assert "deepspeed" in [candidate.format for candidate in run.candidates]


def test_an_engine_alone_is_read_as_what_it_is():
    run = run_of(
        [ENGINE.format(step=step).replace("08:00:00", f"08:{step // 60:02d}:{step % 60:02d}") for step in range(1, 50)]
    )
    assert run.format.name == "deepspeed"


def test_one_evaluation_of_another_trainer_does_not_decide():
    lines = [f"[2026-02-03 04:{n // 60:02d}:{n % 60:02d}] step {n} loss 2.5 lr 0.001" for n in range(200)]
    lines.insert(100, "{'eval_loss': 2.1, 'eval_runtime': 240.4, 'eval_samples_per_second': 3.1, 'epoch': 1.0}")
    run = run_of(lines)
    assert run.format.name == "generic"
    assert len(run) == 200


def test_the_shares_of_the_candidates_add_up_and_the_winner_is_first():
    run = run_of([ENGINE.format(step=0), *bars(120, 1235)])
    assert run.candidates[0].format == run.format.name
    assert sum(candidate.share for candidate in run.candidates) == pytest.approx(1)


def test_later_lines_change_the_verdict_as_the_log_grows():
    """Live: what was the engine's own log turns out to be a trainer's."""
    reader = LogReader(paths=["growing.log"])
    reader.begin_file()
    reader.feed("".join(ENGINE.format(step=step) + "\n" for step in range(50)).encode())
    assert reader.run().format.name == "deepspeed"
    reader.feed("".join(MEGATRON.format(step=step) + "\n" for step in range(1, 400)).encode())
    run = reader.run()
    assert run.format.name.startswith("megatron")
    assert len(run) == 399


def test_the_end_of_a_long_file_takes_part_in_the_decision(tmp_path):
    head = [ENGINE.format(step=0), *(f"building index {n} of the data set, shard {n % 7}" for n in range(12_000))]
    path = tmp_path / "long.log"
    path.write_text("".join(f"{line}\n" for line in [*head, *(MEGATRON.format(step=step) for step in range(1, 900))]))
    assert len("\n".join(head)) > HOLD_CHARS
    run = read(str(path))
    assert run.format.name.startswith("megatron")
    assert len(run) == 899
    assert run.num_lines == len(head) + 899


@pytest.mark.parametrize("chunk", [64, 1000, 1 << 20])
def test_the_size_of_the_chunks_does_not_matter(chunk):
    lines = [ENGINE.format(step=0), *bars(120, 1235)]
    assert run_of(lines, chunk=chunk).candidates == run_of(lines).candidates


def test_prose_is_no_training():
    with pytest.raises(InputError):
        run_of(["The quick brown fox.", "Nothing counts here."] * 20)


def test_every_engine_of_the_catalogue_gives_way():
    assert {fmt.name for fmt in detect.catalogue() if fmt.is_engine} >= {"deepspeed"}


def test_a_pipe_is_read_again_when_its_later_lines_favour_another_format():
    """The verdict fell on what came first; most of what came later is another trainer's."""
    early = [ENGINE.format(step=step) for step in range(30_000)]
    late = [MEGATRON.format(step=step) for step in range(1, 40_000)]
    reader = LogReader(paths=["pipe"])
    reader.begin_file()
    reader.feed("".join(f"{line}\n" for line in early).encode())
    assert reader.run().format.name == "deepspeed"
    reader.feed("".join(f"{line}\n" for line in late).encode())
    reader.end_file()
    run = reader.run()
    assert run.format.name.startswith("megatron")
    assert run.num_lines == len(early) + len(late)


def test_accounts_that_come_to_the_same_are_no_rivals():
    """A fork's format claims the lines of the trainer it comes from."""
    run = run_of([MEGATRON.format(step=step) for step in range(1, 80)])
    assert run.candidates[0].share > 0.9
