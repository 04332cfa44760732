"""Keras 3 on PyTorch: validation and a checkpoint after each epoch."""

import os
import sys
import time

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch
import truth

torch.set_num_threads(1)
keras.utils.set_random_seed(0)


class Data(keras.utils.PyDataset):
    def __init__(self, num, slow=None):
        super().__init__()
        self.num, self.slow, self.seen = num, slow, 0

    def __len__(self):
        return self.num

    def __getitem__(self, index):
        self.seen += 1
        time.sleep(0.03)
        if self.seen == self.slow:
            truth.pause("data", 0.6)
        x = np.random.default_rng(index).normal(size=(4, 8)).astype("float32")
        return x, x.sum(1, keepdims=True)


class Save(keras.callbacks.ModelCheckpoint):
    def _save_model(self, *args, **kwargs):
        with truth.span("checkpoint"):
            super()._save_model(*args, **kwargs)
            time.sleep(0.2)


class Clock(keras.callbacks.Callback):
    def on_test_begin(self, logs=None):
        self.span = truth.span("evaluation").__enter__()

    def on_test_end(self, logs=None):
        self.span.__exit__()

    def on_train_batch_begin(self, batch, logs=None):
        truth.mark(batch)


model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
callbacks = [Clock(), Save("keras_{epoch}.keras")]
if "--callback" in sys.argv:
    from stepscope.integrations.keras import StepscopeCallback

    callbacks.append(StepscopeCallback(sys.argv[-1]))
model.fit(Data(25, slow=40), epochs=3, validation_data=Data(10), callbacks=callbacks, verbose=2)
truth.result(*model.get_weights())
