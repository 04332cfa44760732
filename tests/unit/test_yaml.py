"""Settings in YAML, as trainers and W&B write them, and as nobody should."""

from __future__ import annotations

import importlib

import pytest
import yaml

from stepscope.core import yaml_file
from stepscope.core.configfile import read_config
from stepscope.core.errors import InputError


@pytest.fixture(params=["libyaml", "python"], autouse=True)
def loader(request, monkeypatch):
    """Both parsers of PyYAML: not every machine has the one in C."""
    if request.param == "python":
        monkeypatch.delattr(yaml, "CSafeLoader")
    elif not yaml.__with_libyaml__:
        pytest.skip("PyYAML is without libyaml here")
    importlib.reload(yaml_file)
    yield request.param
    monkeypatch.undo()
    importlib.reload(yaml_file)


def config(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    return read_config(path)


def value(text):
    return yaml_file.parse_yaml(f"a: {text}\n", "x")["a"]


def refused(text):
    with pytest.raises(InputError) as caught:
        yaml_file.parse_yaml(text, "x.yaml")
    return caught.value


def test_plain_settings(tmp_path):
    values = config(
        tmp_path,
        """# a run
---
max_steps: 12_000   # in all
learning_rate: 3e-4
output_dir: "out # 1"
compile: yes
warmup: .5
resume: null
prompt: |
  max_steps: 5
  and more text
eval_interval: 250
""",
    )
    assert values["max_steps"] == 12_000
    assert values["learning_rate"] == pytest.approx(3e-4)
    assert values["output_dir"] == "out # 1"
    assert values["compile"] is True
    assert values["eval_interval"] == 250
    assert "resume" not in values


def test_nested_settings_are_flattened(tmp_path):
    values = config(
        tmp_path,
        """trainer:
  max_steps: 900
  callbacks:
    - class: Early
      patience: 3
    - class: Save
optimizer: {lr: 0.1, betas: [0.9, 0.95]}
devices:
- 0
- 1
data: &data
  batch_size: 16
""",
    )
    assert (values["max_steps"], values["lr"], values["batch_size"]) == (900, 0.1, 16)


def test_wandb_writes_value_and_description(tmp_path):
    values = config(tmp_path, "wandb_version: 1\nmax_iters:\n  desc: null\n  value: 5000\nbatch_size:\n  value: 12\n")
    assert (values["max_iters"], values["batch_size"]) == (5000, 12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e-4", 1e-4),  # text in YAML 1.1, and so in plain PyYAML
        ("3E5", 3e5),
        ("1.e-3", 1e-3),
        ("-.5", -0.5),
        ("1_000_000", 1_000_000),
        ("0123", 123),  # octal in YAML 1.1
        ("0x1F", 31),
        ("0o17", 15),
        ("1:30:00", "1:30:00"),  # base 60 in YAML 1.1
        ("2024-11-17", "2024-11-17"),
        ("2024-11-17 08:00:00", "2024-11-17 08:00:00"),
        ("9" * 5000, "9" * 5000),
        ("1.2.3", "1.2.3"),
        ("yes", True),
        ("Off", False),
        ("y", "y"),
        ("~", None),
        ("'1e-4'", "1e-4"),
        ('"yes"', "yes"),
        ("=", "="),
        ("<<", "<<"),
        ("${trainer.max_steps}", "${trainer.max_steps}"),
        ("it's", "it's"),
    ],
)
def test_scalars_are_what_people_mean(text, expected):
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


def test_infinity_is_a_number():
    assert value(".inf") == float("inf")
    assert value("-.INF") == float("-inf")
    assert value(".nan") != value(".nan")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("!!python/tuple [0.9, 0.95]", [0.9, 0.95]),
        ("!!python/object:argparse.Namespace {lr: 1e-4}", {"lr": 1e-4}),
        ("!!python/object/apply:os.system ['touch owned']", ["touch owned"]),
        ("!!python/name:torch.nn.GELU ''", ""),
        ("!ENV ${HOME}", "${HOME}"),
        ("!default 12", 12),
        ("!default '12'", "12"),
        ("!!str 12", "12"),
        ('!!int "12"', 12),
        ("!!float 12", 12.0),
        ("!!int twelve", "twelve"),
        ("!!bool [1]", [1]),
        ("!!timestamp never", "never"),
        ("!!binary '###'", "###"),
        ("!!set {x, y}", {"x": None, "y": None}),
    ],
)
def test_tags_are_passed_over_and_nothing_is_run(text, expected, tmp_path, monkeypatch):
    """Lightning's hparams.yaml is full of them."""
    monkeypatch.chdir(tmp_path)
    assert value(text) == expected
    assert not list(tmp_path.iterdir())


