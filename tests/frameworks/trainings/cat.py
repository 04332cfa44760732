"""CatBoost, with a callback that takes its time and saves."""

import time

import numpy as np
import truth
from catboost import CatBoostRegressor

draw = np.random.default_rng(0)
X = draw.normal(size=(200, 4))


class Slow:
    def after_iteration(self, info):
        truth.mark(info.iteration)
        time.sleep(0.02)
        if info.iteration == 31:
            truth.pause("stall", 0.5)
        return True


model = CatBoostRegressor(iterations=60, depth=2, thread_count=1, verbose=10, random_seed=0, allow_writing_files=False)
model.fit(X, X.sum(1), callbacks=[Slow()])
with truth.span("checkpoint"):
    model.save_model("cat.cbm")
truth.result(model.predict(X))
