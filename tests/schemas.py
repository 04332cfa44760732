"""Documents held against the schemas that the package ships."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from stepscope.report.documents import kinds, schema


@cache
def _validator(kind: str, *, strict: bool) -> Draft202012Validator:
    own = schema(kind)
    return Draft202012Validator(_closed(own) if strict else own)


def _closed(part: Any) -> Any:
    """The schema with no key allowed that it does not describe."""
    if isinstance(part, list):
        return [_closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    closed = {key: _closed(value) for key, value in part.items()}
    if "properties" in part and isinstance(part["properties"], dict) and "type" in part:
        closed.setdefault("additionalProperties", False)
    return closed


def check(document: dict[str, Any], *, strict: bool = False) -> None:
    """Fail where a document is not as its schema says; `strict`: where it has a key that the schema does not have."""
    kind = document["schema"].partition(".")[2].partition("/")[0]
    assert kind in kinds(), document["schema"]
    problems = [
        f"{'/'.join(map(str, problem.absolute_path))}: {problem.message[:300]}"
        for problem in _validator(kind, strict=strict).iter_errors(document)
    ]
    assert not problems, problems


def check_printed(text: str) -> None:
    """The same for what a command printed, where it is a document of ours with a schema."""
    if not text.startswith('{\n  "schema": "stepscope.'):
        return
    document = json.loads(text)
    if document["schema"].partition(".")[2].partition("/")[0] in kinds():
        check(document)
