"""What a line that nobody reads might say: a time, a loss, a total, an evaluation, an end, a count.

These are suspicions, never readings: what they find is shown to the user and lowers how sure a report is.
"""

from __future__ import annotations

from stepscope.core.lazy_pattern import LazyPattern

_DURATION = LazyPattern(
    r"(?<![\w.])\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\s?(?:ns|us|µs|ms|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?)(?![\w/])"
    r"|(?<![\d:.])\d{1,3}:\d\d(?::\d\d)?(?:\.\d+)?(?![\d:])"
)
_RATE = LazyPattern(
    r"\d\s?(?:it|steps?|iters?|samples?|sequences?|seqs?|imgs?|images?|tok(?:en)?s?|examples?|batch(?:es)?|k?wps|ups)"
    r"\s?(?:/|per)\s?(?:s|sec|second|min)\b|\d\s?m?s(?:ec)?\s?(?:/|per)\s?(?:it|iter|step|batch|sample|img|image|epoch)\b"
    r"|\b(?:SPS|sps|fps|FPS|wps|throughput|samples_per_sec(?:ond)?|tokens_per_sec(?:ond)?)\b\W{1,4}\d",
)
_TIME_WORD = LazyPattern(
    r"(?i)\b(?:time|elapsed|duration|took|runtime|time[_ ]?cost|cost[_ ]?time|[a-z]*_?time|seconds?|dt)\b"
    r"[^\w\n]{1,4}\d"
)
_NAMED_STEP = LazyPattern(r"(?i)(?<![a-z_])(?:global_?)?(?:step|iter|iteration|batch)[\"']?[\s:=\[(#]{1,4}\d")
_LOSS = LazyPattern(r"(?i)(?:loss|ppl|perplexity|nll|bpb|\bce\b|\bmse\b|\breward)\w*\W{0,4}[-+]?(?:\d|nan|inf)")
_TOTAL = LazyPattern(
    r"(?i)\b(?:total|max|num|number of)[ _-]?(?:train(?:ing)?|optimi[sz]ation|global)?[ _-]?"
    r"(?:steps?|iters?|iterations?|updates?|epochs?|batches)\b\D{0,12}\d"
    r"|\b\d+\s?/\s?\d+\b|\b(?:step|iter|iteration|epoch|update)s?\s+\d+ of \d+|\bfor \d+ (?:epochs|steps|iterations)\b"
)
_FRACTION = LazyPattern(r"(?<![\d/.])(\d+)\s?/\s?(\d+)(?![\d/])")
_EVALUATION = LazyPattern(r"(?i)(?<![a-z])(?:eval|evals|evaluat\w*|valid|validat\w*|val|test|testing|dev)(?![a-z])")
_SCORE = LazyPattern(
    r"(?i)(?:loss|acc|accuracy|prec|f1|bleu|map|miou|dice|auc|ppl|perplexity|score|error|wer|cer)\w*\W{0,4}\d"
)
_END = LazyPattern(
    r"(?i)\b(?:train(?:ing)?|optimi[sz]ation|run|fit|experiment|job|everything|all)\b[^.\n]{0,30}"
    r"\b(?:complete|completed|done|finished|over|ended|ends)\b|\b(?:finished|completed|done)\b[^.\n]{0,20}\btraining\b"
    r"|\btrain_runtime\b|^\W*(?:finished|done|completed?)\W*$"
)
_PREPARATION = LazyPattern(
    r"(?i)\b(?:map|filter|filtering|tokeniz\w*|download\w*|loading|load|shards?|fetching|generating|extract\w*|cach\w*|"
    r"preprocess\w*|preparing|packing|saving|writing|copying|resolving|indexing|collecting|installing|building|"
    r"scanning|flattening|casting|sanity)\b|\d\s?(?:examples|files|[kMG]i?B|[KMG])(?:/s|\b)"
)
_WHOLE = LazyPattern(r"(?<![\d.\-/:])\d+(?![\d.:])")
_NUMBER = LazyPattern(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
# A bar that has counted nothing yet: `0/? [00:00<?, ?it/s]`.
_EMPTY_BAR = LazyPattern(r"(?<!\d)0/[\d?]+ \[00:00<\?,\s+\?\w*/\w+\]\s*$")
_CHARS = 300


def may_tell_time(text: str) -> bool:
    """Whether a line may hold a duration, a rate or a running clock."""
    head = text[:_CHARS]
    if _EMPTY_BAR.search(head) is not None:
        return False
    return any(pattern.search(head) is not None for pattern in (_DURATION, _RATE, _TIME_WORD))


def may_tell_loss(text: str) -> bool:
    """Whether a line may hold a loss."""
    return _LOSS.search(text[:_CHARS]) is not None


def may_tell_total(text: str) -> bool:
    """Whether a line may say how many steps or epochs there are."""
    return _TOTAL.search(text[:_CHARS]) is not None


def may_be_evaluation(text: str) -> bool:
    """Whether a line may be about an evaluation and give a figure of it."""
    head = text[:_CHARS]
    return _EVALUATION.search(head) is not None and (
        _SCORE.search(head) is not None
        or (_FRACTION.search(head) is not None and _EMPTY_BAR.search(head) is None)
        or may_tell_time(head)
    )


def may_be_end(text: str) -> bool:
    """Whether a line may say that the run is over."""
    return _END.search(text[:_CHARS]) is not None


def may_be_step(text: str) -> bool:
    """Whether a line may be a step of a training: a loss, and a count or a time."""
    return may_tell_loss(text) and (may_tell_time(text) or bool(whole_numbers(text)))


def names_step(text: str) -> bool:
    """Whether a line gives the loss of a step that it names: one such line is enough to say that there were steps."""
    return _NAMED_STEP.search(text[:_CHARS]) is not None and may_tell_loss(text) and not may_be_evaluation(text)


def is_preparation(text: str) -> bool:
    """Whether a line is about data that is loaded, downloaded or prepared."""
    return _PREPARATION.search(text[:_CHARS]) is not None


def has_number(text: str) -> bool:
    """Whether there is a number in a line at all."""
    return _NUMBER.search(text[:_CHARS]) is not None


def whole_numbers(text: str) -> list[int]:
    """The whole numbers of a line in their order; parts of times, dates and decimals are none."""
    return [int(found) for found in _WHOLE.findall(text[:_CHARS]) if len(found) <= 15]
