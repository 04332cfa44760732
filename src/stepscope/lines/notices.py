"""Lines that mean the same in every trainer's log: a traceback, out of memory, an interrupt, a scheduler's last words.

Only the forms in which these things *happen* are here. A config constant or an environment
line that merely names them must not match.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

# `error` is an exception without its traceback; `done` is the log's own statement that training is over, which is no
# proof of it.
NoticeKind = Literal["traceback", "oom", "interrupted", "exception", "killed", "hang", "error", "done", "early_stop"]
# Kinds of notice after which a process is over, or about to be.
FATAL: frozenset[NoticeKind] = frozenset({"traceback", "oom", "interrupted", "exception", "killed", "hang"})

_TRACEBACK = r"Traceback \(most recent call last\):"
# Python's words for an exception in a destructor or a callback at exit, which changes nothing.
_IGNORED = re.compile(r"^Exception ignored (?:in|while|on)\b")
# The line that ends a traceback: a class name, perhaps with its module and a message.
EXCEPTION = re.compile(r"(?P<type>(?:[a-z_]\w*\.)*[A-Z]\w*)(?::\s|:?$)")
_SLURM = r"^(?:slurmstepd|srun|slurmd)[^:]{0,60}: "
_OOM = (
    r"^(?:[\w.]+\.)?OutOfMemoryError\b|^RuntimeError: (?:CUDA|HIP|XPU|MPS)[^\n]{0,40}out of memory"
    r"|^(?:RuntimeError: )?CUDA error: out of memory|^(?:RuntimeError: )?MPS backend out of memory"
    r"|^(?:numpy\S*\.)?_?(?:ArrayMemoryError|MemoryError)\b"
    r"|^oom-kill:|^(?:\[[^\]]*\] )?Out of memory: Killed process"
    rf"|{_SLURM}.*(?:oom[-_]kill|Out Of Memory)"
    r"|^=>> PBS: job killed: (?:v?mem|pmem)\b|^TERM_MEMLIMIT\b"
    r"|^jaxlib\.\S*XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory"
)
_INTERRUPTED = (
    r"^KeyboardInterrupt\b|^\^C|^(?:traceback\s*:\s*)?Signal \d+ \(SIG(?:TERM|INT|HUP|USR1|USR2)\) received"
    r"|^(?:[\w.]+\.)?SignalException\b|^Received (?:SIGTERM|SIGINT|signal (?:15|2))\b|^Terminated\s*$"
    rf"|{_SLURM}.*(?:CANCELLED|TIME LIMIT|PREEMPTION|Terminated|Job step aborted|forcing job termination)"
    r"|^=>> PBS: job killed: |^=>> PBS: job (?:terminated|deleted)"
    r"|^TERM_(?:RUNLIMIT|OWNER|ADMIN|PREEMPT|REQUEUE_\w+|CPULIMIT|SWAP|FORCE_\w+|UNKNOWN)\b.*(?:job|LSF|killed)"
    r"|^(?:User defined signal [12]|Hangup|Interrupted)\s*$"
    r"|^(?:Spot|Preemptible) (?:instance|VM)\b.*\b(?:interrupt|preempt|terminat)"
)
# The scheduler's last words may follow in the middle of a line; Lightning's warning follows a file's name.
_CUT_SHORT = r"slurmstepd: error: \*\*\* (?:JOB|STEP) |(?:^|Warning: )Detected KeyboardInterrupt, attempting graceful"
_SHELL_WORDS = r"(?:Killed|Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception)"
_KILLED = (
    rf"^\S+: line \d+:\s+\d+ {_SHELL_WORDS}\b"
    rf"|^{_SHELL_WORDS}\s*(?:\(core dumped\)|\S*)?$"
    rf"|^Fatal Python error:|^terminate called after throwing|{_SLURM}.*(?:Killed|Segmentation|Bus error|Exited with)"
    rf"|{_SLURM}.*(?:NODE FAILURE|node failure)"
    r"|^(?:traceback\s*:\s*)?Signal \d+ \(SIG(?:KILL|SEGV|ABRT|BUS|FPE|ILL)\) received"
    r"|^(?:ERROR:)?torch\.distributed\.elastic\.multiprocessing\.api:failed \(exitcode: "
    r"|^(?:RuntimeError: )?DataLoader worker \(pid\(?s?\)? \d[\d, ]*\) (?:is killed|exited unexpectedly)"
    r"|^\*\*\* (?:Process received signal|Aborted at) "
)
_HANG = (
    r"Watchdog caught collective operation timeout|\bNCCL watchdog\b.*\btimed? ?out"
    r"|^(?:\[[^\]]*\]\s*)*Timeout at NCCL work: |Some NCCL operations have failed or timed out"
    r"|^(?:RuntimeError: )?\[\S*gloo\S*\] Timed out waiting \d+ms"
)
# An exception's own line without a traceback before it, in the names that Python and PyTorch use.
_ERROR = (
    r"^(?:(?:torch|jax|jaxlib|deepspeed|transformers|datasets|huggingface_hub|urllib3|requests|pickle|json|zmq)\.[\w.]*)?"
    r"(?:RuntimeError|ValueError|AssertionError|KeyError|IndexError|TypeError|AttributeError|NameError|OSError|IOError"
    r"|FileNotFoundError|PermissionError|ModuleNotFoundError|ImportError|ConnectionError|TimeoutError|EOFError"
    r"|BrokenPipeError|ZeroDivisionError|FloatingPointError|OverflowError|NotImplementedError|StopIteration"
    r"|UnicodeDecodeError|UnpicklingError|DistBackendError|DistStoreError|DistNetworkError|AcceleratorError"
    r"|ChildFailedError|CUDA error)(?:: \S|:?$)"
)
# The words with which trainers and launchers say that training is over.
_DONE = (
    r"\[after training is done\]|^\[exiting program (?:after|at) "
    r"|\bTraining (?:of experiment )?(?:is |was |has )?(?:done|completed?|finished)\b(?! warm)(?!.{0,20}\bepoch \d)"
    r"|^(?:Finished|Completed|Done with|Done) training\b(?! warm|:)|\b\d+ epochs completed in \d"
    r"|^\[DONE\](?:\s|$)|^Done\.?$"
)
_EARLY_STOP = (
    r"\b[Ee]arly[ _-]?[Ss]topp(?:ing|ed)\b.{0,40}\b(?:triggered|activated|reached|at epoch|at step|after)\b"
    r"|\b(?:[Ss]topp(?:ing|ed) (?:training )?early\b|[Tt]raining stopped early)|^Epoch \d+: early stopping"
    r"|^EarlyStopping: (?:Stopping|Training stopped)|\b[Nn]o improvement .{0,60}\b[Ss]topping\b"
)
# Most lines of most logs match no pattern: each pattern is tried, and compiled, only where one of its words is there.
_SLURM_NAMES = ("slurm", "srun")
_NOTICES: tuple[tuple[NoticeKind, tuple[str, ...], str], ...] = (
    ("traceback", ("Traceback (",), _TRACEBACK),
    ("hang", ("NCCL", "Watchdog", "gloo"), _HANG),
    ("oom", ("mem", "Mem", "MEM", "oom"), _OOM),
    (
        "interrupted",
        (
            *("nterrupt", "^C", "Signal", "Received SIG", "Received sig", "Terminated", *_SLURM_NAMES),
            *("PBS: job", "TERM_", "User defined", "Hangup", "Spot", "Preempt", "Detected Key"),
        ),
        f"{_INTERRUPTED}|{_CUT_SHORT}",
    ),
    (
        "killed",
        (
            *("Killed", "Segm", "Abort", "Bus err", "Illegal ins", "Floating point", "Fatal Py", "terminate called"),
            *("Signal", "elastic", "DataLoader worker", "*** Process", *_SLURM_NAMES),
        ),
        _KILLED,
    ),
    ("error", ("Error", "StopIteration", "CUDA error"), _ERROR),
)
_compile = cache(re.compile)
_SLURM_WORDS = "slurmstepd: error: *** "
_HEAD_CHARS = 2_000
_DONE_WORDS = ("one", "ONE", "omplete", "inished", "exiting")


def classify(text: str) -> NoticeKind | None:
    """What a line that belongs to no format says about how the run ended; None for nothing."""
    # A line may be of any length; the scheduler's last words come where the trainer's own line broke off.
    at = text.find(_SLURM_WORDS, _HEAD_CHARS) if len(text) > _HEAD_CHARS else -1
    text = text[at : at + _HEAD_CHARS] if at > 0 else text[:_HEAD_CHARS]
    for kind, words, pattern in _NOTICES:
        for word in words:
            if word in text:
                if _compile(pattern).search(text):
                    return kind
                break
    return closing_words(text)


def is_ignored(text: str) -> bool:
    """Whether a line says that the exception printed next was ignored."""
    return _IGNORED.match(text) is not None


def closing_words(text: str) -> NoticeKind | None:
    """Whether a line, of the format or not, says that training is over, or that it stops early by design."""
    text = text[:_HEAD_CHARS]
    if "top" in text and _compile(_EARLY_STOP).search(text) is not None:
        return "early_stop"
    return "done" if any(word in text for word in _DONE_WORDS) and _compile(_DONE).search(text) is not None else None
