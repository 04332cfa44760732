"""Settings in YAML: PyYAML's safe loader, with bounds for files from strangers and the scalars people mean.

Only numbers, truths, text, dicts and lists come out. Three things differ from `yaml.safe_load`:

- Numbers are read as in YAML 1.2: `1e-4` is one, `010` is ten, `12:30:00` and dates stay text. `yes`, `no`, `on` and
  `off` are truths as in YAML 1.1, since that is how PyYAML reads them for the trainer.
- A tag that is not of YAML itself (`!!python/tuple`, `!ENV`) is passed over and its value read as if it had none.
- A name is the text as written, and of two equal names the last counts, as for the trainer.

Imported only when there is a YAML file: PyYAML takes 25 ms.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import yaml
from yaml.composer import Composer
from yaml.reader import Reader, ReaderError

from stepscope.core.errors import InputError
from stepscope.core.redact import redact

try:
    from yaml import CSafeLoader as SafeLoader  # libyaml's parser: 2 to 20 times as fast
except ImportError:
    from yaml import SafeLoader  # type: ignore[assignment]

# Settings are some hundred values; a list of ImageNet-21k's classes is 21,841.
_MAX_VALUES = 100_000
_MAX_DEPTH = 60

_YAML = "tag:yaml.org,2002:"
_TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NULL = re.compile(r"(?:null|Null|NULL|~|)\Z")
_BOOL = re.compile(rf"(?i:{'|'.join(_TRUTHS)})\Z")
# Longer figures are text: no setting has 40 digits, and Python refuses to convert some thousand.
_INT = re.compile(r"(?=.{1,39}\Z)[-+]?(?:\d[\d_]*|0x[\da-fA-F]+|0o[0-7]+)\Z", re.ASCII)
_FLOAT = re.compile(
    r"(?=.{1,39}\Z)(?:[-+]?(?:(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][-+]?\d+)?|\.(?i:inf))|\.(?i:nan))\Z", re.ASCII
)


def parse_yaml(text: str, place: str) -> object:
    """The first document of a YAML text that is not empty, as plain data; `{}` if there is none."""
    try:
        loader = _Loader(text)
        try:
            while loader.check_node():
                data: object = loader.get_data()
                if data is not None:
                    loader.check_node()  # fails unless another document or the end follows: the first was cut short
                    return data
        finally:
            loader.dispose()
    except _OutOfBoundsError as problem:
        raise _error(problem.key, text, place, problem.line, limit=problem.limit) from None
    except ReaderError as problem:
        # Its position counts bytes or characters, depending on the loader.
        found = Reader.NON_PRINTABLE.search(text)
        line = text.count("\n", 0, found.start()) if found else 0
        raise _error("config-syntax", text, place, line, reason=problem.reason) from None
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        if problem.context in {"while scanning a simple key", "while scanning a quoted scalar"}:
            mark = problem.context_mark  # where it began, not where the file ended
        reason = problem.problem or problem.context or "not YAML"
        raise _error("config-syntax", text, place, mark.line if mark else 0, reason=reason) from None
    return {}


def _error(key: str, text: str, place: str, line: int, **args: object) -> InputError:
    lines = text.splitlines()
    excerpt = redact(lines[line]) if line < len(lines) else ""
    return InputError(key, place=f"{place}:{line + 1}", excerpt=excerpt, **args)


class _OutOfBoundsError(Exception):
    """Raised for more, or deeper, values than settings have; `line` counts from 0, as PyYAML's do."""

    def __init__(self, key: str, limit: int, line: int) -> None:
        super().__init__(key)
        self.key, self.limit, self.line = key, limit, line


class _Loader(SafeLoader, Composer):
    """The safe loader, stopped at the value that goes too far, with each alias counted as what it copies.

    libyaml's own composer cannot be stopped and recurses in C, so only its parser is used.
    """

    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {}  # type: ignore[misc]
    yaml_constructors: ClassVar[dict[Any, Any]] = {}
    check_node, get_node = Composer.check_node, Composer.get_node

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.anchors: dict[Any, yaml.Node] = {}
        self._num_values = 0
        self._open: list[tuple[str | None, int]] = []  # the anchor of each open collection, and the values before it
        self._sizes: dict[str, int] = {}

    def get_event(self) -> Any:
        """The next event of the parser, if it is still within bounds."""
        event = super().get_event()
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before = self._open.pop()
            if anchor:
                self._sizes[anchor] = self._num_values - before
        elif isinstance(event, yaml.NodeEvent):
            self._count(event, event.start_mark.line if event.start_mark else 0)
        return event

    def _count(self, event: yaml.NodeEvent, line: int) -> None:
        size = 1
        if isinstance(event, yaml.AliasEvent):
            is_inside_itself = any(anchor == event.anchor for anchor, _ in self._open)
            size = _MAX_VALUES + 1 if is_inside_itself else self._sizes.get(event.anchor or "", 1)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._open.append((event.anchor, self._num_values))
            if len(self._open) > _MAX_DEPTH:
                raise _OutOfBoundsError("config-too-deep", _MAX_DEPTH, line)
        self._num_values += size
        if self._num_values > _MAX_VALUES:
            raise _OutOfBoundsError("config-too-many-values", _MAX_VALUES, line)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = True) -> dict[str, Any]:  # type: ignore[override]
        """Names as text, merges (`<<`) resolved; what has no plain name (a list as a key) is left out."""
        self.flatten_mapping(node)
        return {
            key.value: self.construct_object(value, deep=deep)
            for key, value in node.value
            if isinstance(key, yaml.ScalarNode)
        }


def _read_int(text: str) -> int:
    return int(text.replace("_", ""), 16 if "x" in text else 8 if "o" in text else 10)


def _read_float(text: str) -> float:
    plain = text.replace("_", "").lower()
    return float(plain.replace(".inf", "inf").replace(".nan", "nan"))


# Types in the order they are tried: the first whose pattern fits reads a scalar without a tag.
_SCALARS: dict[str, tuple[re.Pattern[str], Callable[[str], object]]] = {
    "null": (_NULL, lambda _: None),
    "bool": (_BOOL, lambda text: _TRUTHS[text.lower()]),
    "int": (_INT, _read_int),
    "float": (_FLOAT, _read_float),
}


def _untagged(loader: _Loader, node: Any) -> object:
    """The value of a node as if it had no tag."""
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    if not node.style:  # neither quoted nor a block of text
        for pattern, read in _SCALARS.values():
            if pattern.match(node.value):
                return read(node.value)
    return node.value


def _text(loader: _Loader, node: Any) -> object:
    return node.value if isinstance(node, yaml.ScalarNode) else _untagged(loader, node)


def _scalar(pattern: re.Pattern[str], read: Callable[[str], object], loader: _Loader, node: Any) -> object:
    """What its tag says where it fits (`!!int "5"`)."""
    if isinstance(node, yaml.ScalarNode) and pattern.match(node.value):
        return read(node.value)
    return _untagged(loader, node)


for _name, (_pattern, _read) in _SCALARS.items():
    _Loader.add_implicit_resolver(_YAML + _name, _pattern, None)
    _Loader.add_constructor(_YAML + _name, partial(_scalar, _pattern, _read))
_Loader.add_implicit_resolver(_YAML + "merge", re.compile(r"<<\Z"), ["<"])
_Loader.add_constructor(_YAML + "merge", _text)  # `<<` as a value merges nothing
_Loader.add_constructor(_YAML + "str", _text)
_Loader.add_constructor(None, _untagged)
