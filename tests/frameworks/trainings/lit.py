"""Lightning: validates twice an epoch, saves after each validation, with the bar off."""

import sys
import time
import warnings

warnings.simplefilter("ignore")

import lightning as L
import torch
import truth
from lightning.pytorch.callbacks import Callback, ModelCheckpoint

torch.set_num_threads(1)
L.seed_everything(0, verbose=False)


class Data(torch.utils.data.Dataset):
    def __init__(self, num, slow=None):
        self.num, self.slow, self.seen = num, slow, 0

    def __len__(self):
        return self.num

    def __getitem__(self, index):
        self.seen += 1
        if self.seen == self.slow:
            truth.pause("data", 0.6)
        return torch.randn(8, generator=torch.Generator().manual_seed(index))


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def training_step(self, batch, index):
        truth.mark(index)
        if self.global_step == 45:
            truth.collect()
        time.sleep(0.02)
        return self.layer(batch).pow(2).mean()

    def validation_step(self, batch, index):
        time.sleep(0.04)
        self.log("val_loss", self.layer(batch).pow(2).mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


class Clock(Callback):
    def on_validation_start(self, *_):
        self.span = truth.span("evaluation").__enter__()

    def on_validation_end(self, *_):
        self.span.__exit__()


class Save(ModelCheckpoint):
    def _save_checkpoint(self, *args, **kwargs):
        with truth.span("checkpoint"):
            super()._save_checkpoint(*args, **kwargs)
            time.sleep(0.2)


callbacks = [Clock(), Save(dirpath="lit", every_n_train_steps=None, save_top_k=-1, filename="{step}", monitor=None)]
if "--callback" in sys.argv:
    from stepscope.integrations.lightning import StepscopeCallback

    callbacks.append(StepscopeCallback(sys.argv[-1]))
trainer = L.Trainer(
    max_epochs=2,
    val_check_interval=0.5,
    callbacks=callbacks,
    logger=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    accelerator="cpu",
    num_sanity_val_steps=1,
)
model = Model()
train = torch.utils.data.DataLoader(Data(4 * 30, slow=4 * 18 + 1), batch_size=4)
trainer.fit(model, train, torch.utils.data.DataLoader(Data(4 * 6), batch_size=4))
truth.result(*(value.numpy() for value in model.state_dict().values()))
