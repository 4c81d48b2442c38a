# SPDX-License-Identifier: Apache-2.0
"""lit.py FOLDER [KEY=VALUE ...] - trains by Lightning, with the plan's batches

FOLDER/<rank>.pt has the losses that validation has logged, as "validated", too.

epochs=  pieces=  pace=A,B,C: milliseconds of each rank for a sample, which the plan does not have
stop=N: rank 1 ends the training in step N    wrong=loader, strategy, state, stream: does this one thing wrong
drop=1: with a dropout
bf16=1: mixed precision, and plain gradient descent, which does not enlarge the rounding
full=1: rank 0 cannot write the job's checkpoint of step 4, once
state=1: with a State    at=RANK:STEP, do=, where=: see framed_ends.py
"""

import errno
import pathlib
import sys
import time

import torch
from lightning import pytorch as lightning
from torch.nn import functional
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import eddis.torch as eddis  # noqa: E402
import framed_ends  # noqa: E402
import training  # noqa: E402

folder = pathlib.Path(sys.argv[1])
options = dict(word.split("=", 1) for word in sys.argv[2:])
pace_s = [int(ms) / 1000 for ms in options.get("pace", "0,0,0,0").split(",")]
samples, validated = [], []
ends = framed_ends.Ends(folder, options)


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.inner = training.mlp() if "bf16" in options else training.mlp().double()

    def training_step(self, batch, batch_idx):
        x, y, numbers = batch
        if loader.part == 0:
            samples.append([])
        samples[-1] += numbers[:loader.counts[loader.part]].tolist()
        if self.trainer.global_step == int(options.get("stop", -1)) and eddis.rank() == 1:
            eddis.stop()
        time.sleep(pace_s[eddis.rank()] * loader.counts[loader.part])
        ends("forward")
        return functional.cross_entropy(self.inner(functional.dropout(x, 0.2) if "drop" in options else x), y)

    def on_before_optimizer_step(self, optimizer):
        ends("between")

    def validation_step(self, batch, batch_idx):
        x, y, _ = batch
        self.log("validation", functional.cross_entropy(self.inner(x), y), sync_dist=True)

    def on_validation_epoch_end(self):
        validated.append(float(self.trainer.callback_metrics["validation"]))

    def configure_optimizers(self):
        if "bf16" in options:
            return torch.optim.SGD(self.parameters(), lr=0.1)
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


class Full(lightning.plugins.io.TorchCheckpointIO):
    """Has no space for the part of a checkpoint of the job, once."""

    is_full = "full" in options

    def save_checkpoint(self, checkpoint, path, storage_options=None):
        if self.is_full and checkpoint["global_step"] == 4 and pathlib.Path(path).name == "trainer.ckpt":
            self.is_full = False
            raise OSError(errno.ENOSPC, "No space left on device")
        super().save_checkpoint(checkpoint, path, storage_options)


torch.set_num_threads(1)
x, y = training.data()
if "bf16" in options:
    x = x.float()
rows = TensorDataset(x, y, torch.arange(training.N))
made = DataLoader(rows, batch_size=24, shuffle=True)


class Stream(IterableDataset):
    def __iter__(self):
        return iter(rows)


pieces = int(options.get("pieces", 1))
is_stream = options.get("wrong") == "stream"
module, loader = Module(), eddis.loader(DataLoader(Stream(), batch_size=8) if is_stream else made, pieces=pieces,
                                        stream=is_stream)
strategy = "ddp_find_unused_parameters_true" if "state" in options else "ddp"
several = {} if options.get("wrong") == "strategy" else {"strategy": strategy, "devices": eddis.local_size()}
trainer = lightning.Trainer(accelerator="cpu", callbacks=[eddis.lightning.Callback()], gradient_clip_val=0.5,
                            plugins=[Full()], accumulate_grad_batches=pieces,
                            max_epochs=int(options.get("epochs", 2)), logger=False, default_root_dir=folder / "out",
                            enable_progress_bar=False, enable_model_summary=False,
                            precision="bf16-mixed" if "bf16" in options else None, **several)
state = eddis.State() if "state" in options else None
trainer.fit(module, made if options.get("wrong") == "loader" else loader, DataLoader(rows, batch_size=40),
            ckpt_path=eddis.lightning.ckpt_path() if state and options.get("wrong") != "state" else None)
torch.save({"samples": samples, "model": [p.detach() for p in module.parameters()], "validated": validated,
            "resumed": bool(state and state.resumed), "steps": trainer.global_step},
           folder / f"{eddis.rank()}.pt")
torch.distributed.destroy_process_group()
