"""Stable-Baselines3: PPO on an environment that takes its time, with EvalCallback and CheckpointCallback."""

import time
import warnings

warnings.simplefilter("ignore")

import gymnasium
import numpy as np
import torch
import truth
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import CheckpointCallback, EvalCallback
from stable_baselines3.common.monitor import Monitor

torch.set_num_threads(1)


class Walk(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (4,), dtype=np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, pause=None):
        self.at, self.num, self.pause = 0, 0, pause

    def _look(self):
        return np.sin(np.arange(4) + self.at).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        self.at = 0
        return self._look(), {}

    def step(self, action):
        time.sleep(0.002)
        self.at, self.num = self.at + 1, self.num + 1
        if self.num == self.pause:
            truth.pause("stall", 1.5)
        return self._look(), float(action), self.at >= 20, False, {}


class Evaluate(EvalCallback):
    def _on_step(self):
        if self.n_calls % self.eval_freq:
            return super()._on_step()
        with truth.span("evaluation"):
            return super()._on_step()


class Save(CheckpointCallback):
    def _on_step(self):
        if self.n_calls % self.save_freq:
            return super()._on_step()
        with truth.span("checkpoint"):
            return super()._on_step()


model = PPO("MlpPolicy", Walk(pause=500), n_steps=64, batch_size=32, n_epochs=2, seed=0, device="cpu", verbose=0)
callbacks = [
    Evaluate(Monitor(Walk()), eval_freq=256, n_eval_episodes=4, verbose=0),
    Save(save_freq=320, save_path="sb3"),
]
model.learn(64 * 16, callback=callbacks)
print("learned")
truth.result(*(value.numpy() for value in model.policy.state_dict().values()))
