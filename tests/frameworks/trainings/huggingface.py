"""Hugging Face's Trainer without bars, with methods of its own that take longer than those they call."""

import sys
import time

import torch
import truth
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

torch.set_num_threads(1)
torch.manual_seed(0)
if "--callback" in sys.argv:
    from stepscope.integrations.huggingface import StepscopeCallback


class Data(torch.utils.data.Dataset):
    def __init__(self, num, slow=None):
        self.num, self.slow, self.seen = num, slow, 0

    def __len__(self):
        return self.num

    def __getitem__(self, index):
        self.seen += 1
        if self.seen == self.slow:
            truth.pause("data", 0.6)
        ids = torch.randint(0, 32, (8,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": ids, "labels": ids}


class Own(Trainer):
    def evaluate(self, *args, **kwargs):
        with truth.span("evaluation"):
            time.sleep(0.2)
            return super().evaluate(*args, **kwargs)

    def _save_checkpoint(self, *args, **kwargs):
        with truth.span("checkpoint"):
            super()._save_checkpoint(*args, **kwargs)
            time.sleep(0.3)

    def training_step(self, *args, **kwargs):
        truth.mark(self.state.global_step)
        if self.state.global_step == 25:
            truth.collect()
        time.sleep(0.02)
        return super().training_step(*args, **kwargs)


model = GPT2LMHeadModel(
    GPT2Config(n_layer=1, n_head=1, n_embd=8, vocab_size=32, n_positions=8, bos_token_id=0, eos_token_id=0)
)
settings = TrainingArguments(
    output_dir="hf",
    max_steps=60,
    per_device_train_batch_size=2,
    eval_strategy="steps",
    eval_steps=20,
    save_steps=20,
    save_total_limit=1,
    logging_steps=10,
    report_to=[],
    use_cpu=True,
    disable_tqdm=True,
    seed=0,
)
trainer = Own(model=model, args=settings, train_dataset=Data(400, slow=2 * 30), eval_dataset=Data(16))
if "--callback" in sys.argv:
    trainer.add_callback(StepscopeCallback(sys.argv[-1]))
trainer.train()
truth.result(*(value.numpy() for value in model.state_dict().values()))
