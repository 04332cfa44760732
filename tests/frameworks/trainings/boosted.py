"""XGBoost or LightGBM: a callback that takes its time, saves now and then, and pauses once."""

import sys
import time

import numpy as np
import truth

draw = np.random.default_rng(0)
X = draw.normal(size=(400, 6))
y = X.sum(1)
if sys.argv[1] == "xgboost":
    import xgboost

    class Slow(xgboost.callback.TrainingCallback):
        def before_iteration(self, model, epoch, evals_log):
            truth.mark(epoch)
            time.sleep(0.02)
            return False

        def after_iteration(self, model, epoch, evals_log):
            if epoch == 47:
                truth.pause("stall", 0.6)
            if epoch and epoch % 20 == 0:
                with truth.span("checkpoint"):
                    model.save_model("booster.json")
                    time.sleep(0.3)
            return False

    callbacks = [Slow()]
    if "--callback" in sys.argv:
        from stepscope.integrations.xgboost import StepscopeCallback

        callbacks.append(StepscopeCallback(sys.argv[-1]))
    booster = xgboost.train(
        {"nthread": 1, "max_depth": 2},
        xgboost.DMatrix(X, y),
        90,
        evals=[(xgboost.DMatrix(X[:50], y[:50]), "valid")],
        verbose_eval=10,
        callbacks=callbacks,
    )
    model = np.frombuffer(bytes(booster.save_raw("json")), dtype=np.uint8)
else:
    import lightgbm

    def slow(env):
        truth.mark(env.iteration)
        time.sleep(0.02)
        if env.iteration == 47:
            truth.pause("stall", 0.6)
        if env.iteration and env.iteration % 20 == 0:
            with truth.span("checkpoint"):
                env.model.save_model("booster.txt")
                time.sleep(0.3)

    callbacks = [slow, lightgbm.log_evaluation(10)]
    if "--callback" in sys.argv:
        from stepscope.integrations.lightgbm import StepscopeCallback

        callbacks.append(StepscopeCallback(sys.argv[-1]))
    booster = lightgbm.train(
        {"num_threads": 1, "verbose": -1, "num_leaves": 4},
        lightgbm.Dataset(X, y),
        90,
        valid_sets=[lightgbm.Dataset(X[:50], y[:50])],
        callbacks=callbacks,
    )
    model = np.frombuffer(booster.model_to_string().encode(), dtype=np.uint8)
truth.result(model)
