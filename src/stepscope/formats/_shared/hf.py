"""Pieces that the formats around Hugging Face's Trainer share: its bars, its dicts and what its loggers put before."""

NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf|NaN|Infinity|Inf)"
# transformers: `[INFO|trainer.py:21] 2022-01-28 23:53:21,517 >> `; LLaMA-Factory: `[INFO|2025-03-06 08:43:30]
# trainer.py:42 >> `; loguru: `INFO | 2024-05-02 10:51:14 | module:function:226 - `; accelerate names the module.
_MOMENT = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?"
HEAD = (
    rf"(?:(?:\[\w{{3,10}}\|(?:[\w.-]{{1,60}}:\d+\] ?)?|\w{{3,10}} *\| )?(?P<stamp>{_MOMENT})"
    r"(?:\]?(?: [\w.-]{1,60}:\d+)? >> *| \| [\w.]{1,80}:[\w<>]{1,60}:\d+ - )"
    r"|[\w.]{1,80}(?::[\w<>]{1,60}:\d+)? - "
    r"|\[INFO\] \[[\w.]{1,80}:\d+\] (?:\[PID:\d+\] )?(?:\[RANK:\d+\] )?)?"
)
# A bar without its description; a narrow terminal (or a notebook's cell) has no blocks in it.
BAR = r"\d{1,3}%(?:\|[^|]{0,400}\|)? \d+/\d+ \[[^\]]{3,200}\]"
# What the Trainer's arguments are called; how a choice such as the optimizer is typed differs from program to program.
SETTABLE = {
    "eval_interval": "eval_steps",
    "checkpoint_interval": "save_steps",
    "log_interval": "logging_steps",
    "max_steps": "max_steps",
    "batch_size": "per_device_train_batch_size",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
    "num_workers": "dataloader_num_workers",
    "keep_saves": "save_total_limit",
    "evaluation_batch_size": "per_device_eval_batch_size",
}
