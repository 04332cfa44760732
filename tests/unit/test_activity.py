"""What a stack shows: the innermost function whose name, or whose surroundings, say evaluation or saving."""

from __future__ import annotations

import textwrap

import pytest

from stepscope.integrations import Frame, activity_of, kind_at

PACKAGES = "/venv/lib/python3.12/site-packages/"


def stack(*frames: str) -> list[Frame]:
    """Frames written as `name path:line`, innermost first."""
    found = []
    for text in frames:
        name, place = text.split()
        file, _, line = place.rpartition(":")
        found.append(Frame(name, file, int(line)))
    return found


HUGGING_FACE = (f"Trainer._inner_training_loop {PACKAGES}transformers/trainer.py:10", "<module> /home/me/train.py:90")
KERAS = (f"TorchTrainer.fit {PACKAGES}keras/src/backend/torch/trainer.py:263", "<module> /home/me/train.py:90")
LIGHTNING = (
    f"_TrainingEpochLoop.on_advance_end {PACKAGES}lightning/pytorch/loops/training_epoch_loop.py:5",
    f"_FitLoop.run {PACKAGES}lightning/pytorch/loops/fit_loop.py:5",
)


@pytest.mark.parametrize(
    ("frames", "kind"),
    [
        ((f"save {PACKAGES}torch/serialization.py:9", "main /home/me/train.py:4"), "checkpoint"),
        (("estimate_loss /home/me/train.py:228", "<module> /home/me/train.py:300"), "evaluation"),
        ((f"Trainer.evaluation_loop {PACKAGES}transformers/trainer.py:9", *HUGGING_FACE), "evaluation"),
        ((f"Trainer._save_checkpoint {PACKAGES}transformers/trainer.py:9", *HUGGING_FACE), "checkpoint"),
        ((f"Trainer.training_step {PACKAGES}transformers/trainer.py:9", *HUGGING_FACE), "training"),
        ((f"Trainer._maybe_log_save_evaluate {PACKAGES}transformers/trainer.py:9", *HUGGING_FACE), "training"),
        ((f"_EvaluationLoop.run {PACKAGES}lightning/pytorch/loops/evaluation_loop.py:9", *LIGHTNING), "evaluation"),
        (LIGHTNING, "training"),
        # A save in the hook at the end of a validation is a save.
        (
            (
                f"ModelCheckpoint._save_checkpoint {PACKAGES}lightning/pytorch/callbacks/model_checkpoint.py:9",
                f"_EvaluationLoop.run {PACKAGES}lightning/pytorch/loops/evaluation_loop.py:9",
                *LIGHTNING,
            ),
            "checkpoint",
        ),
        ((f"TorchTrainer.evaluate {PACKAGES}keras/src/backend/torch/trainer.py:9", *KERAS), "evaluation"),
        ((f"ModelCheckpoint._save_model {PACKAGES}keras/src/callbacks/model_checkpoint.py:9", *KERAS), "checkpoint"),
        (KERAS, "training"),
        ((f"evaluate_policy {PACKAGES}stable_baselines3/common/evaluation.py:9",), "evaluation"),
        # What has "evaluate" or "save" in its name and is neither.
        (
            (
                f"ActorCriticPolicy.evaluate_actions {PACKAGES}stable_baselines3/common/policies.py:9",
                f"PPO.learn {PACKAGES}stable_baselines3/ppo/ppo.py:9",
            ),
            "training",
        ),
        ((f"ShapeEnv.evaluate_expr {PACKAGES}torch/fx/experimental/symbolic_shapes.py:9",), None),
        ((f"checkpoint {PACKAGES}torch/utils/checkpoint.py:9", "forward /home/me/model.py:3"), None),
        (("save_for_backward /home/me/op.py:3", f"backward {PACKAGES}torch/_tensor.py:9"), "training"),
        (("dump /usr/lib/python3.12/json/__init__.py:9", "main /home/me/train.py:4"), None),
        (("main /home/me/none.py:4",), None),
        # Words anywhere in the name of a function of one's own.
        (("compute_val_loss /home/me/train.py:4",), "evaluation"),
        (("Trainer.snapshot /home/me/train.py:4",), "checkpoint"),
        (("load_checkpoint /home/me/train.py:4",), None),
        (("make_val_loader /home/me/train.py:4",), None),
        ((f"compute_val_loss {PACKAGES}other/train.py:4",), None),
    ],
)
def test_names_say_what_goes_on(frames, kind):
    assert activity_of(stack(*frames)).kind == kind


