"""GPUs that are not here: a mocked device, fake tensors and made-up clocks. `--selftest` asks a real one."""

from __future__ import annotations

import gc
import json
import types
import weakref
from itertools import pairwise

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from stepscope.trainer import state
from stepscope.trainer import train as loop
from stepscope.trainer.accounts import BACKWARD, DEVICE, FORWARD, Accounts
from stepscope.trainer.config import TrainerError
from stepscope.trainer.data import Split
from stepscope.trainer.extras import clock, device, found, spread, staged
from stepscope.trainer.extras import memory as memory_module
from stepscope.trainer.extras.clock import DevicePhases, HostPhases
from stepscope.trainer.extras.memory import LiveBytes, fitting_batch, rehearse, state_bytes
from stepscope.trainer.extras.settings import build
from stepscope.trainer.extras.shared_memory import SharedMemory
from stepscope.trainer.extras.staged import StagedCheckpointer
from stepscope.trainer.model import GPT, ModelArgs, make_optimizers
from stepscope.trainer.train import Evaluator
from tests.trainer.conftest import TINY, records_of, same


class Timeline:
    """A device that takes its own time: an event lies a stated number of milliseconds after the one before it."""

    def __init__(self, gaps):
        self.now, self.num_events, self.gaps = 0.0, 0, gaps

    def event(self):
        timeline = self

        class Event:
            def record(self):
                timeline.now += timeline.gaps(timeline.num_events)
                timeline.num_events += 1
                self.at = timeline.now

            def synchronize(self):
                pass

            def elapsed_time(self, later):
                return later.at - self.at

        return Event()


# -- the clock ------------------------------------------------------------------------------------------------------


def test_seconds_of_a_gpu_are_divided_as_the_gpu_divided_them():
    """Two steps queued at once: the host saw none of it, the device ran 3 parts forward and 6 backward."""
    gaps = [0.0, 0.0, 3.0, 6.0, 41.0, 3.0, 6.0]  # the loop's start, a step, an evaluation between, a step
    timeline = Timeline(lambda number: gaps[number])
    accounts = Accounts()
    phases = DevicePhases(accounts, timeline.event)
    phases.start()
    for number in range(2):
        phases.begin()
        phases.lap(FORWARD)
        phases.lap(BACKWARD)
        phases.step(number, 1.0)
    assert phases.settle() == pytest.approx(0.050)  # from the end of one step to the end of the next
    forward, backward = accounts.seconds(FORWARD), accounts.seconds(BACKWARD)
    assert backward == pytest.approx(2 * forward, rel=1e-3)
    assert forward > 0
    assert accounts.seconds(DEVICE) == pytest.approx(0, abs=1e-6)


def test_steps_between_two_printed_ones_have_the_devices_seconds(trained, monkeypatch):
    """They had the time that queueing took, and the wait for all of them fell on one."""
    timeline = Timeline(lambda number: 1.0 + number % 5)  # every event its own distance, whatever the host does
    monkeypatch.setattr(loop, "make_phases", lambda _, accounts: DevicePhases(accounts, timeline.event))
    run = trained(log_interval=7, max_iters=20, eval_interval=10, gradient_accumulation_steps=1)
    records = [record for record in records_of(run.folder) if record["kind"] == "step"]
    assert [record["step"] for record in records] == list(range(21))
    # A step has a beginning, three laps, a mark for the checkpoint's wait and the optimizer's lap: six events, 18 ms.
    assert all(0.014 <= record["duration_s"] <= 0.022 for record in records)
    assert sum(record["duration_s"] for record in records) == pytest.approx((timeline.now - 1.0) / 1000)
    assert all(seconds >= 0 for record in records for seconds in record["phases"].values())
    # Those that were recorded together did not end together. (Iterations 1 to 7 are.)
    for earlier, later in pairwise(records[1:8]):
        assert later["time"] - earlier["time"] == pytest.approx(later["duration_s"], abs=1e-3)
    assert all(record["lr"] > 0 for record in records)
    assert all(record["total_s"] == pytest.approx(sum(record["phases"].values()), abs=1e-7) for record in records)
    ledger = json.loads((run.folder / "ledger.json").read_text())["phases"]
    for phase in ("data", "forward", "backward", "optimizer"):
        assert sum(record["phases"][phase] for record in records) == pytest.approx(ledger[phase], abs=1e-5)
    assert sum(ledger.values()) == pytest.approx(run.outcome.ledger["wall_s"], abs=2e-3)


