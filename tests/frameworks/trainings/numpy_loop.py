"""A loop of NumPy alone: no framework tells of a step, and the log shows every tenth."""

import time

import numpy as np
import truth

generator = np.random.default_rng(0)
weights = generator.normal(size=(16, 1)) * 0.1


def batches(num):
    for index in range(num):
        if index == 57:
            truth.pause("data", 0.6)
        x = generator.normal(size=(8, 16))
        yield x, x.sum(1)


def error(x, y):
    return x @ weights[:, 0] - y


def compute_val_loss():
    total = 0.0
    for x, y in batches(12):
        total += float((error(x, y) ** 2).mean())
        time.sleep(0.05)
    return total / 12


def snapshot(step):
    np.savez(f"numpy{step}.npz", weights=weights)
    time.sleep(0.3)


for step, (x, y) in enumerate(batches(121)):
    truth.mark(step)
    difference = error(x, y)
    weights -= 0.02 * x.T @ difference[:, None] / 8
    time.sleep(0.02)
    if step % 10 == 0:
        print(f"iter {step:4d} | loss {float((difference**2).mean()):.5f}", flush=True)
    if step and step % 40 == 0:
        with truth.span(truth.E):
            loss = compute_val_loss()
        print(f"          val loss {loss:.5f}", flush=True)
        with truth.span(truth.C):
            snapshot(step)
truth.result(weights)
