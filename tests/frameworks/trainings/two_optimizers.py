"""Two optimizers, the first of which steps twice as often; a model that is compiled within its first evaluation."""

import time

import torch
import truth

torch.set_num_threads(1)
torch.manual_seed(0)
generator = torch.Generator().manual_seed(0)
maker = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8))
judge = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
for_maker = torch.optim.Adam(maker.parameters(), lr=1e-3)
for_judge = torch.optim.Adam(judge.parameters(), lr=1e-3)


class Pictures(torch.utils.data.Dataset):
    def __len__(self):
        return 8 * 60

    def __getitem__(self, index):
        if index == 8 * 17:
            truth.pause("data", 0.6)
        return torch.randn(8, generator=torch.Generator().manual_seed(index))


def slow(module, inputs):
    time.sleep(0.3)
    return module.forward


compiled = torch.compile(maker, backend=slow)


def noise():
    return torch.randn(8, 4, generator=generator)


def score():
    maker.eval()
    with torch.no_grad():
        for _ in range(6):
            compiled(noise())
            time.sleep(0.05)
    maker.train()


for step, real in enumerate(torch.utils.data.DataLoader(Pictures(), batch_size=8)):
    truth.mark(step)
    for _ in range(2):
        time.sleep(0.008)
        for_judge.zero_grad()
        wrong = judge(maker(noise()).detach()).mean() - judge(real).mean()
        wrong.backward()
        for_judge.step()
    time.sleep(0.01)
    for_maker.zero_grad()
    (-judge(maker(noise())).mean()).backward()
    for_maker.step()
    if step == 41:
        truth.pause("stall", 0.6)
    if step % 5 == 0:
        print(f"[Batch {step}/60] [D loss: {wrong.item():.4f}]", flush=True)
    if step and step % 20 == 0:
        with truth.span(truth.EVALUATION):
            score()
        with truth.span(truth.CHECKPOINT):
            torch.save(maker.state_dict(), "maker.pt")
            torch.save(judge.state_dict(), "judge.pt")
            time.sleep(0.25)
truth.result(*(value.numpy() for model in (maker, judge) for value in model.state_dict().values()))
