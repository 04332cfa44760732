"""What nanoGPT's own config files set, as a table: the tests write files from it, in the forms that those have."""

from __future__ import annotations

# Values are expressions: some files compute theirs, and one needs a module for it.
_EVALUATION = {"eval_only": "True", "eval_iters": "500", "batch_size": "8", "wandb_log": "False"}
_GPT2 = {
    "max_iters": "600000",
    "lr_decay_iters": "600000",
    "weight_decay": "1e-1",
    "block_size": "1024",
    "batch_size": "12",
    "gradient_accumulation_steps": "5 * 8",
    "eval_interval": "1000",
    "eval_iters": "200",
    "log_interval": "10",
    "wandb_log": "True",
    "wandb_project": "'owt'",
    "wandb_run_name": "'gpt2-124M'",
}
_CHARACTERS = {
    "dataset": "'shakespeare_char'",
    "out_dir": "'out-shakespeare-char'",
    "n_layer": "6",
    "n_head": "6",
    "n_embd": "384",
    "block_size": "256",
    "dropout": "0.2",
    "batch_size": "64",
    "gradient_accumulation_steps": "1",
    "max_iters": "5000",
    "lr_decay_iters": "5000",
    "warmup_iters": "100",
    "learning_rate": "1e-3",
    "min_lr": "1e-4",
    "beta2": "0.99",
    "eval_interval": "250",
    "eval_iters": "200",
    "log_interval": "10",
    "always_save_checkpoint": "False",
    "wandb_log": "False",
    "wandb_project": "'shakespeare-char'",
    "wandb_run_name": "'mini-gpt'",
}
_FINETUNING = {
    "dataset": "'shakespeare'",
    "out_dir": "'out-shakespeare'",
    "init_from": "'gpt2-xl'",
    "batch_size": "1",
    "gradient_accumulation_steps": "32",
    "max_iters": "20",
    "learning_rate": "3e-5",
    "decay_lr": "False",
    "eval_interval": "5",
    "eval_iters": "40",
    "always_save_checkpoint": "False",
    "wandb_log": "False",
    "wandb_project": "'shakespeare'",
    "wandb_run_name": "'ft-' + str(time.time())",
}
STOCK = {
    "eval_gpt2.py": {**_EVALUATION, "init_from": "'gpt2'"},
    "eval_gpt2_medium.py": {**_EVALUATION, "init_from": "'gpt2-medium'"},
    "eval_gpt2_large.py": {**_EVALUATION, "init_from": "'gpt2-large'"},
    "eval_gpt2_xl.py": {**_EVALUATION, "init_from": "'gpt2-xl'"},
    "finetune_shakespeare.py": _FINETUNING,
    "train_gpt2.py": _GPT2,
    "train_shakespeare_char.py": _CHARACTERS,
}


def text_of(name: str) -> str:
    """A config file with these settings: an import where one needs it, comments of both kinds, quotes, sums."""
    lines = [f"# {name}"]
    if any("time." in value for value in STOCK[name].values()):
        lines.append("import time")
    lines += [f"{key} = {value}" for key, value in STOCK[name].items()]
    lines[-1] += "  # the last one"
    return "\n".join([*lines, "# device = 'cpu'", ""])
