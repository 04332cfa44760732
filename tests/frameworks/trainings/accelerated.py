"""A loop with Accelerate: gradient accumulation, saves with `save_state`."""

import time

import torch
import truth
from accelerate import Accelerator

torch.set_num_threads(1)
torch.manual_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.utils.data.TensorDataset(torch.randn(4 * 80, 8))
train = torch.utils.data.DataLoader(data, batch_size=4)
held_out = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(32, 8)), batch_size=4)
model, optimizer, train, held_out = accelerator.prepare(model, optimizer, train, held_out)
done = 0
for (x,) in train:
    with accelerator.accumulate(model):
        time.sleep(0.015)
        loss = model(x).pow(2).mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    if not accelerator.sync_gradients:
        continue
    done += 1
    print(f"step {done} loss {loss.item():.4f}", flush=True)
    if done == 27:
        truth.pause("stall", 0.5)
    if done % 10 == 0:
        with truth.span("evaluation"):
            model.eval()
            with torch.no_grad():
                for (y,) in held_out:
                    time.sleep(0.03)
                    model(y)
        with truth.span("checkpoint"):
            accelerator.save_state("acc")
            time.sleep(0.2)
        model.train()
truth.result(*(value.numpy() for value in model.state_dict().values()))
