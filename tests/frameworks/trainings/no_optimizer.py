"""Gradient descent without an optimizer: no hook tells of a step, and the log shows every tenth."""

import time

import torch
import truth

torch.set_num_threads(1)
torch.manual_seed(0)
weights = torch.randn(16, 1, requires_grad=True)


def get_batch(num, late=False):
    if late:
        truth.pause("data", 0.6)
    x = torch.randn(num, 16)
    return x, x.sum(1, keepdim=True)


def evaluate():
    with torch.no_grad():
        for _ in range(8):
            x, y = get_batch(8)
            ((x @ weights - y) ** 2).mean()
            time.sleep(0.05)


for step in range(1, 101):
    truth.mark(step)
    x, y = get_batch(8, late=step == 38)
    loss = ((x @ weights - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        weights -= 0.01 * weights.grad
        weights.grad = None
    time.sleep(0.03)
    if step == 77:
        truth.pause("stall", 0.6)
    if step % 10 == 0:
        print(f"iter {step}: loss {loss.item():.5f}", flush=True)
    if step % 30 == 0:
        with truth.span(truth.E):
            evaluate()
        with truth.span(truth.C):
            torch.save([weights], "weights.pt")
            time.sleep(0.25)
truth.result(weights.detach().numpy())