def test_a_step_that_was_printed_states_the_devices_time(trained, monkeypatch):
    monkeypatch.setattr(
        loop, "make_phases", lambda _, accounts: DevicePhases(accounts, Timeline(lambda _: 100.0).event)
    )
    log = trained(max_iters=4, log_interval=2, eval_interval=100, gradient_accumulation_steps=1).log
    assert [line.split("time ")[1].split(",")[0] for line in log.splitlines() if line.startswith("iter")] == [
        "600.00ms"
    ] * 3


def test_queued_steps_are_recorded_also_when_the_run_breaks_off(trained, monkeypatch, tmp_path):
    monkeypatch.setattr(loop, "make_phases", lambda _, accounts: DevicePhases(accounts, Timeline(lambda _: 1.0).event))
    original = GPT.forward
    calls = iter(range(10**6))

    def forward(self, tokens, targets=None):
        if self.training and next(calls) == 6:
            raise TrainerError("train-memory")
        return original(self, tokens, targets)

    monkeypatch.setattr(GPT, "forward", forward)
    with pytest.raises(TrainerError):
        trained(log_interval=100, max_iters=40, eval_interval=100, gradient_accumulation_steps=1)
    assert [r["step"] for r in records_of(tmp_path / "out") if r["kind"] == "step"] == list(range(6))


# -- which device ---------------------------------------------------------------------------------------------------


@pytest.fixture
def two_gpus(monkeypatch):
    chosen = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    return chosen


@pytest.mark.parametrize(("asked", "index"), [("cuda:1", 1), ("cuda", 0)])
def test_the_gpu_asked_for_is_made_the_current_one(two_gpus, asked, index):
    """Events and streams are made on the current device, wherever the tensors are."""
    world = device.join_world(build({"device": asked}))
    assert world.device == torch.device("cuda", index)
    assert two_gpus == [index]


@pytest.mark.usefixtures("two_gpus")
def test_a_gpu_that_is_not_there_is_said_to_be_missing():
    with pytest.raises(TrainerError, match="train-no-device") as caught:
        device.join_world(build({"device": "cuda:2"}))
    assert caught.value.args_for_text["name"] == "cuda:2"


def test_random_numbers_of_an_apple_gpu_are_kept(monkeypatch):
    kept = torch.arange(3, dtype=torch.uint8)
    put_back = []
    monkeypatch.setattr(torch.mps, "get_rng_state", lambda: kept)
    monkeypatch.setattr(torch.mps, "set_rng_state", put_back.append)
    state = device.random_state(torch.device("mps"))
    device.set_random_state(state, torch.device("mps"))
    assert torch.equal(put_back[0], kept)


def test_half_precision_that_an_apple_gpu_does_not_get_is_said():
    said = []
    for dtype in ("bfloat16", "float16"):
        config = build({"device": "mps", "dtype": dtype})
        assert device.pick_precision(config, torch.device("mps"), lambda _, **args: said.append(args)) == "float32"
    assert [args["dtype"] for args in said] == ["bfloat16", "float16"]


