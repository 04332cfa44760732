"""What the words on a counting series say of it: training, evaluation, or preparing something.

The words of a bar's label, its unit and its postfix are evidence; that something counts is not.
"""

from __future__ import annotations

import re
from typing import Literal

Role = Literal["training", "evaluation", "preparation", "unknown"]

_EVALUATION = re.compile(
    r"(?i)(?<![a-z])(?:val|valid|validat\w*|eval\w*|test|tests|testing|dev|predict\w*|infer\w*|sanity|score|scoring|"
    r"benchmark\w*|map|recall|inference|sampling|generat\w*|requests?|prompts?|queries)(?![a-z])"
)
_PREPARATION = re.compile(
    r"(?i)(?<![a-z])(?:map|filter\w*|tokeni[sz]\w*|load\w*|download\w*|extract\w*|sav\w*|writ\w*|process\w*|preproc\w*|"
    r"pre-proc\w*|prepar\w*|cach\w*|scan\w*|resolv\w*|fetch\w*|convert\w*|build\w*|pack\w*|group\w*|upload\w*|"
    r"collect\w*|comput\w*|creat\w*|read\w*|index\w*|embed\w*|encod\w*|decod\w*|shards?|flatten\w*|cast\w*|"
    r"concat\w*|merg\w*|import\w*|copy\w*|unpack\w*|unzip\w*|calculat\w*|check\w*|verif\w*|quanti[sz]\w*|push\w*|"
    r"pulling|pull|analy[sz]\w*|shuffl\w*|split\w*|sort\w*|clean\w*|pars\w*|dump\w*|truncat\w*|chunk\w*|"
    r"captur\w*|warm\w*|initiali[sz]\w*|constructing|transform\w*|transferr\w*|migrat\w*|clustering|"
    r"add\w*|apply\w*|applying|label\w*|images? found|standardi[sz]\w*|dataset|datasets|files?)(?![a-z])"
)
_TRAINING = re.compile(
    r"(?i)(?<![a-z])(?:train|training|trainer|epochs?|ep|steps?|iters?|iterations?|global.?step|fine.?tun\w*|"
    r"optimi[sz]\w*|rounds?|episodes?|rollouts?|updates?)(?![a-z])"
)
# `Caching labels of train.txt` prepares a training; `Processing epoch 3` is one.
_COUNTED = re.compile(r"(?i)(?<![a-z])(?:epochs?|steps?|iters?|iterations?|global.?step)(?![a-z])")
# `Batch: 40%`: one of a training or of another pass; `Batches:` is what libraries that embed texts draw.
_BATCH = re.compile(r"(?i)^\W*batch\W*$")
# What a training counts, and what only files and data sets are counted in.
_STEP_UNITS = frozenset(["it", "its", "step", "steps", "batch", "batches", "ba", "b", "iter", "iters", "epoch", "ep"])
_DATA_UNITS = re.compile(
    r"(?i)^(?:examples?|ex|files?|[kmgt]?i?b|bytes?|shards?|rows?|records?|docs?|documents?|lines?|videos?|tables?|"
    r"entries|parts?|chunks?|items?|objects?|pairs?|words?|sentences?|sents?|molecules?|mol|obj|url|urls|page|pages)$"
)
_LOSS = re.compile(
    r"(?i)(?<![a-z])(?:\w{0,30}?loss\w*|lr|learning.?rate|grad.?norm|gnorm|ppl|nll|elbo|g_?gan|reward\w*|"
    r"perplexity|log.?likelihood)\b"
)


def has_loss(text: str) -> bool:
    """Whether a text names a loss, a learning rate or another figure that only a training has."""
    return _LOSS.search(text) is not None


def role_of(label: str, unit: str, post: str) -> Role:
    """What a series is by its label, its unit and what it shows next to its count."""
    says_training = (_COUNTED if _PREPARATION.search(label) else _TRAINING).search(label) is not None
    if _PREPARATION.match(label) and not says_training:
        return "preparation"
    if _EVALUATION.search(label) and not re.search(r"(?i)(?<![a-z])train", label):
        # `Epoch 3 val`, but `Epoch 3 val_loss=0.2`: that shows a result of the training's.
        return "training" if _only_results(label) and says_training else "evaluation"
    if _DATA_UNITS.match(unit):
        return "preparation"
    if has_loss(post) or has_loss(label):
        return "training"
    if says_training:
        return "training"
    if _PREPARATION.search(label):
        return "preparation"
    if unit and unit not in _STEP_UNITS:
        return "unknown" if not label else "preparation"
    return "unknown"


def is_batch(label: str) -> bool:
    """Whether a label says that batches are counted, and not of what."""
    return _BATCH.match(label) is not None


def _only_results(label: str) -> bool:
    """Whether the words of an evaluation in a label all name results: `val_loss=0.31`, `test acc: 0.7`."""
    left = re.sub(
        r"(?i)(?<![a-z])(?:val|valid|validation|eval|test|dev)[_ ./-]*(?:loss|acc\w*|auc|f1|score|ppl|map|iou|mae|"
        r"rmse|mse)\w*\s*[=:]",
        "",
        label,
    )
    return _EVALUATION.search(left) is None