def test_the_place_is_said_in_words():
    saving = stack(f"save {PACKAGES}torch/serialization.py:9", "main /home/me/train.py:4")
    assert activity_of(saving).place == "torch.save (save, serialization.py:9)"
    assert activity_of(stack("Net.forward /home/me/model.py:3")).place == "forward, model.py:3"
    assert activity_of(stack("get_batch /home/me/train.py:3")).place == "data (get_batch, train.py:3)"
    assert activity_of([]).place is None


PROGRAM = """\
import torch
while True:
    loss = step()                                   # 3
    if step % eval_interval == 0:
        for x, y in loader:                         # 5
            loss = model(x)                         # 6
    else:
        rest()                                      # 8
    for x in tqdm(valid_loader):
        run(x)                                      # 10
    for x in values:
        run(x)                                      # 12
    with torch.no_grad():
        average.update(model)                       # 14
    with torch.no_grad():
        for x in batches:
            run(x)                                  # 17
    with timers("save-checkpoint"):
        upload()                                    # 19
    if args.evaluate:
        train()                                     # 21
    if step % save_every == 0 and is_main:
        sync()                                      # 23
    for x in test_loader:
        def inner():
            return x                                # 26
@torch.no_grad()
def whole(model):
    for x in batches:
        run(x)                                      # 30
def other(model):
    with timer:
        weights = model.state_dict()                # 33
        torch.save(weights, path)
        upload()                                    # 35
    with timer: joblib.dump(model, path); upload()  # 36
    with open(path) as file:
        json.dump(metrics, file)                    # 38
    with writer:
        for x in loader:
            torch.save(x, path)                     # 41
            rest()                                  # 42
    for x in batches:
        prepare(x)                                  # 44
        model.test_on_batch(x)
    for x in batches: model.train_on_batch(x); model.test_on_batch(x)  # 46
    loss = np.mean([model(x) for x in val_batches])  # 47
    accuracy = model.score(x, y)                    # 48
    np.savez(path, **weights)                       # 49
    batch = next(batches)                           # 50
    batch = self.queue.get()                        # 51
    for x in tqdm(
        batches                                     # 53
    ):
        run(x)
    model.eval()                                    # 56
    save_predictions(x)                             # 57
@torch.no_grad()
def sample_images(model):
    for x in noise:
        model(x)                                    # 61
def play(model):
    with torch.no_grad():
        for _ in range(steps):
            env.step(policy(x))                     # 65
    for x in parts:
        with torch.no_grad():
            model(x)                                # 68
        rest()                                      # 69
    for x in parts:
        with torch.no_grad():
            target = teacher(x)                     # 72
        loss(x, target).backward()                  # 73
    for t in range(steps):
        with torch.no_grad():
            a = act(seen)
        seen, r, end, cut, _ = worlds.step(a)       # 77
    if turn % 8 == 0:
        for k in range(3):
            s, done = e.reset(), False
            while not done:
                with torch.no_grad():
                    a = act(s)                      # 83
                s, r, done, cut, _ = e.step(a)      # 84
        if turn % 16 == 0:
            for x in batches:
                with torch.no_grad():
                    a = act(x)
                step(a).backward()                  # 89
"""


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        *((3, None), (6, "evaluation"), (8, None), (10, "evaluation"), (12, None), (14, None), (17, "evaluation")),
        *((19, "checkpoint"), (21, None), (23, "checkpoint"), (26, None), (30, "evaluation"), (900, None)),
        *(
            (33, None),
            (35, "checkpoint"),
            (36, "checkpoint"),
            (38, None),
            (41, "checkpoint"),
            (42, None),
            (44, "evaluation"),
            (46, None),
        ),
        *((47, "evaluation"), (48, "evaluation"), (49, "checkpoint"), (50, "data"), (51, "data"), (53, "data")),
        *((56, None), (57, None), (61, None)),
        *((65, None), (68, "evaluation"), (69, "evaluation"), (72, None), (73, None)),
        *((77, None), (83, "evaluation"), (84, "evaluation"), (89, None)),
    ],
)
def test_what_encloses_a_line_says_what_it_is(tmp_path, line, kind):
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    assert kind_at(str(program), line) == kind


def test_text_that_is_no_program_says_nothing(tmp_path):
    (tmp_path / "broken.py").write_text(textwrap.dedent(PROGRAM) + "\x00(((")
    for path in (tmp_path / "broken.py", tmp_path / "none.py", tmp_path):
        assert kind_at(str(path), 5) is None
    assert activity_of(stack("main <string>:1")).kind is None


def test_a_hand_written_loop_is_read_by_its_text(tmp_path):
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    found = activity_of(stack(f"linear {PACKAGES}torch/nn/functional.py:9", f"<module> {program}:10"))
    assert (found.kind, found.place) == ("evaluation", "evaluation (<module>, train.py:10)")