def test_no_double_precision_reaches_an_apple_gpu(corpus):
    """It has none: losses are added up on the host. Every operation of an evaluation is looked at."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class NoDoubles(TorchDispatchMode):
        def __torch_dispatch__(self, func, types_, args=(), kwargs=None):
            made = func(*args, **(kwargs or {}))
            assert getattr(made, "dtype", None) is not torch.float64, func
            return made

    config = build({**TINY, "dataset": str(corpus)})
    splits = {name: Split(corpus / f"{name}.bin", block_size=16) for name in ("train", "val")}
    evaluator = Evaluator(
        config, splits, device.World(0, 1, torch.device("cpu")), autocast=torch.enable_grad, accounts=Accounts()
    )
    model = GPT(ModelArgs(2, 2, 32, 16, False, 24, 0.0))
    with NoDoubles():
        assert evaluator(model, 1.0, (None, None)).val == pytest.approx(3.2, abs=0.5)
    assert device.exact(torch.device("mps")) is torch.float32


def test_a_device_without_events_is_waited_for_in_every_step(trained, monkeypatch):
    """Else the time of a step would be the time it takes to queue it."""
    waits = []
    monkeypatch.setattr(clock, "synchronize", waits.append)
    monkeypatch.setattr(loop, "make_phases", lambda _, accounts: HostPhases(accounts, torch.device("mps")))
    trained(max_iters=6, log_interval=3)
    assert len(waits) == 7


# -- memory ---------------------------------------------------------------------------------------------------------


def test_an_evaluation_needs_no_more_memory_than_a_training_step(corpus):
    """GPT-2's vocabulary, whose logits are most of an evaluation: four training batches at once needed twice a step."""
    config = build({**TINY, "device": "cuda", "dataset": str(corpus)})
    splits = {name: Split(corpus / f"{name}.bin", block_size=16) for name in ("train", "val")}
    evaluator = Evaluator(
        config, splits, device.World(0, 1, torch.device("cuda")), autocast=torch.enable_grad, accounts=Accounts()
    )

    def peak(sequences: int, *, trains: bool) -> int:
        with FakeTensorMode():
            model = GPT(ModelArgs(1, 2, 64, 64, False, 50304, 0.0))
            tokens = torch.zeros((sequences, 64), dtype=torch.long)
            with LiveBytes() as live, torch.set_grad_enabled(trains):
                _, loss = model(tokens, tokens)
                if trains:
                    loss.backward()
        return live.peak

    step = peak(config.batch_size, trains=True)
    assert peak(evaluator.batch_size, trains=False) <= step
    assert peak(4 * config.batch_size, trains=False) > step  # what the bound is for


@pytest.mark.parametrize(
    ("step", "base", "each", "expected"),
    [(None, 0, 0, 12), (1000, 100, 10, 48), (500, 100, 10, 24), (300, 100, 10, 12), (100, 100, 10, 12)],
)
def test_larger_batches_are_evaluated_where_measured_peaks_allow_it(step, base, each, expected):
    tried = []

    def peak(sequences: int | None) -> int | None:
        tried.append(sequences)
        return step if sequences is None or step is None else base + each * sequences

    assert fitting_batch(12, peak) == expected
    assert all(base + each * size <= step for size in tried if size is not None and size > 12)


def test_live_bytes_are_those_of_tensors_that_are_still_there():
    with LiveBytes() as live:
        kept = torch.zeros(1000)
        view = kept.view(10, 100)
        gone = torch.zeros(3000)
        assert live.now == 16_000
        del gone
        gc.collect()
        kept.add_(1)
        assert live.now == view.untyped_storage().nbytes() == 4_000
    assert live.peak == 16_000


@pytest.mark.parametrize("sequences", [None, 3])
def test_a_rehearsal_leaves_the_run_as_it_was(sequences):
    """What compiles graphs and measures memory draws no number, leaves no gradient and keeps the network training."""
    config = build({**TINY, "dropout": 0.5})
    model = GPT(ModelArgs.of(config, 24, dropout=0.5))
    before = torch.get_rng_state()
    rehearse(model, config, torch.device("cpu"), torch.enable_grad, sequences)
    assert torch.equal(torch.get_rng_state(), before)
    assert model.training
    assert all(weight.grad is None for weight in model.parameters())


def test_a_rehearsal_puts_back_the_random_numbers_of_a_gpu(monkeypatch):
    """Dropout draws from the device's own generator there."""
    place, drawn, put_back = torch.device("cuda"), torch.arange(3, dtype=torch.uint8), []
    make = torch.zeros
    monkeypatch.setattr(torch, "zeros", lambda *shape, **named: make(*shape, **{**named, "device": None}))
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda _: drawn)
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state, _: put_back.append(state))
    rehearse(GPT(ModelArgs(1, 1, 8, 16, False, 24, 0.5)), build(TINY), place, torch.enable_grad, None)
    assert torch.equal(put_back[0], drawn)


def test_an_evaluation_alone_makes_no_optimizer(trained, monkeypatch):
    trained(max_iters=10)
    monkeypatch.setattr(state, "make_optimizers", lambda *_: pytest.fail("2 times the weights for nothing"))
    trained(eval_only=True, init_from="resume")
    trained(eval_only=True, name="other")


