"""Cross-validation: a model and an optimizer of its own for each fold."""

import time

import torch
import truth

torch.set_num_threads(1)
torch.manual_seed(0)
data = torch.randn(240, 8)
models = []


def check(model):
    model.eval()
    with torch.no_grad():
        for _ in range(6):
            model(data[:20])
            time.sleep(0.04)
    model.train()


def train_fold(fold):
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    models.append(model)
    for epoch in range(3):
        for index, part in enumerate(data.split(24)):
            truth.mark(epoch)
            loss = (model(part).squeeze(-1) - part.sum(1)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.03)
            if (fold, epoch, index) == (1, 1, 4):
                truth.pause("stall", 0.6)
        with truth.span(truth.EVALUATION):
            check(model)
        with truth.span(truth.CHECKPOINT):
            torch.save(model.state_dict(), f"fold{fold}.pt")
            time.sleep(0.15)
        print(f"fold {fold} epoch {epoch}: {loss.item():.3f}", flush=True)


for fold in range(3):
    train_fold(fold)
truth.result(*(value.numpy() for model in models for value in model.state_dict().values()))