def test_anchors_aliases_and_merges():
    text = "base: &base {lr: 0.1, steps: 5}\nrun: {<<: *base, steps: 9}\nagain: *base\n"
    assert yaml_file.parse_yaml(text, "x") == {
        "base": {"lr": 0.1, "steps": 5},
        "run": {"lr": 0.1, "steps": 9},
        "again": {"lr": 0.1, "steps": 5},
    }


def test_of_two_equal_names_the_last_counts():
    """As for the trainer, which reads the file with PyYAML; JSON and config.py go the same way."""
    assert yaml_file.parse_yaml("max_steps: 5\nmax_steps: 9\n", "x") == {"max_steps": 9}


def test_names_are_text_as_written():
    text = "on: 1\n1e3: 2\n007: 3\n'q': 4\n? [a, b]\n: 5\ntemplate: {{ lr }}\n"
    assert yaml_file.parse_yaml(text, "x") == {"on": 1, "1e3": 2, "007": 3, "q": 4, "template": {}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\n---\na: 2\n", {"a": 1}),
        ("---\n---\na: 2\n", {"a": 2}),
        ("a: 1\n...\n", {"a": 1}),
        ("a: 1\n---\nb: [\n", {"a": 1}),
        ("%YAML 1.2\n---\na: 1\n", {"a": 1}),
        ("# nothing\n", {}),
        ("", {}),
        ("- 1\n- 2\n", [1, 2]),
        ("just words", "just words"),
    ],
)
def test_the_first_document_counts(text, expected):
    assert yaml_file.parse_yaml(text, "x") == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nno value here\n", 2),
        ('a: "x\nb: 2\n\n\n', 1),
        ("a: 1\n\tb: 2\n", 2),
        ("a: 1\n    b\n  c: 3\nd", 3),
        ("  a: 1\nb: 2\n", 2),
        ("a: *none\n", 1),
        ("a: 1\nb: \x1b[31m\n", 2),
        ("a: 1\n<<: 5\n", 2),
    ],
)
def test_what_is_no_yaml_is_said_so(text, line):
    problem = refused(text)
    assert (problem.key, problem.place) == ("config-syntax", f"x.yaml:{line}")
    assert problem.args_for_text["reason"]


LAUGHS = "a0: &a0 [ha]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30))
MERGED = "a0: &a0 {x: 1}\n" + "".join(
    f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}], y{i}: 1}}\n" for i in range(1, 30)
)


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        pytest.param(LAUGHS, "config-too-many-values", 6, id="a billion laughs"),
        pytest.param(MERGED, "config-too-many-values", 6, id="a billion merges"),
        pytest.param("a: 1\nb: &b [*b]\n", "config-too-many-values", 2, id="a list inside itself"),
        pytest.param("b: &b\n  <<: *b\n", "config-too-many-values", 2, id="a merge of itself"),
        pytest.param("x: 1\n" * 60_000, "config-too-many-values", 50_000, id="long"),
        pytest.param("[" * 100_000, "config-too-deep", 1, id="deep lists"),
        pytest.param("- " * 100_000, "config-too-deep", 1, id="deep items"),
        pytest.param("\n".join(" " * depth + "a:" for depth in range(500)), "config-too-deep", 61, id="deep tables"),
    ],
)
def test_files_beyond_bounds_are_refused(text, key, line):
    problem = refused(text)
    assert (problem.key, problem.place) == (key, f"x.yaml:{line}")
    assert problem.excerpt


def test_hostile_texts_end_well():
    for text in ("{" * 5000, "'" * 5000, "a: [" + "1," * 20_000, ": : :", "? x", "!" * 5000, "%" * 5000, "&a " * 999):
        try:
            yaml_file.parse_yaml(text, "x")
        except InputError:
            continue
