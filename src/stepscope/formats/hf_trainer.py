"""Hugging Face's Trainer and what is built on it (TRL, Unsloth, axolotl, accelerate scripts): its bar is the clock.

The dicts it prints have neither a step nor a time; both are in the tqdm bar next to them, and the bars of its
evaluations look the same but for their total.
"""

from stepscope.formats._shared.hf import BAR, HEAD, NUMBER, SETTABLE
from stepscope.lines.format import Clock, Controls, Format, Habits, Layout, Line, Sample

_NAME = r"(?:[Ss]teps: +)?"  # diffusers, sd-scripts and other accelerate scripts name their bar
_AFTER_BAR = rf"(?:(?:{_NAME}{BAR}) *)?"  # a message that did not wait for the bar's end of line
_AFTER_STEP = rf"(?:{_NAME}\d{{1,3}}%(?:\|[^|]{{0,400}}\|)? (?P<step>\d+)/\d+ \[[^\]]{{3,200}}\] *)?"
_FIELDS = r"[^{}]{0,4000}?"

FORMAT = Format(
    title="Hugging Face Trainer",
    url="https://github.com/huggingface/transformers",
    lines=(
        Line(
            "step",
            # From the start of a line only: behind a text this is the bar of something else.
            rf"^{_NAME}\d{{1,3}}%(?:\|[^|]{{0,400}}\|)? (?P<step>\d+)/(?P<total>\d+) "
            r"\[(?P<elapsed_clock>[\d:]+)<(?:[\d:]+|\?), +[\d.]+(?:it/s|s/it)"
            rf"(?:, (?:[^\]]{{0,200}}\b(?:step_|avr_)?loss=(?P<loss>{NUMBER}))?[^\]]{{0,200}})?\]"
            r"(?:\s*$|(?=\{'loss)|(?=[^{}]{0,120} - Saving current state to ))",
            weak=True,
        ),
        # What a notebook shows instead of a bar; nothing is left once it is over.
        Line(
            "step",
            r"^\[ *(?P<step>\d+)/(?P<total>\d+) (?P<elapsed_clock>\d[\d:]+)"
            r"(?: < (?:\d[\d:]+|\?), [\d.]+ it/s)?, Epoch [\d.]+/\d+\]",
        ),
        Line(
            "step",
            rf"{HEAD}{_AFTER_BAR}\{{(?={_FIELDS}'learning_rate': )(?={_FIELDS}'epoch': )"
            rf"(?:{_FIELDS}, )?'loss': '?(?P<loss>{NUMBER})'?",
        ),
        Line(
            "evaluation",
            rf"{HEAD}{_AFTER_BAR}\{{(?:(?=(?:{_FIELDS}, )?'eval_(?:\w{{1,40}}_)?loss': '?(?P<val_loss>{NUMBER}))|)"
            rf"{_FIELDS}'eval_(?:\w{{1,40}}_)?runtime': '?(?P<took_s>[\d.]+)",
        ),
        Line("evaluation", rf"{HEAD}{_AFTER_BAR}Running validation\.\.\."),
        Line(
            "checkpoint",
            rf"{HEAD}{_AFTER_BAR}{HEAD.replace('(?P<stamp>', '(?:')}(?:Saving model checkpoint|Saved state) to "
            r"(?P<path>\S*?(?:checkpoint[-_](?P<step>\d+))?)/?\s*$",
        ),
        # Since version 5 a checkpoint draws a bar of the files it writes.
        Line("checkpoint", r"Writing model shards: *100%\|[^|]{0,400}\| (?P<shards>\d+)/(?P=shards) \["),
        # accelerate's examples print the scores of an epoch's evaluation.
        Line("evaluation", rf"{HEAD}{_AFTER_STEP}epoch \d+: \{{'(?:{_FIELDS}loss': (?P<val_loss>{NUMBER}))?"),
        # Loops of one's own around accelerate print a result in words.
        Line(
            "evaluation",
            rf"^{HEAD}{_AFTER_STEP}(?:epoch \d{{1,6}}: (?:(?:perplexity|train_loss): \S+ ){{0,2}})?"
            rf"(?i:(?:mean|avg|average) )?(?i:val|valid|validation|eval|evaluation)[ _](?i:loss) ?[:=] ?"
            rf"(?P<val_loss>{NUMBER})(?![\w.])",
            weak=True,
        ),
        Line(
            "fact",
            rf"{HEAD}{_AFTER_BAR}\{{(?={_FIELDS}'train_loss': )"
            rf"(?>{_FIELDS}'train_runtime': '?(?P<train_runtime_s>[\d.]+))"
            rf"(?:{_FIELDS}'train_steps_per_second': '?(?P<train_steps_per_s>[\d.]+))?",
        ),
        Line("start", rf"{HEAD}\*{{5}} Running training \*{{5}}"),
        Line("start", r"==\(\(=+\)\)== +Unsloth - .*?Num GPUs(?: used)? = (?P<world_size>\d+)"),
        Line("start", rf"{HEAD}Starting (?:to train|trainer)\.\.\."),
        Line("resume", rf"{HEAD}Resuming (?:training )?from checkpoint:? (?P<path>\S+)"),
        Line("resume", rf"{HEAD}Continuing training from global step (?P<resumed_step>[\d,]+)"),
        Line("fact", rf"{HEAD}(?:Total optimization steps|Total steps) = (?P<total>[\d,]+)"),
        Line(
            "fact",
            r"\\{1,2} +/\| +(?:\[\d+\] )?Num examples = [\d,]+ \| Num Epochs = [\d,]+ \| "
            r"Total steps = (?P<total>[\d,]+)",
        ),
        Line(
            "fact",
            r"O\^O/ \\_/ \\ +Batch size per device = (?P<batch_size>[\d,]+) \| "
            r"Gradient [Aa]ccumulation steps = (?P<gradient_accumulation_steps>[\d,]+)",
        ),
        Line("fact", rf"{HEAD}Num Epochs = (?P<num_epochs>[\d,]+)"),
        # From the arguments that many scripts print at their start.
        Line("fact", r"optim=(?:OptimizerNames\.ADAMW_TORCH|adamw_torch),?\s*$", sets={"fused_optimizer": False}),
        Line("fact", r"optim=(?:OptimizerNames\.ADAMW_\w*FUSED|adamw_\w*fused),?\s*$", sets={"fused_optimizer": True}),
        Line("fact", rf"{HEAD}Instantaneous batch size per device = (?P<batch_size>[\d,]+)"),
        Line("fact", rf"{HEAD}Gradient Accumulation steps = (?P<gradient_accumulation_steps>[\d,]+)"),
        Line(
            "fact",
            rf"{HEAD}Total train batch size \(w\. parallel, distributed & accumulation\) = "
            r"(?P<samples_per_step>[\d,]+)",
        ),
        Line(
            "fact",
            rf"(?:{HEAD}Number of trainable parameters|\"-____-\" +Trainable parameters) = "
            r"(?P<trained_parameters>[\d,]+)",
        ),
        # Also printed before an evaluation or a prediction, so they say nothing about training.
        Line("chatter", rf"{HEAD}(?:Num (?:examples|batches each epoch)|Batch size) = [\d,]+"),
        Line("chatter", rf"{HEAD}{_AFTER_BAR}\*{{5}} (?:Running (?:Evaluation|Prediction)|\w+ metrics) \*{{5}}"),
        Line("chatter", r"(?:epoch|total_flos|perplexity|(?:train|eval|predict|test)_\w+) += +\S+\s*$"),
        Line(
            "chatter",
            rf"^{_NAME}\d{{1,3}}%(?:\|[^|]{{0,400}}\|)? \d+/\d+ \[[\d:]+<[\d:?]+, +\?(?:it/s|s/it)[^\]]*\]\s*$",
        ),
        Line(
            "chatter",
            r"(?!Steps:|steps:|Train:)(?!.{0,80}Writing model shards: *100%)"
            r"[\w.,/()' -]{1,100}: *\d{1,3}%(?:\|| +[\d.]+\w?/)",
        ),
        Line(
            "chatter",
            rf"{HEAD}(?:(?:Configuration|Model weights|The model is bigger|tokenizer config file|Special tokens file|"
            r"chat template|Image processor|Feature extractor|Processor) saved in |Saving current state to |"
            r"Deleting older checkpoint |loading (?:file|configuration file|weights file) |Loading best model from |"
            r"Training completed\. Do not forget to share|Model config \w+ \{|Will skip the first \d+ epochs|"
            r"Continuing training from (?:checkpoint|epoch)|The following columns in the \w+ set don't have|"
            r"Finished training, saving model)",
        ),
        Line("chatter", r"\\ +/ +(?:Data Parallel GPUs|Total batch size)|Unsloth: |\S+ Unsloth: "),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The bar's elapsed time, in whole seconds, since this process began to train; evaluation, saving and data "
        "loading are inside. Its remaining time is its smoothed recent rate times the steps left, without the "
        "evaluations among them; train_runtime, in the last dict, is the whole wall time of the process.",
        restarts_with="process",
    ),
    layout=Layout(first_step=1, bars_nest=True),
    habits=Habits(kept_checkpoints=0),
    controls=Controls(
        names={"logging_steps": "log_interval", "eval_steps": "eval_interval", "save_steps": "checkpoint_interval"},
        settable={
            **SETTABLE,
            "optimizer": 'optim="adamw_torch_fused"',
            "save_on_improvement": 'save_strategy="best"',
            "attention": 'from_pretrained(…, attn_implementation="sdpa")',
            "dtype": "bf16=False, fp16=True",
        },
        syntax="{name}={value}",
    ),
    samples=(
        Sample("Mean val loss: 3.0517", "evaluation", {"val_loss": 3.0517}),
        Sample(
            "epoch 2: perplexity: 14.22 eval_loss: 2.6546",
            "evaluation",
            {"val_loss": 2.6546},
        ),
        Sample(
            "epoch 2: perplexity: 14.22 train_loss: 2.91 eval_loss: 2.6546",
            "evaluation",
            {"val_loss": 2.6546},
        ),
        Sample("Validation loss = 2.25", "evaluation", {"val_loss": 2.25}),
        Sample("Mean train loss: 3.4411", None),
        Sample("Epoch 3, Val Loss: 0.2471, Val Acc: 0.91", None),
        Sample("optim=OptimizerNames.ADAMW_TORCH,", "fact"),
        Sample("optim=adamw_torch_fused,", "fact"),
        Sample(
            " 12%|█▏        | 345/2800 [01:23<10:00,  4.10it/s]".strip(),
            "step",
            {"step": 345, "total": 2800, "elapsed_clock": None},
        ),
        Sample("0%|          | 31/91230 [1:02:05<3040:11:40, 120.17s/it]", "step", {"step": 31, "total": 91230}),
        Sample("3% 2/60 [00:11<05:09,  5.34s/it]", "step", {"step": 2, "total": 60}),  # a notebook's narrow cell
        Sample("[540/540 1:19:02, Epoch 5/5]", "step", {"step": 540, "total": 540}),
        Sample("[ 31/540 04:07 < 1:12:19, 0.12 it/s, Epoch 0.28/5]", "step", {"step": 31, "total": 540}),
        Sample("[ 31/540 04:07 < 1:12:19, 0.12 it/s]", None),
        Sample(
            "Steps:   7%|▋         | 71/1000 [02:01<25:18,  1.63s/it, lr=0.0001, step_loss=0.0873]",
            "step",
            {"step": 71, "total": 1000, "loss": 0.0873},
        ),
        Sample(
            "steps:   5%|▌         | 50/1000 [01:03<20:09,  1.27s/it, avr_loss=0.0912]",
            "step",
            {"step": 50, "loss": 0.0912},
        ),
        Sample("1%|          | 10/900 [00:12<17:48,  1.20s/it]{'loss': 2.31, 'epoch': 0.1}", "step", {"step": 10}),
        Sample(
            "Steps:  33%|███▎      | 100/300 [03:20<06:40,  2.00s/it]02/04/2025 01:21:01 - INFO - "
            "accelerate.accelerator - Saving current state to out/checkpoint-100",
            "step",
            {"step": 100},
        ),
        Sample(
            "{'loss': 1.4071, 'grad_norm': 0.7213, 'learning_rate': 1.25e-05, 'epoch': 0.42}", "step", {"loss": 1.4071}
        ),
        Sample(
            "{'loss': '0.9142', 'grad_norm': '1.5', 'learning_rate': '2e-05', 'epoch': '0.1'}", "step", {"loss": 0.9142}
        ),
        Sample(
            "{'num_tokens': 8123.0, 'reward': 0.61, 'loss': 0.002, 'learning_rate': 1e-06, 'epoch': 0.03}",
            "step",
            {"loss": 0.002},
        ),
        Sample(
            "INFO     | 2023-02-04 11:51:14 | autotrain.trainers.common:on_log:226 - "
            "{'loss': 1.3, 'learning_rate': 2.1e-06, 'epoch': 0.02}",
            "step",
            {"loss": 1.3},
        ),
        Sample(
            "{'eval_loss': 0.8123, 'eval_accuracy': 0.71, 'eval_runtime': 12.34, 'eval_samples_per_second': 40.5, "
            "'eval_steps_per_second': 5.1, 'epoch': 1.0}",
            "evaluation",
            {"val_loss": 0.8123, "took_s": 12.34},
        ),
        Sample(
            "{'eval_f1': 0.5, 'eval_runtime': 7.0, 'eval_samples_per_second': 1.5, 'epoch': 2.0}",
            "evaluation",
            {"val_loss": None, "took_s": 7},
        ),
        Sample(
            "{'eval_wiki_loss': '1.9', 'eval_wiki_runtime': '3.25', 'epoch': '0.5'}",
            "evaluation",
            {"val_loss": 1.9, "took_s": 3.25},
        ),
        Sample(
            "100%|██████████| 25/25 [00:04<00:00,  6.01it/s]{'eval_loss': 0.5, 'eval_runtime': 4.5, 'epoch': 1.0}",
            "evaluation",
            {"val_loss": 0.5, "took_s": 4.5},
        ),
        Sample("my_script - Running validation... ", "evaluation"),
        Sample("epoch 2: {'accuracy': 0.8603, 'f1': 0.9028}", "evaluation", {"val_loss": None}),
        Sample("epoch 0: {'val_loss': 25.56158}", "evaluation", {"val_loss": 25.56158}),
        Sample("50%|█████     | 150/300 [00:25<00:25,  5.98it/s]epoch 1: {'f1': 0.9}", "evaluation", {"step": 150}),
        Sample("Writing model shards: 100%|██████████| 1/1 [00:00<00:00, 494.61it/s]", "checkpoint"),
        Sample("Writing model shards:   0%|          | 0/1 [00:00<?, ?it/s]", "chatter"),
        Sample("Saving model checkpoint to out/checkpoint-1500", "checkpoint", {"step": 1500}),
        Sample("Saving model checkpoint to out/tmp-checkpoint-a1b2", "checkpoint", {"step": None}),
        Sample(
            "10%|█         | 1500/15000 [06:15<56:15,  4.00it/s][INFO|trainer.py:2868] 2023-02-04 20:06:15,004 >> "
            "Saving model checkpoint to /data/qa/checkpoint-1500",
            "checkpoint",
            {"step": 1500, "path": "/data/qa/checkpoint-1500"},
        ),
        Sample("train_lora - Saved state to runs/a/checkpoint-500", "checkpoint", {"step": 500}),
        Sample(
            "{'train_runtime': 4321.5, 'train_samples_per_second': 5.1, 'train_steps_per_second': 0.6, "
            "'train_loss': 1.21, 'epoch': 3.0}",
            "fact",
            {"train_runtime_s": 4321.5, "train_steps_per_s": 0.6},
        ),
        Sample("***** Running training *****", "start"),
        Sample("[INFO|trainer.py:1721] 2023-02-04 10:00:01,250 >> ***** Running training *****", "start"),
        Sample("==((====))==  Unsloth - 2x faster free finetuning | Num GPUs used = 1", "start", {"world_size": 1}),
        Sample("[INFO] [axolotl.train.train:155] [PID:812] [RANK:0] Starting trainer...", "start"),
        Sample(
            "INFO     | 2023-02-04 11:46:41 | autotrain.trainers.common:on_train_begin:231 - Starting to train...",
            "start",
        ),
        Sample("train_lora - Resuming from checkpoint checkpoint-500", "resume", {"path": "checkpoint-500"}),
        Sample("  Continuing training from global step 5000".strip(), "resume", {"resumed_step": 5000}),
        Sample("  Total optimization steps = 12,345".strip(), "fact", {"total": 12345}),
        Sample(
            "[INFO|2025-02-03 08:43:30] trainer.py:2429 >>   Total optimization steps = 873", "fact", {"total": 873}
        ),
        Sample(r"\\   /|    Num examples = 51,760 | Num Epochs = 1 | Total steps = 60", "fact", {"total": 60}),
        Sample(
            r"O^O/ \_/ \    Batch size per device = 2 | Gradient accumulation steps = 4",
            "fact",
            {"batch_size": 2, "gradient_accumulation_steps": 4},
        ),
        Sample("Num Epochs = 3", "fact", {"num_epochs": 3}),
        Sample("Instantaneous batch size per device = 8", "fact", {"batch_size": 8}),
        Sample("Gradient Accumulation steps = 4", "fact", {"gradient_accumulation_steps": 4}),
        Sample(
            "Total train batch size (w. parallel, distributed & accumulation) = 64", "fact", {"samples_per_step": 64}
        ),
        Sample("Number of trainable parameters = 124,439,808", "fact", {"trained_parameters": 124439808}),
        Sample(
            '"-____-"     Trainable parameters = 41,943,040 of 8,072,204,288 (0.52% trained)',
            "fact",
            {"trained_parameters": 41943040},
        ),
        Sample("Num examples = 2,810", "chatter"),
        Sample("***** Running Prediction *****", "chatter"),
        Sample("train_runtime            = 1:02:03.12", "chatter"),
        Sample("0%|          | 0/63 [00:00<?, ?it/s]", "chatter"),
        Sample("Loading checkpoint shards:  50%|█████     | 1/2 [00:05<00:05,  5.20s/it]", "chatter"),
        Sample("model.safetensors:   2%|▏         | 2.5M/160M [00:00<01:06, 2.36MB/s]", "chatter"),
        Sample("Configuration saved in out/checkpoint-1500/config.json", "chatter"),
        Sample(r"\        /    Data Parallel GPUs = 1 | Total batch size (2 x 4 x 1) = 8", "chatter"),
        # A crash wrote its traceback behind the bar: that line is the traceback's.
        Sample("Steps:   0%|          | 0/7000 [00:00<?, ?it/s]Traceback (most recent call last):", None),
        Sample("12%|█▏        | 345/2800 [01:23<10:00", None),
        Sample("{'loss': 1.4071, 'step': 12}", None),
        Sample('{"loss": 1.4, "learning_rate": 1e-05, "epoch": 0.4}', None),
        Sample("Train:  29%|██▉       | 290/1000 [09:41<23:43,  2.01s/it]", None),
    ),
)
