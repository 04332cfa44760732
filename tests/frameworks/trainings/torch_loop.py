"""A hand-written loop: evaluates and saves every 20 steps, and does not go back to `train()` before the next step."""

import time

import torch
import truth

torch.set_num_threads(1)
torch.manual_seed(0)


class Data(torch.utils.data.Dataset):
    def __init__(self, num, slow=None):
        self.num, self.slow, self.seen = num, slow, 0

    def __len__(self):
        return self.num

    def __getitem__(self, index):
        self.seen += 1
        if self.seen == self.slow:
            truth.pause("data", 0.6)
        x = torch.randn(16, generator=torch.Generator().manual_seed(index))
        return x, x.sum()


teacher = torch.nn.Linear(16, 16).eval()  # never trained: its eval() is no evaluation
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Dropout(0.1), torch.nn.Linear(32, 1))
optimizer = torch.optim.AdamW(model.parameters())
train = torch.utils.data.DataLoader(Data(4 * 70, slow=4 * 33 + 1), batch_size=4)
held_out = torch.utils.data.DataLoader(Data(4 * 10), batch_size=4)
for step, (x, y) in enumerate(train):
    truth.mark(step)
    model.train()
    time.sleep(0.02)
    with torch.no_grad():
        teacher(x)
    loss = torch.nn.functional.mse_loss(model(x).squeeze(-1), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(f"step {step}/70 loss {loss.item():.5f}", flush=True)
    if step == 51:
        truth.collect()
    if step and step % 20 == 0:
        with truth.span("evaluation"):
            model.eval()
            with torch.no_grad():
                for a, _ in held_out:
                    time.sleep(0.02)
                    model(a)
        with truth.span("checkpoint"):
            torch.save(model.state_dict(), "loop.pt")
            time.sleep(0.2)
truth.result(*(value.numpy() for value in model.state_dict().values()))
