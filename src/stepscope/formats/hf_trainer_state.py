"""Hugging Face Trainer's trainer_state.json: steps, losses and evaluations, but no time of any step."""

import json
from collections.abc import Iterator

from stepscope.formats._shared.hf import NUMBER, SETTABLE
from stepscope.lines.format import Clock, Controls, Document, Format, Habits, Layout, Line, Sample

_STATED = ("max_steps", "logging_steps", "eval_steps", "save_steps", "train_batch_size", "num_train_epochs")


def _is_trainer_state(head: bytes) -> bool:
    return head.lstrip()[:1] == b"{" and b'"log_history"' in head and b'"global_step"' in head


def _to_lines(data: bytes) -> Iterator[str]:
    """The document as lines: what it states, then one line per entry of its history."""
    state = _parse(data.decode("utf-8", errors="replace"))
    for name in _STATED:
        if isinstance(state.get(name), int):
            yield f"trainer_state: {name} = {state[name]}"
    history = state.get("log_history")
    for entry in history if isinstance(history, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("step"), int):
            if "train_runtime" in entry:
                yield f'trainer_state: {{"loss": null, "step": {entry["step"]}}}'  # the run's last step
                yield f"trainer_state: train_runtime = {entry['train_runtime']}"
            else:
                yield f"trainer_state: {json.dumps(entry)}"


def _parse(text: str) -> dict[str, object]:
    """The document, or as many whole entries of its history as a cut one has."""
    try:
        state = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        history: list[object] = []
        decoder = json.JSONDecoder()
        position = text.find("{", text.find('"log_history"'))
        while position >= 0:
            try:
                entry, end = decoder.raw_decode(text, position)
            except (json.JSONDecodeError, RecursionError):
                break
            history.append(entry)
            position = text.find("{", end)
        return {"log_history": history}
    return state if isinstance(state, dict) else {}


_STEP = r'(?=.{0,4000}"step": (?P<step>\d+))'

FORMAT = Format(
    title="Hugging Face Trainer (trainer_state.json)",
    url="https://github.com/huggingface/transformers",
    lines=(
        Line(
            "evaluation",
            rf'trainer_state: \{{{_STEP}(?:(?=.{{0,4000}}?"eval_(?:\w{{1,40}}_)?loss": (?P<val_loss>{NUMBER}))|)'
            r'.{0,4000}?"eval_(?:\w{1,40}_)?runtime": (?P<took_s>[\d.]+)',
        ),
        Line("fact", r"trainer_state: train_runtime = (?P<train_runtime_s>[\d.]+)"),
        Line("step", rf'trainer_state: \{{{_STEP}(?:.{{0,4000}}?[{{ ])?"loss": (?:(?P<loss>{NUMBER})|null)'),
        Line("fact", r"trainer_state: max_steps = (?P<total>\d+)"),
        Line("setting", r"trainer_state: (?P<key>(?!max_steps|train_runtime)\w+) = (?P<value>\d+)"),
    ),
    is_timed=False,
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The file has no time of any step and no stamp. Its evaluations say how long they took; train_runtime, in "
        "the last entry of a finished run, is the wall time of the last process alone, so a mean step time follows "
        "from it only when the run was never resumed.",
    ),
    layout=Layout(first_step=1, events_follow_step=True),
    habits=Habits(kept_checkpoints=0),
    controls=Controls(
        names={
            "logging_steps": "log_interval",
            "eval_steps": "eval_interval",
            "save_steps": "checkpoint_interval",
            "train_batch_size": "batch_size",
        },
        settable={
            **SETTABLE,
            "optimizer": 'optim="adamw_torch_fused"',
        },
        syntax="{name}={value}",
    ),
    document=Document(sniff=_is_trainer_state, to_lines=_to_lines),
    samples=(
        Sample(
            'trainer_state: {"epoch": 0.5, "grad_norm": 1.25, "learning_rate": 2e-05, "loss": 1.71, "step": 40}',
            "step",
            {"step": 40, "loss": 1.71},
        ),
        Sample('trainer_state: {"loss": NaN, "learning_rate": 0.0, "epoch": 0.1, "step": 3}', "step", {"step": 3}),
        Sample(
            'trainer_state: {"epoch": 1.0, "eval_loss": 0.93, "eval_runtime": 31.5, "eval_steps_per_second": 2.2, '
            '"step": 500}',
            "evaluation",
            {"step": 500, "val_loss": 0.93, "took_s": 31.5},
        ),
        Sample('trainer_state: {"loss": null, "step": 900}', "step", {"step": 900, "loss": None}),
        Sample("trainer_state: train_runtime = 371.25", "fact", {"train_runtime_s": 371.25}),
        Sample("trainer_state: max_steps = 900", "fact", {"total": 900}),
        Sample("trainer_state: logging_steps = 5", "setting", {"key": "logging_steps", "value": "5"}),
        Sample('{"epoch": 0.5, "learning_rate": 2e-05, "loss": 1.71, "step": 40}', None),
    ),
)
