"""What the name of a metric says: a training loss, something measured by an evaluation, or neither."""

from __future__ import annotations

import re
from functools import lru_cache

_EVALUATION = re.compile(r"(?:^|[/_ .:-])(?:val|valid|validation|eval|evaluation|test)(?=[/_ .:-]|$)")
_EVALUATION_TIME = re.compile(
    r"(?:^|/)tim(?:e|ing|ings|er|ers)/(?:run_)?(?:eval|evals|evaluate|evaluation|val|validation|validate|test)$"
    r"|(?:^|[/_])(?:eval|evaluation|val|validation|test)[/_](?:run_?time|time|duration)(?:_s|_sec|_secs|_seconds)?$"
)
_DECORATION = re.compile(
    r"^(?:train|training|trn|batch|epoch|iter|avg|mean|running|smoothed)_?(?=.)|_(?:train|step|epoch|avg|mean)$"
)
_TOTAL = ("loss", "total_loss", "loss_total", "losses_total", "nll_loss", "lm_loss", "ce_loss")


@lru_cache(maxsize=4096)
def is_evaluation(name: str) -> bool:
    """Whether a metric comes from an evaluation."""
    return _EVALUATION.search(name.lower()) is not None


@lru_cache(maxsize=4096)
def is_evaluation_time(name: str) -> bool:
    """Whether a column says how many seconds an evaluation took."""
    return _EVALUATION_TIME.search(name.lower()) is not None


@lru_cache(maxsize=4096)
def loss_rank(name: str) -> int | None:
    """How surely a metric is the loss as a whole, 0 best; None when it is no loss, or one term of it."""
    plain = re.sub(r"[ -]+", "_", name.strip().lower())
    parts = [part for part in re.split(r"[/.:]", plain) if part]
    if not parts:
        return None
    last = parts[-1]
    if last in {"train", "training", "val", "validation", "eval", "test", "total"} and len(parts) > 1:
        last = parts[-2]  # `Loss/train`
    whole = _EVALUATION.sub("", last).strip("_")
    bare, before = whole, ""
    while before != bare:
        before, bare = bare, _DECORATION.sub("", bare)
    if bare not in _TOTAL:
        return None
    # Of two names of the same thing, the one of a step is better than the mean of an epoch.
    return 2 * _TOTAL.index(bare) + ("epoch" in last)
