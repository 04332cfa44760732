"""A loop that prints nothing: batches from a generator, saves without a function, a wait that only the former has."""

import time

import numpy as np
import torch
import truth

torch.set_num_threads(1)
torch.manual_seed(0)
model = torch.nn.Linear(16, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs = torch.randn(320, 16)


def chunks():
    for index in range(0, 320, 4):
        if index == 4 * 45:
            truth.pause("data", 0.6)
        yield inputs[index : index + 4]


def accuracy():
    total = 0.0
    for part in inputs.split(32):
        with torch.inference_mode():
            total += float(model(part).mean())
        time.sleep(0.04)
    return total


for step, x in enumerate(chunks()):
    truth.mark(step)
    time.sleep(0.03)
    loss = (model(x).squeeze(-1) - x.sum(1)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        with truth.span(truth.E):
            accuracy()
        with truth.span(truth.C):
            np.savez("silent.npz", **{name: value.numpy() for name, value in model.state_dict().items()})
            time.sleep(0.3)
truth.result(*(value.numpy() for value in model.state_dict().values()))
