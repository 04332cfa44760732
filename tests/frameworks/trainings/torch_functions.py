"""A loop without a loader: functions of its own that evaluate without `eval()`, draw batches and save by pickle."""

import pickle
import time

import torch
import truth

torch.set_num_threads(1)
generator = torch.Generator().manual_seed(0)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def get_batch(late=False):
    if late:
        truth.pause("data", 0.6)
    x = torch.randn(4, 16, generator=generator)
    return x, x.sum(1)


def loss_of(x, y):
    return torch.nn.functional.mse_loss(model(x).squeeze(-1), y)


def run_validation():
    for _ in range(10):
        with torch.inference_mode():
            loss_of(*get_batch())
        time.sleep(0.04)


def save_checkpoint(step):
    time.sleep(0.2)  # waits for the others
    with open(f"functions{step}.pkl", "wb") as file:
        pickle.dump({name: value.numpy() for name, value in model.state_dict().items()}, file)
    time.sleep(0.2)  # an upload


for step in range(1, 61):
    truth.mark(step)
    optimizer.zero_grad()
    for part in range(2):
        x, y = get_batch(late=step == 33 and part == 1)
        time.sleep(0.01)
        (loss_of(x, y) / 2).backward()
    optimizer.step()
    if step == 22:
        truth.collect()
    if step % 5 == 0:
        print(f"step {step} loss {loss_of(x, y).item():.5f}", flush=True)
    if step % 15 == 0:
        with truth.span(truth.EVALUATION):
            run_validation()
        with truth.span(truth.CHECKPOINT):
            save_checkpoint(step)
truth.result(*(value.numpy() for value in model.state_dict().values()))
