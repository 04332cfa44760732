"""Keras without `fit`: `train_on_batch` and `test_on_batch` first, then an optimizer that is applied by hand."""

import os
import time

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch
import truth

torch.set_num_threads(1)
keras.utils.set_random_seed(0)
draw = np.random.default_rng(0)
X = draw.normal(size=(400, 8)).astype("float32")
Y = X.sum(1, keepdims=True)


def small():
    return keras.Sequential([keras.Input((8,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(1)])


def part(number):
    return X[4 * number : 4 * number + 4], Y[4 * number : 4 * number + 4]


def save(model, name):
    with truth.span(truth.CHECKPOINT):
        model.save_weights(f"{name}.weights.h5")
        time.sleep(0.25)


first = small()
first.compile("adam", "mse")
for step in range(40):
    truth.mark(step)
    time.sleep(0.02)
    first.train_on_batch(*part(step))
    if step % 10 == 0:
        print(f"step {step}", flush=True)
    if step and step % 12 == 0:
        with truth.span(truth.EVALUATION):
            for number in range(10):
                time.sleep(0.04)
                first.test_on_batch(*part(number))
        save(first, "first")

second = small()
optimizer = keras.optimizers.Adam(1e-3)


def validate():
    for number in range(10):
        time.sleep(0.04)
        second(part(number)[0], training=False)


for step in range(40):
    truth.mark(step)
    time.sleep(0.02)
    x, y = part(step)
    loss = keras.losses.mean_squared_error(y, second(x, training=True)).mean()
    second.zero_grad()
    loss.backward()
    weights = second.trainable_weights
    with torch.no_grad():
        optimizer.apply([weight.value.grad for weight in weights], weights)
    if step == 27:
        truth.pause("stall", 0.6)
    if step % 10 == 0:
        print(f"step {step}", flush=True)
    if step and step % 12 == 0:
        with truth.span(truth.EVALUATION):
            validate()
        save(second, "second")
truth.result(*first.get_weights(), *second.get_weights())
