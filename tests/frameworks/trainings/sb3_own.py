"""Stable-Baselines3 with a callback that evaluates by a function of its own, and saves."""

import time
import warnings

warnings.simplefilter("ignore")

import gymnasium
import numpy as np
import torch
import truth
from stable_baselines3 import A2C
from stable_baselines3.common.callbacks import BaseCallback

torch.set_num_threads(1)


class Walk(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (4,), dtype=np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    at = 0

    def reset(self, *, seed=None, options=None):
        self.at = 0
        return np.zeros(4, dtype=np.float32), {}

    def step(self, action):
        time.sleep(0.002)
        self.at += 1
        return np.full(4, self.at / 20, dtype=np.float32), float(action), self.at >= 20, False, {}


def evaluate_agent(model, walk, num):
    for _ in range(num):
        seen, is_over = walk.reset()[0], False
        while not is_over:
            action, _ = model.predict(seen, deterministic=True)
            seen, _, is_over, _, _ = walk.step(action)


class Own(BaseCallback):
    def _on_rollout_end(self):
        if self.num_timesteps == 520:
            truth.pause("stall", 0.8)
        if self.num_timesteps % 320 == 0:
            with truth.span(truth.EVALUATION):
                evaluate_agent(self.model, Walk(), 8)
            with truth.span(truth.CHECKPOINT):
                self.model.save("a2c")
                time.sleep(0.3)

    def _on_step(self):
        return True


model = A2C("MlpPolicy", Walk(), n_steps=40, seed=0, device="cpu", verbose=0)
model.learn(40 * 32, callback=Own())
print("learned")
truth.result(*(value.numpy() for value in model.policy.state_dict().values()))
