"""Lines that mean the same in every trainer's log: a traceback, out of memory, an interrupt, a scheduler's last words.

Only the forms in which these things *happen* are here. A config constant or an environment
line that merely names them must not match.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from stepscope.lines import closing
from stepscope.lines.closing import Closing
from stepscope.lines.sieve import words_of

# `error` is an exception without its traceback; `over` says that the process is gone, not how; the words of an end are
# those of `closing.py`.
NoticeKind = Literal["traceback", "oom", "interrupted", "exception", "killed", "hang", "error", "over"] | Closing
# Kinds of notice after which a process is over, or about to be.
FATAL: frozenset[NoticeKind] = frozenset({"traceback", "oom", "interrupted", "exception", "killed", "hang"})

_TRACEBACK = r"Traceback \(most recent call last\):\s*(?:$|\\n)"  # in the middle of a line it is only mentioned
# Python's words for an exception in a destructor or a callback at exit, which changes nothing.
_IGNORED = re.compile(r"^Exception ignored (?:in|while|on)\b")
# The line that ends a traceback: a class name, perhaps with its module and a message.
EXCEPTION = re.compile(r"(?P<type>(?:[a-z_]\w*\.)*[A-Z]\w*)(?P<inner>\([\w.]+\))?(?::\s|:?$)")
# A logger's level before a line, or before the traceback that it quotes; glog and absl write it as a letter.
_WARNING = re.compile(r"(?:^|[\s\[(|:-])(?:WARNING|WARN|DEBUG)\b|^W\d{4} \d\d:")
_SLURM = r"^(?:slurmstepd|srun|slurmd)[^:]{0,60}: "
_OOM = (
    r"^(?:[\w.]+\.)?OutOfMemoryError\b|^RuntimeError: (?:CUDA|HIP|XPU|MPS)[^\n]{0,40}out of memory"
    r"|^(?:RuntimeError: )?CUDA error: out of memory|^(?:RuntimeError: )?MPS backend out of memory"
    r"|^(?:numpy\S*\.)?_?(?:ArrayMemoryError|MemoryError)\b"
    r"|^oom-kill:|^(?:\[[^\]]*\] )?Out of memory: Killed process"
    rf"|{_SLURM}.*(?:oom[-_]kill|Out Of Memory)"
    r"|^=>> PBS: job killed: (?:v?mem|pmem)\b|^TERM_MEMLIMIT\b"
    r"|^(?:jaxlib\.\S*)?XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory"
    r"|^\S*ResourceExhaustedError\b.{0,40}(?:OOM|memory)"
    r"|^\S*Error: .{0,200}(?:CUDA out of memory|cudaMalloc\w* failed: out of memory|can't allocate memory)"
    r"|(?:^|[\s:\"'])OOMKilled\b|^Check failed: .{0,200}\bout of memory"
)
_INTERRUPTED = (
    r"^KeyboardInterrupt\b|^\^C|^(?:traceback\s*:\s*)?Signal \d+ \(SIG(?:TERM|INT|HUP|USR1|USR2)\) received"
    r"|^(?:[\w.]+\.)?SignalException\b|^Received (?:SIGTERM|SIGINT|signal (?:15|2))\b|^Terminated\s*$"
    rf"|{_SLURM}.*(?:CANCELLED|TIME LIMIT|PREEMPTION|Terminated|Job step aborted|forcing job termination)"
    r"|^=>> PBS: job killed: |^=>> PBS: job (?:terminated|deleted)"
    r"|^TERM_(?:RUNLIMIT|OWNER|ADMIN|PREEMPT|REQUEUE_\w+|CPULIMIT|SWAP|FORCE_\w+|UNKNOWN)\b.*(?:job|LSF|killed)"
    r"|^(?:User defined signal [12]|Hangup|Interrupted)\s*$"
    r"|^(?:Spot|Preemptible) (?:instance|VM)\b.*\b(?:interrupt|preempt|terminat)"
    r"|\bMain process received SIG(?:INT|TERM|HUP)\b|\b(?:has|was) (?:received|caught) SIG(?:INT|TERM|HUP)\b"
    r"|\bDataLoader worker .{0,30}killed by signal: (?:Terminated|Interrupt)"
    r"|^\*\*\* SIG(?:TERM|INT|HUP) received (?:at time=|by PID )"  # absl's handler, and Ray's
    r"|\b(?:exceeded|exceeds) (?:the )?(?:hard |soft )?(?:wall ?(?:clock)?|run) ?-?time(?: limit)?\b"
    r"|^(?:reason: |Reason: )?(?:DeadlineExceeded|Preempted)\b|\bhas deleted the job\b"
    r"|^Process finished with exit code 1(?:30|43)\b|\bexit(?:ed with)? code:? 143\b"
)
# The scheduler's last words may follow in the middle of a line; Lightning's warning follows a file's name.
_CUT_SHORT = r"slurmstepd: error: \*\*\* (?:JOB|STEP) |(?:^|Warning: )Detected KeyboardInterrupt, attempting graceful"
# What shells print in English and in other languages for a process that was killed.
KILLED = (
    "Killed",
    "已杀死",
    "已殺死",
    "Getötet",
    "Terminado (killed)",
    "Matado",
    "Processus arrêté",
    "Tué",
    "強制終了",
    "Убито",
)
_SHELL_WORDS = (
    rf"(?:{'|'.join(map(re.escape, KILLED))}|Segmentation fault|Aborted|Bus error|Illegal instruction"
    r"|Floating point exception)"
)
_KILLED = (
    rf"^\S+: line \d+:\s+\d+ {_SHELL_WORDS}\b"
    rf"|^{_SHELL_WORDS}\s*(?:\(core dumped\)|\S*)?$"
    # A shell's word right behind a bar that had not ended its line.
    rf"|\d\]?{_SHELL_WORDS}$"
    rf"|^Fatal Python error:|^terminate called after throwing|{_SLURM}.*(?:Killed|Segmentation|Bus error|Exited with)"
    rf"|{_SLURM}.*(?:NODE FAILURE|node failure)"
    r"|^(?:traceback\s*:\s*)?Signal \d+ \(SIG(?:KILL|SEGV|ABRT|BUS|FPE|ILL)\) received"
    r"|^(?:ERROR:)?torch\.distributed\.elastic\.multiprocessing\.api:failed \(exitcode: "
    r"|^(?:RuntimeError: )?DataLoader worker \(pid\(?s?\)? \d[\d, ]*\) (?:is killed|exited unexpectedly)"
    r"|^\*\*\* (?:Process received signal|Aborted at) |^\*\*\* SIG(?:KILL|SEGV|ABRT|BUS|FPE|ILL) received at time="
    r"|^Check failed: |^\*\*\* Check failure stack trace: |^Darknet error location: "
    r"|\bKilling subprocess \d+|\bProcess \d+ exits with return code = -?[1-9]"
    r"|\bSending process \d+ closing signal SIG|\bfailed \(exitcode: -?[1-9]"
    r"|^(?:mpirun|mpiexec|prterun) noticed that process rank|BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"
    r"|\b[Aa] worker died or was killed while executing|\b[Tt]he (?:worker|actor) died (?:unexpectedly|because)"
    r"|^(?:reason: |Reason: )?Evicted\b|^Process finished with exit code (?!0\b)\d|\bexit(?:ed with)? code:? 13[479]\b"
    r"|^wandb: Waiting for W&B process to finish.*\(failed [1-9]|^wandb: Program failed with code [1-9]"
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
# Most lines of most logs match no pattern: each pattern is tried, and compiled, only where one of its words is there.
_SLURM_NAMES = ("slurm", "srun")
_NOTICES: tuple[tuple[NoticeKind, tuple[str, ...], str], ...] = (
    ("traceback", ("Traceback (",), _TRACEBACK),
    ("hang", ("NCCL", "Watchdog", "gloo"), _HANG),
    ("oom", ("mem", "Mem", "MEM", "oom", "OOM"), _OOM),
    (
        "interrupted",
        (
            *("nterrupt", "^C", "Signal", "Received SIG", "Received sig", "Terminated", *_SLURM_NAMES),
            *("PBS: job", "TERM_", "User defined", "Hangup", "Spot", "Preempt", "Detected Key", "SIG", "exceed"),
            *("Deadline", "deleted the job", "exit code", "exited with code", "killed by signal"),
        ),
        f"{_INTERRUPTED}|{_CUT_SHORT}",
    ),
    (
        "killed",
        (
            *(*KILLED, "Segm", "Abort", "Bus err", "Illegal ins", "Floating point", "Fatal Py", "terminate called"),
            *(
                "Signal",
                "elastic",
                "DataLoader worker",
                "*** Process",
                "*** SIG",
                "Killing sub",
                "exits with",
                "closing signal",
            ),
            *("Check fail", "Darknet error"),
            *("exitcode:", "noticed that", "BAD TERM", " died ", "Evicted", "exit code", "exited with code"),
            *("wandb: W", "wandb: P", *_SLURM_NAMES),
        ),
        _KILLED,
    ),
    ("error", ("Error", "StopIteration", "CUDA error"), _ERROR),
    # Python's helper outlives the process that it cleans up after.
    (
        "over",
        ("resource_tracker: There",),
        r"\bresource_tracker: There appear to be \d+ leaked \w+ objects to clean up at",
    ),
)
_compile = cache(re.compile)
_SLURM_WORDS = "slurmstepd: error: *** "
_HEAD_CHARS = 2_000


def classify(text: str) -> NoticeKind | None:
    """What a line that belongs to no format says about how the run ended; None for nothing."""
    # A line may be of any length; the scheduler's last words come where the trainer's own line broke off.
    at = text.find(_SLURM_WORDS, _HEAD_CHARS) if len(text) > _HEAD_CHARS else -1
    text = text[at : at + _HEAD_CHARS] if at > 0 else text[:_HEAD_CHARS]
    for kind, words, pattern in _NOTICES:
        if any(map(text.__contains__, words)) and _compile(pattern).search(text):
            return kind
    return closing_words(text)


def may_hold_fatal(text: str) -> bool:
    """Whether one of some lines may say that the run died; False is certain."""
    return any(word in text for kind, words, _ in _NOTICES if kind in FATAL for word in words)


@cache
def words() -> frozenset[str]:
    """Of which every line that is a notice contains one."""
    own = (words_of(pattern, gate) for _, gate, pattern in _NOTICES)
    return closing.words().union(*own) | {"ignored", "ignal"}


def is_warning(head: str, text: str) -> bool:
    """Whether a line is a logger's warning, by its prefix or by what comes before a traceback's first words."""
    before, found, _ = text[:_HEAD_CHARS].partition("Traceback (")
    return _WARNING.search(head) is not None or (bool(found) and _WARNING.search(before) is not None)


def is_ignored(text: str) -> bool:
    """Whether a line says that the exception printed next was ignored."""
    return _IGNORED.match(text) is not None


def closing_words(text: str) -> Closing | None:
    """Whether a line, of the format or not, says that training is over, or that it stops early by design."""
    return closing.closing_words(text[:_HEAD_CHARS])