# -- gradients and checkpoints --------------------------------------------------------------------------------------


def test_gradients_travel_in_place_and_tables_do_not_travel(monkeypatch):
    given, ended = {}, []

    class Parallel:
        def __init__(self, _, **named):
            given.update(named)
            weakref.finalize(self, ended.append, True).atexit = False

    monkeypatch.setattr(spread, "_num_processes", lambda: 2)
    monkeypatch.setattr(spread, "DistributedDataParallel", Parallel)
    model = torch.nn.Linear(1, 1)
    spread.shared_model(model, model, in_slices=False)
    gc.collect()
    assert not ended  # its end could wait for ever: see `shared_model`
    assert given["gradient_as_bucket_view"] is True
    assert given["broadcast_buffers"] is False


def test_a_copy_without_a_stream_is_whole_when_it_returns(tmp_path, monkeypatch):
    """On Apple's GPUs a copy that need not block hands out what was there before."""
    state = {"model": {"w": torch.ones(4)}}
    saver = StagedCheckpointer(tmp_path, state, torch.device("cpu"))
    asked = []
    original = torch.Tensor.copy_
    monkeypatch.setattr(
        torch.Tensor,
        "copy_",
        lambda self, other, non_blocking=False: asked.append(non_blocking) or original(self, other),
    )
    saver.stage({**state, "model_args": {}}, 1)
    saver.close()
    assert asked == [False]


def test_memory_that_cannot_be_locked_leaves_no_error_for_the_next_kernel(monkeypatch):
    """CUDA reports a failed registration again at the next launch: a launch of ours takes it."""
    launched = []

    def zeros(*_, **__):
        launched.append(True)
        raise RuntimeError("CUDA error: part or all of the requested memory range is already mapped")

    runtime = types.SimpleNamespace(cudaHostRegister=lambda *_: 712)
    monkeypatch.setattr(torch.cuda, "cudart", lambda: runtime)
    memory = SharedMemory(64)
    monkeypatch.setattr(torch, "zeros", zeros)
    memory.pin()
    assert launched


def test_without_staging_the_checkpoint_is_the_same_and_no_memory_is_set_aside(trained, monkeypatch):
    usual = trained(name="usual", max_iters=20, recipe="modern")
    assert usual.outcome.ledger["staging_bytes"] > 0
    monkeypatch.setattr(staged, "SharedMemory", lambda _: pytest.fail("memory was set aside"))
    blocking = trained(name="blocking", max_iters=20, recipe="modern", staging=False)
    for best in (False, True):
        one, other = (found.load(run.folder, best=best) for run in (usual, blocking))
        for saved in (one, other):
            for name in ("out_dir", "staging"):
                saved["config"].pop(name)
            saved["progress"].pop("running_mfu")
        assert same(one, other)
    assert not (blocking.folder / "ckpt-best.pt").samefile(blocking.folder / "ckpt.pt")
    assert blocking.outcome.last_saved == 20
    resumed = trained(name="blocking", max_iters=25, recipe="modern", staging=False, init_from="resume")
    assert resumed.outcome.iteration == resumed.outcome.last_saved == 26  # the end is saved, too


def test_without_staging_a_full_disk_costs_that_checkpoint_only(trained, monkeypatch):
    from stepscope.trainer.extras import blocking

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(blocking.writer, "write_file", full)
    run = trained(max_iters=20, staging=False)
    assert [args["iteration"] for key, args in run.said if key == "train-save-failed"] == [10, 20]
    assert run.outcome.unsaved is not None


@pytest.mark.parametrize(
    ("left", "key"), [(10**12, "train-staging"), (1000, "train-staging-tight"), (None, "train-staging")]
)
def test_what_checkpoints_take_of_the_hosts_memory_is_said_before(trained, monkeypatch, left, key):
    monkeypatch.setattr(memory_module, "host_bytes_left", lambda: left)
    monkeypatch.setattr(memory_module, "_STATED_BYTES", 1)
    run = trained(max_iters=2, eval_interval=100)
    assert [said for said, _ in run.said if said.startswith("train-staging")] == [key]
    model = GPT(ModelArgs(2, 2, 32, 16, False, 24, 0.0))
    assert run.outcome.ledger["staging_bytes"] == state_bytes(model, make_optimizers(model, build(TINY)))
