"""PPO written by hand: what is collected is learned from in several steps of the optimizer, and tried now and then."""

import time

import torch
import truth

torch.set_num_threads(1)
torch.manual_seed(0)
policy = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)


class World:
    """As environments of Gymnasium are."""

    def __init__(self, seed):
        self.generator, self.num = torch.Generator().manual_seed(seed), 0

    def reset(self):
        self.num = 0
        return torch.randn(4, generator=self.generator)

    def step(self, action):
        time.sleep(0.004)
        self.num += 1
        return torch.randn(4, generator=self.generator), float(action), self.num >= 20, False, {}


world = World(0)
seen = world.reset()
for update in range(1, 31):
    truth.mark(update)
    states, actions = [], []
    for _ in range(25):
        with torch.no_grad():
            action = int(policy(seen)[0] > policy(seen)[1])
        states.append(seen)
        actions.append(action)
        seen, _, done, _, _ = world.step(action)
        if done:
            seen = world.reset()
    if update == 17:
        truth.pause("stall", 0.6)
    for _ in range(3):
        for part in torch.randperm(25, generator=world.generator).split(13):
            chances = torch.log_softmax(policy(torch.stack(states)[part]), -1)
            loss = -chances.gather(1, torch.tensor(actions)[part, None]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.004)
    print(f"update {update}/30 loss {loss.item():.4f}", flush=True)
    if update % 10 == 0:
        with truth.span(truth.C):
            torch.save(policy.state_dict(), "policy.pt")
            time.sleep(0.25)
        with truth.span(truth.E):
            other = World(update)
            state, done = other.reset(), False
            while not done:
                with torch.no_grad():
                    action = policy(state).argmax().item()
                state, reward, done, _, _ = other.step(action)
                time.sleep(0.02)
        print("tried", flush=True)
truth.result(*(value.numpy() for value in policy.state_dict().values()))
