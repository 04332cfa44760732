"""R12: nothing shows that what counts is a training.

What it looks at
    Whether losses, evaluations or checkpoints go with the steps, and whether the words around them are those of data
    that is loaded, filtered or downloaded.

Why it matters
    Datasets, downloads and evaluations draw the same bars as a training and print the same counts.

Example
    `Filter: 100%|████| 1000000/1000000 [00:09<00:00]` and nothing else: a dataset, not a complete run.

What to change
    If it is the training: `--set` states what the log does not say. If not, pass the log that the trainer writes.
"""

from __future__ import annotations

from stepscope.audit._base import AuditEvidence, Check
from stepscope.core.lazy_pattern import LazyPattern
from stepscope.core.message import say
from stepscope.lines import hints
from stepscope.run.model import Run

CODE = "R12"
_KNOWN, _GUESSED = 0.4, 1.0
# Somebody who asks about so few lines has chosen them: they are of a training.
_PASTED_LINES = 40
# A result on the step's own line, whose number was not read: `avr_loss=0.0871`, `mean reward 19.7`.
_RESULT = LazyPattern(
    r"(?i)(?<![a-z])(?:\w{0,30}?loss|\w{0,30}?rewards?|nll|perplexity|ppl|elbo)\b\W{0,4}[-+]?\d[\d.]*"
)
_SAVED = LazyPattern(
    r"(?i)\b(?:checkpoint|ckpt|weights)\b.{0,40}?\bsaved\b|\bsaved\b.{0,40}?\b(?:checkpoint|ckpt|weights)\b"
)
# What is minimised is called a cost, too; so is a time, which then has its word or unit: `time_cost 2.1`, `cost: 3s`.
_COST = LazyPattern(
    r"(?i)(?<![a-z_])(?<!time )(?<!batch )cost\b\W{0,4}[-+]?\d{1,15}(?:\.\d{1,20})?(?:e[-+]?\d{1,3})?"
    r"(?![\w.]|\s?(?:[mu]?s|secs?|seconds?|min\w{0,6}|h|hours?)\b)"
)
# `Training progress:`, `[train] 12/40`, `Train_rf 0.31`: the line itself says whose it is, and not that of its data.
# Nothing but a training has epochs.
_TRAINS = LazyPattern(
    r"(?i)(?:^\W{0,4}(?:start(?:ing)? )?|(?<=: ))train(?:ing|er)?(?![a-z])"
    r"(?! {0,3}[_-]? {0,3}(?:data|set|split|examples?|samples?|images?|files?|texts?|tokens?)\b)"
    r"|(?<![a-z])epoch\W{0,4}\d|(?<![\w.])\d{1,9}(?:st|nd|rd|th)? epoch(?![a-z])"
)
_OF_EVALUATION = LazyPattern(r"(?i)(?<![a-z])(?:val|valid\w*|eval\w*|test\w*)(?![a-z])")


def check(evidence: AuditEvidence) -> Check:
    """Whether anything is learned in these steps."""
    run = evidence.run
    if not evidence.num_rows:
        return Check(CODE, "cannot tell", say("audit-trained-none"))
    if evidence.has_loss or len(run.events):
        return Check(CODE, "agrees", say("audit-trained"))
    named = _named_result(run)
    if named is not None:
        return Check(CODE, "agrees", say("audit-trained-named", text=named))
    is_guess = (run.format.inferred is not None or run.format.layout.bars_nest) and run.num_lines > _PASTED_LINES
    return Check(CODE, "cannot tell", say("audit-trained-unknown"), doubt=_GUESSED if is_guess else _KNOWN)


def _named_result(run: Run) -> str | None:
    """What a line taken for a step's says of a result of training, where the log's own lines were the model."""
    if run.format.inferred is None:
        return None
    texts = [sample.text for sample in run.format.samples if sample.kind in {"step", "fact"}]
    own = [text for text in texts if _OF_EVALUATION.search(text) is None]
    found = [pattern.search(text) for pattern in (_RESULT, _COST) for text in own]
    found += [_TRAINS.search(text) for text in own if not hints.is_preparation(text)]
    found += [_SAVED.search(text) for text in texts]
    return next((match[0] for match in found if match is not None), None)
