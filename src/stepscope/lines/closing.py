"""The words with which trainers, launchers and shells say that a training is over.

`done` names the training, the run or the optimization itself. `closing` could also end a stage (an evaluation, a save,
a download): it counts only where nothing contradicts it. `early_stop` is an end by design. None of them is proof: words
after which the steps go on do not end a training, whatever they say (see `run/ending.py`).
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from stepscope.lines.sieve import words_of

Closing = Literal["done", "closing", "early_stop"]

_THING = r"(?:train(?:ing)?|fine-?tuning|pre-?training|optimi[sz]ation|solving|(?:the )?(?:run|experiment|job))"
_IS = r"(?:(?: run| process| loop| phase| of experiment)? (?:is |was |has (?:been )?)?(?:now )?)"
_OVER = r"(?:all )?(?:done|completed?|finished|over|ended|succeeded)"
# A stage of the training, or one epoch of it, is not the training.
_STAGE = (
    r"(?i:\bwarm-?up\b|\bevaluat|\bvalidat|\b(?:stage|phase) \d|\bone epoch\b|\bepoch:? \d+ (?:is |was )?"
    r"(?:done|completed?|finished)|\bfor epoch\b|\bdownload|\bpre-?process|\btokeni[sz])"
)
_DONE = (
    r"\[after training is done\]|^\[exiting program (?:after|at) "
    rf"|(?i:\b{_THING}{_IS}{_OVER}\b)(?!.{{0,20}}\bepoch:? \d)"
    r"|(?i:(?:^|\| )(?:finished|completed|done with|done|end(?: of)?|ending) (?:the )?(?:fine-?tuning|training)\b)"
    r"(?! warm|:)"
    r"|(?i:(?:^|[-:>|\]] )training\b(?!.*\bnot\b).{0,80}\b(?:completed|finished|done)\s*[.!]?$)"
    r"|(?i:^\W{0,2}train(?:ing)?\W{0,3} (?:done|end(?:ed)?)\b)"
    # `Finish Training`, `---train finish---`
    r"|(?i:^\W*(?:finish|complete) (?:the )?(?:fine-?tuning|training)\W*$|(?:^|[-:>|\]])\W*train(?:ing)? finish\W*$)"
    r"|(?i:\] (?:finished|completed) training\b)"
    r"|(?i:\b(?:reached (?:the )?)?max(?:imum)?(?: number of)? (?:training )?(?:steps|iterations|iters|epochs|updates)"
    r"(?: (?:was |were |is )?reached\b|, (?:exit|stopp)ing))"
    r"|\b\d+ epochs completed in \d|^(?:INFO:)?\s*`?Trainer\.fit`? stopped: `?max_(?:epochs|steps|time)"
    r"|\"run_stop\".{0,300}\"status\": ?\"success\"|\"status\": ?\"success\".{0,100}\"run_stop\""
    r"|(?:训练|訓練)(?:已)?(?:完成|结束|結束|完毕)|学習(?:が)?(?:完了|終了)|학습\s?(?:이\s?)?(?:종료|완료|끝)"
    r"|(?i:\b(?:treinamento|entrenamiento) (?:\w+ )?(?:conclu[ií]do|finalizado|completad?o|terminado)\b)"
    r"|(?i:\b(?:обучение|тренировка) (?:\w+ )?(?:заверш|оконч|законч)ен)"
    r"|(?i:\b(?:training|pelatihan) (?:telah )?selesai\b)"
    r"|(?i:\baddestramento (?:completato|terminato|finito)\b|\beğitim (?:tamamland|bitti)|\btrening zakończon)"
    r"|(?i:\bentra[iî]nement (?:\w+ )?(?:termin[ée]|achev[ée]|fini)\b|\btraining (?:ist )?(?:abgeschlossen|beendet)\b)"
)
_CLOSING = (
    r"^\[DONE\](?:\s|$)|(?i:^[>*#=!\s-]{0,60}(?:all )?(?:done|finish(?:ed)?|completed?|end)\s*[.!…]*[*#=\s<-]{0,60}$)"
    r"|^Exiting\s?\.*$|^Number of trials: \d+(?:/\d+)? \(\d+ TERMINATED\)"
    r"|(?i:^={2,} *(?:done|finished|end) *={2,}$)|^wandb: Run summary:|^Run summary:$"
    r"|\bProcess \d+ exits successfully\b|(?i:^(?:finished|completed|done) (?:in|after|at)\b.{0,40}\d)"
    r"|(?i:^(?:the )?(?:job|process|script|program) (?:has )?(?:finished|completed|exited|ended)"
    r"(?: (?:successfully|normally|with (?:exit )?(?:code|status) 0))\b)"
    r"|(?i:\b(?:sav(?:ed|ing) (?:the )?final (?:model|checkpoint|weights|adapter))\b)"
    r"|(?i:^(?:(?:final|best|all) )?(?:models?|checkpoint|weights) (?:(?:was|were|has been|have been) )?"
    r"saved (?:to|in|at)\b)"
    r"|(?i:(?:^|[-:>|\]] )training (?:took|duration):? \d)"
    r"|(?i:^total training time\b|\btotal (?:time for )?training (?:took|time)[ :=])"
    r"|^ENDING TIMING RUN AT |^RUNANDTIME_STOP \d|^Process finished with exit code 0\b"
    r"|^wandb: Waiting for W&B process to finish.*\(success\)"
    r"|(?i:^exit(?:ed)?(?: with)? (?:code|status)[ :=]*0\s*$)"
    # A test that comes once, at the end.
    r"|(?i:^(?:final |overall )?test(?:ing)?[ _](?:set )?(?:loss|acc|accuracy|results?|scores?|metrics?|performance)\b)"
    r"|(?i:^final (?:results?|metrics?|evaluation|performance|(?:test|val\w*) \w+)\b)"
    r"|^training on (?:a )?\d+ raw words \(\d+ effective words\) took \d"  # gensim
)
_EARLY_STOP = (
    r"\b[Ee]arly[ _-]?[Ss]topp(?:ing|ed)\b.{0,40}\b(?:triggered|activated|reached|at epoch|at step|after)\b"
    r"|\b(?:[Ss]topp(?:ing|ed)[ _](?:training )?early(?![A-Za-z])|[Tt]raining stopped early)"
    r"|^Epoch \d+: [Ee]arly stopping"
    r"|\b[Ee]arly[ _-]?[Ss]top (?:at|after|in) (?:epoch|step|iter)|^\W*[Ee]arly[ _-]?[Ss]top(?:ping|ped)?\s*[.!]*$"
    r"|^\W{0,4}EARLY[ _-]?STOP(?:PED|PING)?\b(?!.{0,80}\d ?(?:/|of) ?\d)"  # `[EARLY STOP] no improvement for 10 epochs`
    r"|^Stopped by overfitting detector\b|^Early stopping, best iteration is\b"  # CatBoost, LightGBM
    # MLPerf: the quality that was aimed at is reached, long before the steps that the program allows.
    r"|\brun_stop: \{.{0,200}\"status\": ?\"success\""
    r"|^EarlyStopping: (?:Stopping|Training stopped)|\b[Nn]o improvement\b.{0,60}\b[Ss]topping\b"
)
_STOP_WORDS = ("topp", "arly", "EARLY", "run_stop: ")  # stopping, early
# Most lines have none of these; each pattern is compiled only where one of its words is there.
_DONE_WORDS = (
    *(
        "one",
        "ONE",
        "omplete",
        "OMPLETE",
        "inish",
        "INISH",
        "exiting",
        " reached",
        ", exit",
        ", stop",
        "nd training",
        "ND TRAINING",
        "nd Training",
        "ended",
        "ENDED",
        " over",
        " OVER",
    ),
    *(
        "nding ",
        "NDING ",
        "nd of ",
        "ND OF ",
        "n end",
        "g end",
        "N END",
        "N End",
        "succeeded",
        "SUCCEEDED",
        "stopped:",
        "run_stop",
        "onclu",
        "inaliz",
    ),
    *(
        "ermin",
        "chev",
        "шен",
        "чен",
        "elesai",
        "ompletato",
        "inito",
        "amamland",
        "itti",
        "akończ",
        "schlossen",
        "SCHLOSSEN",
        "eendet",
        "EENDET",
        "完",
        "结束",
        "結束",
        "終了",
        "학습",
    ),
)
_CLOSING_WORDS = (
    *("one", "ONE", "omplete", "OMPLETE", "inish", "INISH", "summary", "exits", "xit", "XIT", "inal", "INAL"),
    *("best", "Best", "END", "End", "ended", "=end", " end", "success", "raining t", "otal ", "OTAL T", "STOP"),
    *("xiting", "TERMINATED"),
    *("est ", "esting", "est_", "EST ", "ESTING", "EST_", "aved ", "AVED "),
    *("raw words",),
)
# Lines after which words of an end were those of a stage: the next epoch, another training.
_GOES_ON = (
    r"(?i:^\W*(?:training )?epoch:? *\[?\d|\bstart(?:ing|ed)?(?: of)?(?: the)? (?:training|epoch)"
    r"|\btraining epoch\b|\bresum(?:e|ed|ing) (?:training|from)\b|^\*{3,} Running training)"
)
_compile = cache(re.compile)


def words() -> frozenset[str]:
    """Of which every line that speaks of an end contains one."""
    gates = ((_DONE, _DONE_WORDS), (_CLOSING, _CLOSING_WORDS))
    return frozenset(_STOP_WORDS).union(*(words_of(pattern, gate) for pattern, gate in gates))


def closing_words(text: str) -> Closing | None:
    """Whether a line, of the format or not, says that training is over, or that it stops early by design."""
    if any(map(text.__contains__, _STOP_WORDS)) and _compile(_EARLY_STOP).search(text) is not None:
        return "early_stop"
    if any(map(text.__contains__, _DONE_WORDS)) and (found := _compile(_DONE).search(text)) is not None:
        return None if _is_of_stage(text, found.end()) else "done"
    if any(map(text.__contains__, _CLOSING_WORDS)) and (found := _compile(_CLOSING).search(text)) is not None:
        return None if _is_of_stage(text, found.end()) else "closing"
    return None


def _is_of_stage(text: str, end: int) -> bool:
    """Whether the sentence with the words of an end, which is over after them, speaks of a stage or an epoch."""
    stop = text.find(". ", end)
    return _compile(_STAGE).search(text if stop < 0 else text[:stop]) is not None


def goes_on(text: str) -> bool:
    """Whether a line begins an epoch or a training."""
    return ("poch" in text or "rain" in text) and _compile(_GOES_ON).search(text) is not None
